"""MPI runners themselves on a simulated machine: SimGrid's SMPI under them, a machine file in front.

``platform`` the machine as SimGrid takes it · ``running`` one run under smpirun, and many · ``sweeping`` what
all studies ask, store and print · ``nbody``, ``collectives`` the studies in charts and sentences.
"""
