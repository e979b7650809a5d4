"""Changed inputs end in an answer or a message, never in a defect; see `corpus` for as many as wanted."""

from __future__ import annotations

import resource

import corpus

MOST_BYTES = 1 << 30


def test_readers_of_stores_and_of_what_runners_print_take_anything() -> None:
    failed = corpus.run(0.0, seed=7, most=100)
    assert not failed, failed
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 < MOST_BYTES
