"""Independent jobs, spread over processes here, over a launcher's nodes, or over Dask's workers.

A job is a text that is asked and a text that is answered, the same wherever and whenever it is done. So it
may be done again after its worker has died, and its answer is kept under a key and counted once. Nothing that
is measured is a job: its answer would depend on where it is done.
"""
