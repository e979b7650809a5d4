"""Jobs on the workers of a Dask scheduler that the user runs. It gives what a dead worker had to others."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any

from tautochrone.errors import TautoError
from tautochrone.jobs import work

CONNECT_SECONDS = 10.0
PATIENCE_SECONDS = 30.0  # without a worker, which a cluster manager may be about to start
_LOOK_SECONDS = 2.0


def _is_theirs(logger: str) -> bool:
    return logger.partition(".")[0] in ("distributed", "tornado")


class OnDask:
    """The workers at an address. TautoError where there is no scheduler or no worker, or no Dask here."""

    def __init__(self, address: str) -> None:
        try:
            distributed: Any = import_module("distributed")
        except ImportError as error:
            raise TautoError(
                "--dask needs the Python package distributed, which is not installed",
                "Install it: pip install 'tautochrone[cluster]'",
            ) from error
        # What they have to say of dead workers is said here; each of them has a level of its own.
        for name in ("asyncio", *(known for known in logging.root.manager.loggerDict if _is_theirs(known))):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        self._address = address
        self._killed = distributed.KilledWorker
        try:
            self._client: Any = distributed.Client(address, timeout=CONNECT_SECONDS)
        except (OSError, ValueError, TypeError) as error:
            raise TautoError(
                f"no Dask scheduler answers at {address!r}: {error or type(error).__name__}",
                "Start one (dask scheduler) and write the address that it prints: --dask tcp://HOST:8786",
            ) from error
        self.width = self._places()
        if not self.width:
            self.close()
            raise TautoError(
                f"the Dask scheduler at {address} has no workers", f"Start some: dask worker {address}"
            )

    def answers(self, kind: str, version: str, wanted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        come: SimpleQueue[Any] = SimpleQueue()
        open_: dict[Any, dict[str, str]] = {}
        try:
            for share in work.shares_elsewhere(kind, wanted, self.width):
                key = f"tautochrone-{secrets.token_hex(16)}"
                future = self._client.submit(work.done, kind, version, [*share.values()], key=key)
                open_[future] = share
                future.add_done_callback(come.put)
            since = time.monotonic()
            while open_:
                try:
                    future = come.get(timeout=_LOOK_SECONDS)
                    outcome = self._outcome(future)
                except (Empty, TimeoutError):
                    since = self._looked(since)
                    continue
                if outcome is None:
                    come.put(future)  # its answer went with its worker, and Dask has it done again
                    since = self._looked(since)
                    continue
                since = time.monotonic()
                yield from work.answers_of(open_.pop(future), outcome)
        finally:
            if open_:
                with suppress(Exception):
                    self._client.cancel([*open_])

    def close(self) -> None:
        with suppress(Exception):
            self._client.close(timeout=_LOOK_SECONDS)

    def _places(self) -> int:
        with suppress(Exception):  # a scheduler that has gone has none either
            return sum(self._client.nthreads().values())
        return 0

    def _outcome(self, future: Any) -> work.Outcome | None:
        """What the job came to; None where its answer is on its way again."""
        try:
            outcome: work.Outcome = future.result(timeout=_LOOK_SECONDS)
        except TimeoutError:
            return None
        except self._killed as error:
            raise TautoError(
                f"a job ended every worker of the Dask scheduler that did it: {error}",
                "Look into the workers' logs; memory may have run out there",
            ) from error
        except Exception as error:
            if future.cancelled():
                raise self._gone() from error
            raise TautoError(
                f"a Dask worker could not do a job: {type(error).__name__}: {error}",
                "Install the same tautochrone where the workers run",
            ) from error
        return outcome

    def _looked(self, since: float) -> float:
        """Since when there has been no worker. TautoError where that has been too long."""
        if self._client.status not in ("running", "connecting"):
            raise self._gone()
        if self._places():
            return time.monotonic()
        if time.monotonic() - since > PATIENCE_SECONDS:
            raise TautoError(
                f"the Dask scheduler at {self._address} has had no workers for {PATIENCE_SECONDS:.0f} s",
                f"Start some (dask worker {self._address}); what was done is kept, and the same command goes "
                "on",
            )
        return since

    def _gone(self) -> TautoError:
        return TautoError(
            f"the Dask scheduler at {self._address} has gone",
            "Start it again, with workers; what was done is kept, and the same command goes on",
        )
