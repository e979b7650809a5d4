"""A meter outside of the machine, which TAUTO_METER names: a smart plug, or one on a serial port.

It tells watts of the whole machine with its power supply, up to two seconds late; good for runs of 20 s.

The device is asked by a thread of its own, twice a second, so that no reading waits for a network; a question
over HTTP takes 0.2 ms of CPU time. A figure holds until the next one comes: what was drawn in the last two
seconds is not known yet, and nothing tells how late a device is. So joules are those of a stretch that ended
up to two seconds before, which matters at its ends alone, and the less the longer it is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from tautochrone.energy.devices import Device
from tautochrone.energy.meter import Domain, Held, Meter, MeterError
from tautochrone.threads import started

ASK_SECONDS = 0.5
"""Twice as often as a device renews its figure."""

LAG_SECONDS = 2.0
"""A figure is the mean of about a second, is renewed once a second, and asked for each half one."""

STALE_SECONDS = 5.0
"""A device that has told nothing for longer has gone away."""

_TRIES = 3  # one packet may be lost
_LONGEST_WAIT_SECONDS = 15.0  # for the name of a host, which has no limit of its own


class OutsideMeter(Meter):
    """The watts of a device. MeterError where it gives none at first, TautoError without a thread."""

    source = "outside"
    integrates = True
    lag_seconds = LAG_SECONDS

    def __init__(self, device: Device, clock: Callable[[], float], ask_seconds: float = ASK_SECONDS) -> None:
        self._device = device
        self._clock = clock
        self._ask_seconds = ask_seconds
        self._domain = Domain(device.name, "node")
        self._stop = threading.Event()
        self._news = threading.Condition()
        self._held: Held | None = None
        self._failures = 0
        self._error: MeterError | None = None  # of the last question
        self._gap: MeterError | None = None  # over which nobody knows the watts
        self._ended = started(self._ask)
        try:
            self._await_first()
        except BaseException:
            self.close()
            raise

    @property
    def domains(self) -> tuple[Domain, ...]:
        return (self._domain,)

    @property
    def watts(self) -> float:
        """What the device told last. MeterError where that is long ago."""
        with self._news:
            return self._known().watts

    def read(self) -> Mapping[str, float]:
        with self._news:
            held = self._known()
            return {self._domain.name: held.joules(self._clock())}

    def close(self) -> None:
        self._stop.set()
        self._ended.wait(ASK_SECONDS + STALE_SECONDS)

    def _await_first(self) -> None:
        deadline = time.monotonic() + _LONGEST_WAIT_SECONDS
        with self._news:
            while self._held is None:
                left = deadline - time.monotonic()
                if self._failures >= _TRIES and self._error is not None:
                    raise self._error
                if left <= 0:
                    raise self._error or self._failed("it does not answer", "Look whether its name is right")
                self._news.wait(left)

    def _known(self) -> Held:
        held, gap = self._held, self._gap
        assert held is not None
        self._gap = None
        if gap is None and (since := self._clock() - held.seconds) > STALE_SECONDS:
            gap = self._silent(since)
        if gap is not None:
            raise gap
        return held

    def _ask(self) -> None:
        """The thread's work, until the meter is closed."""
        try:
            while not self._stop.is_set():
                try:
                    self._take(self._believed(self._device.watts()))
                except MeterError as error:
                    self._note(error)
                self._stop.wait(self._ask_seconds)
        finally:
            self._device.close()

    def _believed(self, watts: float) -> float:
        """The watts, if a machine that runs can draw them; that is never nothing."""
        if 0.0 < watts <= self._domain.largest_watts:
            return watts
        raise MeterError(
            f"it shows {watts:g} W, and a machine that runs draws above 0 and at most "
            f"{self._domain.largest_watts:g} W",
            "Look whether this machine is plugged into it, and whether its figure is in watts",
        )

    def _take(self, watts: float) -> None:
        with self._news:
            now = self._clock()
            if self._held is None:
                self._held = Held(now, watts)
            else:
                if (since := now - self._held.seconds) > STALE_SECONDS:
                    self._gap = self._silent(since)
                self._held.take(now, watts)
            self._error = None
            self._news.notify_all()

    def _note(self, error: MeterError) -> None:
        why = error.unavailable
        with self._news:
            self._error = self._failed(why.reason, why.remedy)
            self._failures += 1
            self._news.notify_all()

    def _silent(self, seconds: float) -> MeterError:
        what = f"it told nothing for {seconds:.0f} s"
        if self._error is None:
            return self._failed(what, "Look whether it was switched off or left the network")
        why = self._error.unavailable
        return MeterError(f"{why.reason}; {what}", why.remedy)

    def _failed(self, what: str, remedy: str) -> MeterError:
        return MeterError(f"the meter {self._device.words}: {what}", remedy)
