"""A meter outside of the machine: simulated plugs and serial ports, exact joules, else a reason."""

from __future__ import annotations

import http.server
import io
import json
import os
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from energy_trees import Clock, RunningTree, energy, machine, no_rest, steps, write, zone
from measuring import configuration
from processes import run_to_end, wait_until, with_lab
from tautochrone.energy import devices
from tautochrone.energy.command import EnergyRequest, EnergyServices, run_energy_command
from tautochrone.energy.devices import SerialDevice, named, watts_in
from tautochrone.energy.find import Found, find_meter
from tautochrone.energy.meter import (
    OUTSIDE_VARIABLE,
    Chosen,
    Held,
    MeterError,
    Tree,
    platform_joules,
    total_joules,
    total_name,
)
from tautochrone.energy.outside import LAG_SECONDS, STALE_SECONDS, OutsideMeter
from tautochrone.energy.recorder import EnergyRecorder, IdleLog, MeteredExecutor
from tautochrone.errors import TautoError, warn_once
from tautochrone.measuring.executor import RunResult

pytestmark = pytest.mark.timed

SHELLY_2, SHELLY_PM, SHELLY_1 = "/rpc/Switch.GetStatus?id=0", "/rpc/PM1.GetStatus?id=0", "/meter/0"
TASMOTA = "/cm?cmnd=Status%2010"


@dataclass
class Plug:
    """A device on this machine: its pages, and what it was asked. A status of 0 closes without an answer."""

    pages: dict[str, bytes | Callable[[], bytes]] = field(default_factory=dict)
    status: int = 200
    asked: list[str] = field(default_factory=list)
    written: threading.Event = field(default_factory=threading.Event)  # set: no page is held back
    place: str = ""
    drips: bool = False

    def shelly(self, watts: float) -> Plug:
        self.pages = {SHELLY_2: json.dumps({"apower": watts}).encode()}
        return self

    def is_asked_again(self) -> None:
        """Return when a question that comes from now on was answered."""
        before = len(self.asked)
        wait_until(lambda: len(self.asked) > before + 1, "another question")


@contextmanager
def serving(plug: Plug) -> Iterator[Plug]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            plug.asked.append(self.path)
            plug.written.wait(60.0)
            if not plug.status:
                return
            page = plug.pages.get(self.path)
            self.send_response(plug.status if page is not None else 404)
            self.end_headers()
            with suppress(OSError):
                while plug.drips:
                    self.wfile.write(b" ")
                self.wfile.write(page() if callable(page) else page or b"Not Found")

        def log_message(self, *_: Any) -> None:
            pass

    plug.written.set()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    plug.place = f"127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield plug
    finally:
        plug.written.set()
        plug.drips = False
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def plug() -> Iterator[Plug]:
    with serving(Plug()) as one:
        yield one


@contextmanager
def metering(words: str, clock: Callable[[], float] | None = None) -> Iterator[OutsideMeter]:
    meter = OutsideMeter(named(words), clock or Clock(), ask_seconds=0.01)
    try:
        yield meter
    finally:
        meter.close()


def refusal(words: str) -> tuple[str, str]:
    """Why a device makes no meter, without its name."""
    with pytest.raises(MeterError) as caught, metering(words):
        pass
    why = caught.value.unavailable
    begin = f"the meter {words}: "
    assert why.reason.startswith(begin)
    return why.reason.removeprefix(begin), why.remedy


# -- what they are asked, and what they answer --


