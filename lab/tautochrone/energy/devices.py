"""What TAUTO_METER may name: plugs that answer over HTTP, and meters that write lines to a serial port.

The fields are those of Shelly's "Gen1 API" (meter) and "Gen2+ API" (Switch, PM1), and of Tasmota's
"Commands" (Status 10) and "JSON Status Responses".
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
import select
import termios
import time
import tty
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

from tautochrone.energy.meter import OUTSIDE_VARIABLE, MeterError
from tautochrone.errors import TautoError, printable

FORMS = (
    "shelly:HOST",
    "tasmota:HOST",
    "http://HOST/PATH#FIELD.OF.THE.WATTS",
    "http://HOST/PATH",
    "serial:/dev/ttyUSB0@9600",
)
"""How a meter is named. Without a field, the answer is a plain number of watts."""

ANSWER_SECONDS = 1.0
"""A device in the same network that takes longer has not answered."""

LINE_SECONDS = 3.0
"""A serial meter that writes no line for longer is silent; most write one each second."""

MOST_BYTES = 1 << 16
"""Of an answer, and of what a serial port holds between two looks."""

_NUMBER = r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"
_LONE = re.compile(rf"\s*({_NUMBER})\s*")
# Not the 5 of "12,5 W", nor the kWh of "3 kWh" or the VA of "12 VA".
_WATTS = re.compile(rf"(?<![\w.,+-])({_NUMBER})\s*W(?!\w)")
_IN_THE_NETWORK = "Look whether the device is switched on and in this network"


class Device(Protocol):
    """Something outside of the machine that tells watts."""

    name: str
    """Its kind, which is also the name of its domain."""

    words: str
    """How it was named."""

    def watts(self) -> float:
        """What it shows now; takes up to some seconds. MeterError where it shows none."""
        ...

    def close(self) -> None: ...


def named(words: str) -> Device:
    """The device that TAUTO_METER names; nothing is asked yet. TautoError for a wrong form."""
    scheme, colon, rest = words.partition(":")
    if colon and words.isascii() and words.isprintable() and " " not in words:
        if scheme == "serial":
            return _serial(words, rest)
        if scheme in _QUESTIONS and rest:
            place = _place(words, f"http://{rest}")
            if (place.path, place.query, place.fragment) == ("", "", ""):
                return HttpDevice(scheme, words, place, _QUESTIONS[scheme])
        if scheme == "http":
            place = _place(words, words)
            target = (place.path or "/") + (f"?{place.query}" if place.query else "")
            field = tuple(place.fragment.split(".")) if place.fragment else ()
            return HttpDevice(scheme, words, place, (Question(target, field),))
    raise _wrong(words, "names no meter")


def _wrong(words: str, why: str) -> TautoError:
    return TautoError(
        f"{OUTSIDE_VARIABLE}={words!r} {why}",
        f"Write one of {', '.join(FORMS)}, or unset {OUTSIDE_VARIABLE}",
    )


# -- HTTP --


@dataclass(frozen=True)
class Question:
    """What is asked for, and the field of the answer that holds the watts; without one it is a number."""

    target: str
    field: tuple[str, ...]


_QUESTIONS = {
    "shelly": (
        Question("/rpc/Switch.GetStatus?id=0", ("apower",)),  # second and later generations
        Question("/rpc/PM1.GetStatus?id=0", ("apower",)),  # those of them that cannot switch
        Question("/meter/0", ("power",)),  # first generation
    ),
    "tasmota": (Question("/cm?cmnd=Status%2010", ("StatusSNS", "ENERGY", "Power")),),
}


class HttpDevice:
    """A device that is asked over HTTP: directly, never through a proxy."""

    def __init__(self, name: str, words: str, place: SplitResult, questions: Sequence[Question]) -> None:
        self.name = name
        self.words = words
        self._host = place.hostname or ""
        self._port = place.port or 80
        self._questions = tuple(questions)

    def watts(self) -> float:
        """The first answer that has the field decides which question is asked from then on."""
        refusals: list[_OtherAnswer] = []
        for question in self._questions:
            try:
                watts = _field(_body(self._host, self._port, question.target), question.field)
            except _OtherAnswer as error:
                refusals.append(error)
            else:
                self._questions = (question,)
                return watts
        # That a page is not there says less than what stands on another.
        refusal = next((error for error in refusals if not error.no_page), refusals[-1])
        raise MeterError(refusal.reason, refusal.remedy) from refusal

    def close(self) -> None:
        """Nothing is open between two questions."""


class _OtherAnswer(Exception):
    """The device answers, but not with watts: perhaps to another question."""

    def __init__(self, reason: str, remedy: str, *, no_page: bool = False) -> None:
        self.reason, self.remedy, self.no_page = reason, remedy, no_page
        super().__init__(reason)


def _place(words: str, url: str) -> SplitResult:
    try:
        place = urlsplit(url)
        _ = place.port  # ValueError for one that is no port
    except ValueError as error:
        raise _wrong(words, f"names no host: {error}") from error
    if not place.hostname or "@" in place.netloc:
        raise _wrong(words, "names no host, or a user")
    return place


def _body(host: str, port: int, target: str) -> bytes:
    connection = HTTPConnection(host, port, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", target, headers={"Connection": "close"})
        answer = connection.getresponse()
        if answer.status == 401:
            raise MeterError(f"it wants a password for {target}", "Switch its password off")
        if answer.status != 200:
            raise _OtherAnswer(
                f"it answers {target} with the HTTP status {answer.status}",
                "Look whether it is this device",
                no_page=answer.status == 404,
            )
        return _read(answer)
    except TimeoutError as error:
        raise MeterError(f"it does not answer within {ANSWER_SECONDS:g} s", _IN_THE_NETWORK) from error
    except (OSError, HTTPException, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise MeterError(f"it cannot be asked: {printable(why)}", _IN_THE_NETWORK) from error
    finally:
        connection.close()


def _read(answer: HTTPResponse) -> bytes:
    deadline = time.monotonic() + ANSWER_SECONDS
    body = b""
    while part := answer.read1(MOST_BYTES):
        body += part
        if len(body) > MOST_BYTES:
            raise _OtherAnswer(
                f"its answer has more than {MOST_BYTES >> 10} KiB", "Name a page that tells the watts alone"
            )
        if time.monotonic() > deadline:
            raise TimeoutError
    return body


def _field(body: bytes, field: Sequence[str]) -> float:
    """The number in an answer, which may be written as a string. It may still be one that cannot be."""
    if not field:
        text = body.decode(errors="replace")
        watts = watts_in(text)
        if watts is None:
            raise _OtherAnswer(
                f"it answers {_begin(text)} and not a number", "Write the field of the watts behind #"
            )
        return watts
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _OtherAnswer(
            f"its answer is no JSON: {_begin(body.decode(errors='replace'))}",
            "Look whether it is this device",
        ) from error
    name = ".".join(field)
    for key in field:
        if isinstance(value, list) and key.isdecimal() and int(key[:9]) < len(value):
            value = value[int(key[:9])]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            raise _OtherAnswer(f"its answer has no {name}", "Look whether it is a device that meters")
    if isinstance(value, str) and (lone := _LONE.fullmatch(value)):
        value = float(lone[1])
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _OtherAnswer(f"{name} of its answer is no number", "Name the field that holds the watts")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def watts_in(text: str) -> float | None:
    """The first number of a text that W follows, or the number that is all of it."""
    found = _LONE.fullmatch(text) or _WATTS.search(text)
    return float(found[1]) if found else None


def _begin(text: str) -> str:
    return repr(text[:40] + ("…" if len(text) > 40 else ""))


# -- a serial port --


def _serial(words: str, rest: str) -> SerialDevice:
    path, at, baud = rest.rpartition("@")
    if not at:
        path, baud = rest, "9600"
    speed = getattr(termios, f"B{baud}", None) if baud.isdecimal() and int(baud[:9]) else None
    if speed is None:
        raise _wrong(words, f"names no speed: {baud!r}")
    if not path.startswith("/"):
        raise _wrong(words, "names no device file")
    return SerialDevice(words, Path(path), speed)


class SerialDevice:
    """A meter that writes lines of text by itself. A port that was closed is opened again when asked."""

    name = "serial"

    def __init__(self, words: str, path: Path, speed: int) -> None:
        self.words = words
        self._path = path
        self._speed = speed
        self._descriptor: int | None = None
        self._rest = b""
        self._last_line: str | None = None

    def watts(self) -> float:
        """Those of the last line that has come; where none has, of the next one."""
        deadline = time.monotonic() + LINE_SECONDS
        try:
            if self._descriptor is None:
                self._open()
            while (watts := self._newest()) is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise self._silent()
                assert self._descriptor is not None
                select.select([self._descriptor], [], [], left)
        except PermissionError as error:
            raise MeterError(
                f"{self._path} may not be read", "Join its group: sudo usermod -aG dialout $USER"
            ) from error
        except (OSError, termios.error) as error:
            self.close()
            why = error.args[-1] if error.args else error
            raise MeterError(
                f"{self._path} cannot be read: {why}", "Look whether it is plugged in: ls /dev/tty*"
            ) from error
        return watts

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None

    def _open(self) -> None:
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        self._descriptor, self._rest, self._last_line = descriptor, b"", None
        try:
            # Two readers would each get parts of a line, and parts of numbers.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            raise MeterError(f"{self._path} is read by another tauto", "Wait until that has ended") from error
        tty.setraw(descriptor, termios.TCSANOW)
        attributes = termios.tcgetattr(descriptor)
        attributes[2] = (attributes[2] | termios.CLOCAL | termios.CREAD) & ~termios.CRTSCTS
        attributes[4] = attributes[5] = self._speed
        termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
        termios.tcflush(descriptor, termios.TCIFLUSH)

    def _newest(self) -> float | None:
        """The watts of the last whole line with some; None where none has come."""
        assert self._descriptor is not None
        while len(self._rest) <= MOST_BYTES:
            try:
                part = os.read(self._descriptor, 4096)
            except BlockingIOError:
                break
            if not part:
                raise OSError("it was unplugged")
            self._rest += part
        *lines, self._rest = re.split(rb"[\r\n]+", self._rest[-MOST_BYTES:])
        texts = [line.decode(errors="replace") for line in lines]
        if texts and self._last_line is None:
            self._last_line = ""
            texts = texts[1:]  # of the first line the begin may be missing: "5 W" of "12.5 W"
        if texts:
            self._last_line = texts[-1]
        return next((watts for text in reversed(texts) if (watts := watts_in(text)) is not None), None)

    def _silent(self) -> MeterError:
        if self._last_line:
            return MeterError(
                f"its lines tell no watts, such as {_begin(self._last_line)}",
                "Let it write a number alone, or a number and W",
            )
        return MeterError(
            f"it writes no line within {LINE_SECONDS:g} s", "Look for its speed, and write it behind @"
        )
