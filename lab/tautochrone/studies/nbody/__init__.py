"""Study ``nbody``: gravitating particles with block individual timesteps, shared in several ways."""