@pytest.mark.parametrize(
    ("form", "page", "answer", "watts"),
    [
        ("shelly:{}", SHELLY_1, {"power": 61.25, "is_valid": True, "total": 273, "counters": [1.0]}, 61.25),
        ("shelly:{}", SHELLY_2, {"id": 0, "apower": 106.3, "aenergy": {"total": 267.8}}, 106.3),
        ("shelly:{}", SHELLY_PM, {"id": 0, "apower": 8.6, "aenergy": {"total": 1.5}}, 8.6),
        ("tasmota:{}", TASMOTA, {"StatusSNS": {"ENERGY": {"Total": 0.003, "Power": 26}}}, 26.0),
        ("http://{}/a?b=1#c.0.d", "/a?b=1", {"c": [{"d": "17.5"}]}, 17.5),
        ("http://{}/a#0", "/a", [5], 5.0),
        ("http://{}/a#0", "/a", {"0": 6}, 6.0),
        ("http://{}", "/", 12.5, 12.5),
    ],
)
def test_each_device_is_asked_in_its_own_way(
    plug: Plug, form: str, page: str, answer: object, watts: float
) -> None:
    plug.pages = {page: json.dumps(answer).encode()}
    with metering(form.format(plug.place)) as meter:
        assert meter.watts == watts
        (domain,) = meter.domains
        assert (domain.name, domain.kind) == (form.split(":")[0], "node")
        before = len(plug.asked)
        plug.is_asked_again()
        assert set(plug.asked[before:]) == {page}  # what it is was found out once


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (b"<html>", "its answer is no JSON: '<html>'"),
        (b"[" * 60_000, "its answer is no JSON: '" + 40 * "[" + "…'"),
        (b"\xff\xfe\x00", "its answer is no JSON"),
        (b"{}", "its answer has no apower"),
        (b"[1]", "its answer has no apower"),
        (b'{"apower": null}', "apower of its answer is no number"),
        (b'{"apower": true}', "apower of its answer is no number"),
        (b'{"apower": "a lot"}', "apower of its answer is no number"),
        (b'{"apower": NaN}', "it shows nan W"),
        (b'{"apower": Infinity}', "it shows inf W"),
        (b'{"apower": 1' + 400 * b"0" + b"}", "it shows inf W"),
        (b'{"apower": -3.5}', "it shows -3.5 W"),
        (b'{"apower": 0}', "it shows 0 W, and a machine that runs draws above 0 and at most 15000 W"),
        (b'{"apower": 61000}', "it shows 61000 W"),
        (b" " * 65_537, "its answer has more than 64 KiB"),
    ],
)
def test_an_answer_that_tells_no_watts_is_a_reason_and_no_0(plug: Plug, page: bytes, why: str) -> None:
    plug.pages = {SHELLY_2: page}
    assert refusal(f"shelly:{plug.place}")[0].startswith(why)


def test_an_answer_in_words_is_no_number(plug: Plug) -> None:
    plug.pages = {"/": b"off"}
    why, remedy = refusal(f"http://{plug.place}/")
    assert (why, remedy) == ("it answers 'off' and not a number", "Write the field of the watts behind #")


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (302, f"it answers {SHELLY_2} with the HTTP status 302"),
        (500, f"it answers {SHELLY_2} with the HTTP status 500"),
        (401, f"it wants a password for {SHELLY_2}"),
        (0, "it cannot be asked: Remote end closed connection without response"),
    ],
)
def test_a_device_that_refuses(plug: Plug, status: int, why: str) -> None:
    plug.shelly(50.0).status = status
    assert refusal(f"shelly:{plug.place}")[0] == why


def test_a_device_that_is_not_there(plug: Plug) -> None:
    with serving(Plug()) as gone:
        words = f"tasmota:{gone.place}"
    why, remedy = refusal(words)
    assert why == "it cannot be asked: Connection refused"
    assert remedy == "Look whether the device is switched on and in this network"


def test_a_slow_answer_is_not_waited_for(plug: Plug, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "ANSWER_SECONDS", 0.05)
    plug.shelly(50.0).written.clear()
    assert refusal(f"shelly:{plug.place}")[0] == "it does not answer within 0.05 s"


def test_an_answer_that_never_ends_is_left(plug: Plug, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "ANSWER_SECONDS", 0.05)
    plug.shelly(50.0).drips = True
    why = refusal(f"shelly:{plug.place}")[0]
    assert why in ("its answer has more than 64 KiB", "it does not answer within 0.05 s")


