"""Study ``collective``: all_reduce and all_gather against their length, between threads and MPI ranks.

``request`` what is asked · ``lengths`` which words · ``configurations`` what is compared · ``measuring`` the
runs · ``curves`` what they took · ``segments`` where a curve changes · ``findings`` steps, peaks and broken
guidelines · ``analysis``, ``sentences``, ``claims``, ``paste`` how it is said · ``study`` all in order.
"""
