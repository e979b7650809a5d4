"""Study ``collective``: all_reduce and all_gather against their length, between threads and MPI ranks."""
