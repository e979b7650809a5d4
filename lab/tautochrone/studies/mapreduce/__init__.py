"""Study ``mapreduce``: how short tasks may be before sharing them out costs more than it gains.

``request`` what is asked · ``workloads`` tasks of which length · ``configurations`` what is compared ·
``measuring`` the runs · ``cells`` what they took · ``payoff`` from where on it pays · ``analysis``,
``sentences``, ``claims``, ``paste`` how it is said · ``traces`` timelines · ``study`` all in order.
"""