def test_no_proxy_stands_between(plug: Plug, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with metering(f"shelly:{plug.shelly(50.0).place}") as meter:
        assert meter.watts == 50.0


@pytest.mark.parametrize(
    "words",
    [
        "",
        "shelly",
        "shelly:",
        "shelly:host/meter/0",
        "shelly:host#power",
        "shelly:host:99999",
        "shelly:host:name",
        "shelly:a b",
        "shelly:plüg",
        "shelly:me:secret@host",
        "fritz:host",
        "https://host/power",
        "http:///power",
        "http://[::1/power",
        "serial:",
        "serial:ttyUSB0",
        "serial:/dev/ttyUSB0@fast",
        "serial:/dev/ttyUSB0@0",
        "serial:/dev/ttyUSB0@12345",
        "host",
        "shelly:host\n",
    ],
)
def test_a_wrong_form_names_the_forms(words: str) -> None:
    with pytest.raises(TautoError, match=r"TAUTO_METER=.*names no ") as caught:
        named(words)
    assert "shelly:HOST, tasmota:HOST, http://HOST/PATH#FIELD.OF.THE.WATTS" in caught.value.remedy


@pytest.mark.parametrize(
    ("line", "watts"),
    [
        ("12.5", 12.5),
        ("  7 ", 7.0),
        ("1.5e1W", 15.0),
        ("230.1 V 0.05 A 11.5 W 2.25 Wh", 11.5),
        ("P=+11.5W", 11.5),
        ("power: 3 W, peak: 9 W", 3.0),
        ("-4 W", -4.0),
        ("12,5 W", None),
        ("3 kWh", None),
        ("0.5 kW", None),
        ("12 VA", None),
        ("12 Wh", None),
        ("12.5, 3", None),
        ("", None),
        ("nan", None),
    ],
)
def test_the_watts_of_a_line(line: str, watts: float | None) -> None:
    assert watts_in(line) == watts


# -- a serial port --


@dataclass
class Port:
    """Two ends of a serial line: what is written to `wire` can be read from the file `path`."""

    wire: int
    far: int
    path: str

    def unplug(self) -> None:
        for end in ("wire", "far"):
            if getattr(self, end) >= 0:
                os.close(getattr(self, end))
                setattr(self, end, -1)


@pytest.fixture
def port() -> Iterator[Port]:
    wire, far = os.openpty()
    one = Port(wire, far, os.ttyname(far))
    yield one
    one.unplug()


@pytest.fixture
def opened(port: Port, monkeypatch: pytest.MonkeyPatch) -> Iterator[SerialDevice]:
    """A device whose port is open: what is written from now on is read."""
    device = named(f"serial:{port.path}@115200")
    assert isinstance(device, SerialDevice)
    with monkeypatch.context() as hurry:
        hurry.setattr(devices, "LINE_SECONDS", 0.0)
        with pytest.raises(MeterError, match="it writes no line within 0 s"):
            device.watts()
    yield device
    device.close()


@pytest.mark.parametrize(
    ("written", "watts"),
    [
        (b"5 W\n12.5 W\n", 12.5),  # the first may be the end of 15 W
        (b"\n11 W\r\n230 V\r\n12 W\r\n13", 12.0),
        (b"\n10\n230 V\n", 10.0),
        (b"\n" + 500 * b"9 W\n" + b"8 W\n", 8.0),
    ],
)
def test_the_last_whole_line_with_watts_is_the_figure(
    opened: SerialDevice, port: Port, written: bytes, watts: float
) -> None:
    os.write(port.wire, written)
    assert opened.watts() == watts


def test_a_line_may_come_in_parts(opened: SerialDevice, port: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    os.write(port.wire, b"\n1")
    monkeypatch.setattr(devices, "LINE_SECONDS", 0.0)
    with pytest.raises(MeterError):
        opened.watts()
    os.write(port.wire, b"2.5 W\n")
    assert opened.watts() == 12.5


def test_lines_without_watts_are_shown(
    opened: SerialDevice, port: Port, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "LINE_SECONDS", 0.0)
    os.write(port.wire, b"\n12,5 W\n")
    with pytest.raises(MeterError, match="its lines tell no watts, such as '12,5 W'"):
        opened.watts()


def test_a_port_that_is_unplugged(opened: SerialDevice, port: Port) -> None:
    port.unplug()
    with pytest.raises(MeterError, match="cannot be read"):
        opened.watts()
    assert opened._descriptor is None  # the next question opens it anew


@pytest.mark.usefixtures("opened")
def test_two_do_not_share_a_port(port: Port) -> None:
    with pytest.raises(MeterError, match="is read by another tauto"):
        named(f"serial:{port.path}").watts()


def test_files_that_are_no_port(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, why in (("file", "Inappropriate ioctl"), ("none", "No such file")):
        with pytest.raises(MeterError, match=f"{name} cannot be read: {why}"):
            named(f"serial:{tmp_path / name}").watts()


def test_a_serial_meter_is_read_by_its_own_thread(port: Port) -> None:
    done = threading.Event()

    def write_lines() -> None:
        while not done.wait(0.01):
            os.write(port.wire, b"21.5 W\n")

    writer = threading.Thread(target=write_lines)
    writer.start()
    try:
        with metering(f"serial:{port.path}") as meter:
            assert meter.watts == 21.5
    finally:
        done.set()
        writer.join()
    again = SerialDevice("", Path(port.path), termios.B9600)
    again._open()  # it was let go
    again.close()


# -- joules --


def test_watts_hold_until_the_next_figure() -> None:
    held = Held(100.0, 10.0)
    assert held.joules(100.5) == 5.0
    held.take(101.0, 30.0)
    assert (held.joules(101.0), held.joules(103.0)) == (10.0, 70.0)


@pytest.mark.parametrize("lag", [0.0, 0.7, LAG_SECONDS])
def test_of_a_run_of_ten_lags_a_tenth_of_what_it_adds_is_missing_at_most(lag: float) -> None:
    """The device shows what was drawn `lag` seconds before: 10 W, in the run 50 W."""
    begin, end = 5.0, 5.0 + 10 * LAG_SECONDS
    held, told, before = Held(0.0, 10.0), 0.0, 0.0
    while told < end:
        held.take(told, 50.0 if told - lag >= begin else 10.0)
        before = held.joules(begin) if told <= begin else before
        told += 0.5
    added = held.joules(end) - before - 10.0 * (end - begin)
    assert 0.9 * 40.0 * (end - begin) <= added <= 40.0 * (end - begin)


def test_joules_are_watts_times_seconds(plug: Plug) -> None:
    clock = Clock()
    with metering(f"shelly:{plug.shelly(50.0).place}", clock) as meter:
        first = meter.read()["shelly"]
        clock.seconds += 4.0
        assert meter.read()["shelly"] - first == pytest.approx(200.0)
        plug.shelly(20.0)
        plug.is_asked_again()
        wait_until(lambda: meter.watts == 20.0, "the new figure")
        clock.seconds += 4.0
        assert meter.read()["shelly"] - first == pytest.approx(280.0)


def test_one_lost_answer_is_nothing(plug: Plug) -> None:
    with metering(f"shelly:{plug.shelly(50.0).place}") as meter:
        plug.status = 0
        plug.is_asked_again()
        assert meter.watts == 50.0


def test_a_device_that_goes_away_is_an_error_and_may_come_back(plug: Plug) -> None:
    clock = Clock()
    with metering(f"shelly:{plug.shelly(50.0).place}", clock) as meter:
        plug.status = 0
        plug.is_asked_again()
        plug.is_asked_again()
        clock.seconds += STALE_SECONDS + 1.0
        with pytest.raises(MeterError) as caught:
            meter.read()
        assert str(caught.value) == (
            f"the meter shelly:{plug.place}: it cannot be asked: Remote end closed connection without "
            "response; it told nothing for 6 s"
        )
        plug.status = 200
        plug.is_asked_again()
        plug.is_asked_again()
        with pytest.raises(MeterError, match="it told nothing for 6 s"):
            meter.read()  # nobody knows what was drawn meanwhile
        assert meter.watts == 50.0


def test_a_recording_in_which_the_device_goes_away_has_no_joules(plug: Plug) -> None:
    clock = Clock()
    with metering(f"shelly:{plug.shelly(50.0).place}", clock) as meter:
        with EnergyRecorder(meter, clock=clock, wait=lambda _: True) as recording:
            plug.status = 0
            plug.is_asked_again()
            plug.is_asked_again()
            clock.seconds += 30.0
        assert recording.joules is None
        assert recording.unavailable is not None
        assert "it told nothing for 30 s" in recording.unavailable.reason


def test_a_closed_meter_asks_no_more(plug: Plug) -> None:
    with metering(f"shelly:{plug.shelly(50.0).place}") as meter:
        pass
    assert meter._ended.is_set()


# -- found --


def found_beside(
    root: Path, plug: Plug, monkeypatch: pytest.MonkeyPatch, *actions: Callable[[], object]
) -> Found:
    monkeypatch.setenv(OUTSIDE_VARIABLE, f"shelly:{plug.place}")
    clock = Clock()
    return find_meter(RunningTree(root), busy=steps(clock, *actions), idle=no_rest, clock=clock)


@pytest.fixture
def virtual(tmp_path: Path) -> Path:
    return machine(tmp_path, flags="hypervisor")


def test_a_virtual_machine_is_measured_by_a_plug(
    virtual: Path, plug: Plug, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plug.shelly(31.0)

    def work() -> None:
        plug.shelly(52.0)
        plug.is_asked_again()
        plug.is_asked_again()

    found = found_beside(virtual, plug, monkeypatch, work)
    assert found.meter is not None
    assert (found.meter.source, total_name(found.meter.domains)) == ("outside", "node")
    assert found.notices == ()
    assert (
        f"watching the meter shelly:{plug.place} for 4 s, at rest and while a CPU works"
        in capsys.readouterr().err
    )
    found.meter.close()


def test_a_plug_that_does_not_see_this_machine_work_is_named(
    virtual: Path, plug: Plug, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = found_beside(virtual, plug.shelly(31.0), monkeypatch)
    (notice,) = found.notices
    assert "shows 31 W while a CPU works and 31 W while it does not" in notice
    assert found.meter is not None
    found.meter.close()


def test_packages_stay_the_total_beside_a_plug(
    tmp_path: Path, plug: Plug, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone(machine(tmp_path), "intel-rapl:0", "package-0", 1_000_000)
    drawn = iter(range(4_000_000, 100_000_000, 3_000_000))  # 10 W

    def work() -> None:
        energy(tmp_path, "intel-rapl:0", next(drawn))

    found = found_beside(tmp_path, plug.shelly(30.0), monkeypatch, work, work, work)
    meter = found.meter
    assert meter is not None, found.why
    assert (meter.source, total_name(meter.domains)) == ("powercap", "package")
    assert [domain.name for domain in meter.domains] == ["package-0", "shelly"]
    joules = meter.read()
    assert total_joules(meter.domains, joules) == joules["package-0"]
    assert platform_joules(meter.domains, joules) == joules["shelly"]
    messages = io.StringIO()
    services = EnergyServices(find=lambda: found, messages=messages)
    request = EnergyRequest(command=(sys.executable, "-S", "-c", "pass"), idle_seconds=0.0)
    assert run_energy_command(request, services) == 0
    shown = messages.getvalue()
    (line,) = [line for line in shown.splitlines() if line.split()[:1] == ["shelly"]]
    assert line.rstrip().endswith("apart")
    assert "warning: the meter outside shows what is drawn up to 2 s later" in shown


def test_a_plug_that_shows_less_than_the_packages_is_of_another_machine(
    tmp_path: Path, plug: Plug, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone(machine(tmp_path), "intel-rapl:0", "package-0", 1_000_000)
    drawn = iter(range(4_000_000, 100_000_000, 3_000_000))
    work = [lambda: energy(tmp_path, "intel-rapl:0", next(drawn))] * 3
    with pytest.raises(TautoError) as caught:
        found_beside(tmp_path, plug.shelly(2.0), monkeypatch, *work)
    assert caught.value.message.startswith(
        "two meters disagree: powercap shows 10 W of package, and outside 2 W"
    )
    assert caught.value.remedy == (
        f"Look whether this machine is plugged into shelly:{plug.place}, or unset TAUTO_METER"
    )


def test_a_plug_stands_for_a_sensor_of_the_node(
    tmp_path: Path, plug: Plug, monkeypatch: pytest.MonkeyPatch
) -> None:
    sensor = "sys/class/hwmon/hwmon0"
    write(machine(tmp_path), {f"{sensor}/name": "power_meter", f"{sensor}/power1_average": 40_000_000})
    found = found_beside(tmp_path, plug.shelly(45.0), monkeypatch)
    assert found.meter is not None
    assert [domain.name for domain in found.meter.domains] == ["shelly"]  # two nodes would be added up
    found.meter.close()


def test_a_named_meter_that_does_not_answer_is_an_error_and_no_other_is_taken(
    tmp_path: Path, plug: Plug, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone(machine(tmp_path), "intel-rapl:0", "package-0", 1_000_000)
    plug.pages = {SHELLY_2: b"{}"}
    with pytest.raises(
        TautoError, match=r"no apower\. Look whether it is a device that meters, or unset TAUTO_"
    ):
        found_beside(tmp_path, plug, monkeypatch)


def test_an_empty_name_is_none(virtual: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OUTSIDE_VARIABLE, "")
    found = find_meter(Tree(virtual), busy=no_rest, idle=no_rest)
    assert found.why.reason == "this is a virtual machine that shows no energy meter"


# -- what is said, and when --


@pytest.mark.parametrize(("seconds", "said"), [(19.0, True), (21.0, False)])
def test_a_short_run_is_doubted_aloud(plug: Plug, seconds: float, said: bool) -> None:
    clock = Clock()
    with metering(f"shelly:{plug.shelly(50.0).place}", clock) as meter:
        with EnergyRecorder(meter, clock=clock, wait=lambda _: True) as recording:
            for _ in range(10):
                clock.seconds += seconds / 10
                plug.is_asked_again()
        assert recording.joules == pytest.approx(50.0 * seconds)
        assert (recording.notice is not None) == said


def test_an_executor_warns_once(plug: Plug, capsys: pytest.CaptureFixture[str]) -> None:
    class Runs:
        def run(self, one: object, time_limit: float) -> RunResult:
            time.sleep(0.1)
            return RunResult(0.1, 0.1)

        def close(self) -> None: ...

    warn_once.cache_clear()
    slept: list[float] = []
    with metering(f"shelly:{plug.shelly(50.0).place}", time.monotonic) as meter:
        chosen = Chosen(meter, ["shelly"])
        executor = MeteredExecutor(Runs(), Found(chosen, None), IdleLog(chosen, slept.append))
        results = [executor.run(configuration("a"), 10.0) for _ in range(2)]
    for result in results:
        assert result.energy is not None
        assert result.energy["status"] == "measured"
        assert result.energy["joules"] >= 50.0 * 0.1  # type: ignore[operator]
    assert capsys.readouterr().err.count("in a run of less than 20 s") == 1
    assert slept[:2] == [LAG_SECONDS, 1.0]  # the figure of what was before is let pass


# -- the command --


def tauto_energy(words: str, *more: str) -> Any:
    command = [sys.executable, "-m", "tautochrone", "energy", *more, "--", "sleep", "0.5"]
    return run_to_end(command, env=with_lab(**{OUTSIDE_VARIABLE: words}))


def test_the_command_measures_by_a_plug(plug: Plug) -> None:
    ended = tauto_energy(f"shelly:{plug.shelly(42.0).place}", "--json", "--idle-seconds", "0")
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    found = result["energy"]
    assert (found["status"], found["total"]) == ("measured", result["energy"]["total"])
    outside = found["domain_joules"]["shelly"]
    # A reading and its time lie apart by what a busy machine makes of them.
    assert 42.0 * 0.4 < outside < 42.0 * (result["seconds"] + 5.0)
    if found["source"] == "outside":
        assert found["joules"] == outside
        assert found["mean_watts"] == pytest.approx(42.0, rel=0.2)
    assert any("in a run of less than 20 s" in notice for notice in result["notices"])


def test_the_command_refuses_a_meter_that_it_cannot_have(plug: Plug) -> None:
    for words, why in (
        ("plug", "TAUTO_METER='plug' names no meter. Write one of shelly:HOST, tasmota:HOST"),
        (f"shelly:{plug.place}", "with the HTTP status 404. Look whether it is this device, or unset"),
    ):
        ended = tauto_energy(words)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert why in ended.stderr
        assert ended.stderr.count("\n") == 1
