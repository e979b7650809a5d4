"""Study ``nbody``: gravitating particles with block individual timesteps, shared by threads, OpenMP and MPI.

``request`` what is asked · ``configurations`` what is compared · ``measuring`` the runs · ``runs`` what they
took, class by class of the active count · ``model`` what a block costs on more cores · ``crossings`` where
one scheme overtakes the other · ``analysis``, ``sentences``, ``claims``, ``paste`` how it is said ·
``animation`` the cluster as a picture · ``study`` all in order.
"""
