"""The real MPI runners on a simulated machine, under SimGrid's SMPI.

``platform``: the machine for SimGrid · ``running``: runs under smpirun · ``sweeping``: what all studies
share. Charts and sentences are in each study's folder.
"""
