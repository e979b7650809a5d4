"""Study ``loop``: parallel loops on cores of unequal speed.

``request`` what is asked · ``placements`` which CPUs · ``configurations`` what is compared in a cell ·
``measuring`` the runs · ``analysis`` what they say · ``sentences`` how it is said · ``study`` all in order.
"""
