"""Every meter on fake machines: exactly the right joules, or the right sentence."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from energy_trees import (
    UNIT_15_RANGE,
    Clock,
    DeniedTree,
    RecordedEvents,
    energy,
    machine,
    no_rest,
    perf_unit,
    steps,
    write,
    zone,
)
from tautochrone.energy.find import Found, find_meter
from tautochrone.energy.meter import (
    Chosen,
    Domain,
    MeterError,
    Overflowing,
    Tree,
    counted,
    platform_joules,
    total_joules,
    total_name,
)
from tautochrone.energy.recorder import no_energy

SUPPLY = "sys/class/power_supply"


@pytest.fixture
def intel(tmp_path: Path) -> Path:
    return machine(tmp_path)


@pytest.fixture
def amd(tmp_path: Path) -> Path:
    return machine(tmp_path, amd=True)


@pytest.fixture
def virtual(tmp_path: Path) -> Path:
    return machine(tmp_path, flags="hypervisor")


def nothing_opens(kind: int, config: int, cpu: int) -> RecordedEvents:
    raise OSError(errno.ENOENT, "no such event")


def found_on(
    root: Path | Tree, *actions: object, opener: object = nothing_opens, clock: Clock | None = None
) -> Found:
    tree = root if isinstance(root, Tree) else Tree(root)
    clock = clock or Clock()
    return find_meter(tree, opener=opener, busy=steps(clock, *actions), idle=no_rest, clock=clock)  # type: ignore[arg-type]


def found_by_perf(
    root: Path, joules: dict[tuple[str, int], list[float]], cpumask: str = "0"
) -> tuple[Found, RecordedEvents]:
    """What is found where just these events are, and they give these joules."""
    # The readings before and after a rest that takes no time are alike.
    events = RecordedEvents({event: [values[0], *values] for event, values in joules.items()})
    perf_unit(root, *dict.fromkeys(name for name, _ in joules), cpumask=cpumask)
    return found_on(root, opener=events), events


def meter_of(found: Found) -> Chosen:
    assert found.meter is not None, found.unavailable
    return found.meter


def total(found: Found) -> float | None:
    meter = meter_of(found)
    return total_joules(meter.domains, meter.read())


def joules_in_two_seconds(root: Path) -> float | None:
    """Of a meter that tells watts: the probe takes 0.3 s of them."""
    clock = Clock()
    found = found_on(root, clock=clock)
    clock.seconds += 1.7
    return total(found)


def reason(found: Found) -> tuple[str, str]:
    assert found.meter is None
    assert found.unavailable is not None
    return found.unavailable.reason, found.unavailable.remedy


# -- Intel client, perf, psys --


def test_intel_client_adds_package_and_memory_and_keeps_psys_cores_and_graphics_apart(intel: Path) -> None:
    found, events = found_by_perf(
        intel,
        {
            ("energy-pkg", 0): [1000.0, 1000.0, 1005.5, 1045.5],
            ("energy-cores", 0): [500.0, 500.0, 504.25, 534.25],
            ("energy-gpu", 0): [10.0, 10.0, 10.5, 11.5],
            ("energy-ram", 0): [70.0, 70.0, 70.25, 72.25],
            ("energy-psys", 0): [9000.0, 9000.0, 9009.5, 9090.5],
        },
    )
    meter = meter_of(found)
    joules = meter.read()
    assert joules == {"package-0": 45.5, "core-0": 34.25, "gpu-0": 1.5, "dram-0": 2.25, "psys": 90.5}
    assert total_joules(meter.domains, joules) == 45.5 + 2.25
    assert platform_joules(meter.domains, joules) == 90.5
    assert total_name(meter.domains) == "package + dram"
    assert [kind for kind, _, _ in events.opened] == [9] * 5
    meter.close()
    assert events.open_now == 0


def test_hybrid_and_old_kernels_without_a_package_event_have_psys_as_total(intel: Path) -> None:
    found, _ = found_by_perf(intel, {("energy-psys", 0): [1.0, 1.0, 4.25, 10.5]})
    assert total(found) == 9.5
    meter = meter_of(found)
    assert platform_joules(meter.domains, {"psys": 9.5}) is None  # it is the total


def test_events_that_the_kernel_keeps_for_the_administrator(intel: Path) -> None:
    root = perf_unit(intel, "energy-pkg", paranoid=2)
    found = found_on(root, opener=RecordedEvents({}, refuse=errno.EACCES))
    assert reason(found) == (
        "the kernel lets only the administrator count energy (perf_event_paranoid is 2)",
        "Allow it until the next boot: sudo sysctl kernel.perf_event_paranoid=0",
    )


def test_events_hidden_by_a_sandbox(intel: Path) -> None:
    root = perf_unit(intel, "energy-pkg")
    found = found_on(root, opener=RecordedEvents({}, refuse=errno.ENOSYS))
    assert "sandbox" in reason(found)[0]


def test_an_event_that_cannot_be_parsed_leaves_no_other_open(intel: Path) -> None:
    root = perf_unit(intel, "energy-cores", "energy-pkg")
    (root / "sys/bus/event_source/devices/power/events/energy-pkg").write_text("config=??\n")
    events = RecordedEvents({("energy-cores", 0): [0.0], ("energy-pkg", 0): [0.0]})
    assert "expected event=NUMBER" in reason(found_on(root, opener=events))[0]
    assert events.open_now == 0


# -- two-socket server, powercap --


def test_two_socket_server_adds_both_packages_and_their_memory(intel: Path) -> None:
    for package in (0, 1):
        zone(intel, f"intel-rapl:{package}", f"package-{package}", 1_000_000, tdp_uw=165_000_000)
        zone(intel, f"intel-rapl:{package}:0", "dram", 2_000_000, range_uj=UNIT_15_RANGE)
        zone(intel, f"intel-rapl:{package}:1", "core", 3_000_000)

    def work() -> None:
        for package, added in ((0, 30_000_061), (1, 20_000_122)):
            energy(intel, f"intel-rapl:{package}", 1_000_000 + added)
            energy(intel, f"intel-rapl:{package}:0", 2_000_000 + 3_000_015)
            energy(intel, f"intel-rapl:{package}:1", 3_000_000 + 25_000_061)

    found = found_on(intel, work)
    meter = meter_of(found)
    assert meter.source == "powercap"
    assert total(found) == pytest.approx(30.000061 + 20.000122 + 2 * 3.000015, abs=1e-9)
    assert meter.read()["core-1"] == pytest.approx(25.000061, abs=1e-9)
    assert {one.name for one in counted(meter.domains)} == {"package-0", "package-1", "dram-0", "dram-1"}


def packages_of(root: Path, packages: dict[int, int]) -> None:
    for cpu, package in packages.items():
        write(root, {f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id": package})


def test_two_socket_server_by_perf_reads_each_package_on_its_cpu_and_psys_once(intel: Path) -> None:
    packages_of(intel, {0: 0, 28: 1})
    joules = {
        ("energy-pkg", 0): [0.0, 0.0, 20.125],
        ("energy-pkg", 28): [0.0, 0.0, 10.25],
        ("energy-psys", 0): [0.0, 0.0, 50.5],
    }
    found, events = found_by_perf(intel, joules, cpumask="0,28")
    assert total(found) == 30.375
    assert sorted(events.opened) == [(9, 2, 0), (9, 2, 28), (9, 5, 0)]


def test_a_package_of_several_dies_is_the_sum_of_them(intel: Path) -> None:
    packages_of(intel, {0: 0, 24: 0, 48: 1})
    joules = {0: 20.125, 24: 10.25, 48: 7.5}
    packages = {("energy-pkg", cpu): [1.0, 1.0, 1.0 + one] for cpu, one in joules.items()}
    memory = {("energy-ram", cpu): [0.0, 0.0, one / 4] for cpu, one in joules.items()}
    found, events = found_by_perf(intel, packages | memory, cpumask="0,24,48")
    meter = meter_of(found)
    expected = {"package-0": 30.375, "package-1": 7.5, "dram-0": 30.375 / 4, "dram-1": 7.5 / 4}
    assert meter.read() == expected
    assert [one.name for one in meter.domains] == list(expected)
    meter.close()
    assert events.open_now == 0


def test_a_die_whose_event_cannot_be_opened_leaves_no_other_open(intel: Path) -> None:
    found, events = found_by_perf(intel, {("energy-pkg", 0): [0.0]}, cpumask="0,24")
    assert "cannot be opened" in reason(found)[0]
    assert events.opened == [(9, 2, 0)]
    assert events.open_now == 0


def test_a_package_that_two_drivers_list_counts_once(intel: Path) -> None:
    drivers = ("intel-rapl:0", "intel-rapl-mmio:0")
    for driver in drivers:
        zone(intel, driver, "package-0", 0)

    def work() -> None:
        for driver in drivers:
            energy(intel, driver, 4_000_061)

    assert total(found_on(intel, work)) == pytest.approx(4.000061)


def test_zones_that_only_the_administrator_may_read(intel: Path) -> None:
    root = zone(intel, "intel-rapl:0", "package-0", 1)
    assert reason(found_on(DeniedTree(root, "energy_uj"))) == (
        "only the administrator may read /sys/class/powercap/*/energy_uj",
        "Allow it until the next boot: sudo chmod a+r /sys/class/powercap/*/energy_uj",
    )


def test_a_reason_of_perf_does_not_hide_a_powercap_that_works(intel: Path) -> None:
    root = zone(perf_unit(intel, "energy-pkg", paranoid=2), "intel-rapl:0", "package-0", 0)
    refusing = RecordedEvents({}, refuse=errno.EACCES)
    found = found_on(root, lambda: energy(root, "intel-rapl:0", 3_000_061), opener=refusing)
    assert total(found) == pytest.approx(3.000061)
    assert [source for source, _ in found.tried] == ["perf"]


# -- AMD --


def test_amd_has_package_and_core_under_the_same_names(amd: Path) -> None:
    zone(amd, "intel-rapl:0", "package-0", 5_000_000, range_uj=UNIT_15_RANGE)
    zone(amd, "intel-rapl:0:0", "core", 100)

    def work() -> None:
        energy(amd, "intel-rapl:0", 9_000_015)
        energy(amd, "intel-rapl:0:0", 900_100)

    found = found_on(amd, work)
    assert total(found) == pytest.approx(4.000015, abs=1e-9)
    assert meter_of(found).read()["core-0"] == pytest.approx(0.9)


def test_amd_counts_exactly_over_the_overflow_of_15_microjoule_units(amd: Path) -> None:
    zone(amd, "intel-rapl:0", "package-0", UNIT_15_RANGE - 5_000_000, range_uj=UNIT_15_RANGE)
    found = found_on(amd, lambda: energy(amd, "intel-rapl:0", 7_000_000))
    assert total(found) == pytest.approx(12.000015, abs=1e-9)


def sensor(root: Path, number: int, name: str, **files: object) -> Path:
    """A device that hwmon lists."""
    folder = f"sys/class/hwmon/hwmon{number}"
    return write(root, {f"{folder}/{file}": content for file, content in {"name": name, **files}.items()})


def test_amd_energy_driver_counts_sockets_and_keeps_cores_apart(amd: Path) -> None:
    labels = {"energy1_label": "Ecore000", "energy2_label": "Esocket0"}
    sensor(amd, 2, "amd_energy", energy1_input=100, energy2_input=1_000, **labels)
    work = {"energy1_input": 2_000_115, "energy2_input": 9_001_015}
    found = found_on(amd, lambda: sensor(amd, 2, "amd_energy", **work))
    assert total(found) == pytest.approx(9.000015)
    assert meter_of(found).read()["core-0"] == pytest.approx(2.000015)


# -- virtual machine --


def test_a_virtual_machine_that_answers_0_joules_is_not_believed(virtual: Path) -> None:
    found, events = found_by_perf(virtual, {("energy-psys", 0): [0.0]})
    assert reason(found) == (
        "perf psys opens but reads 0 J through 0.3 s of work: this is a virtual machine without a meter",
        "Measure on the host, have it pass its meters in (QEMU: -accel kvm,rapl=true), or name a smart plug "
        "in TAUTO_METER",
    )
    assert events.open_now == 0


def test_a_virtual_machine_with_a_meter_passed_in_is_believed(virtual: Path) -> None:
    found, _ = found_by_perf(virtual, {("energy-pkg", 0): [0.0, 0.0, 3.0625]})
    assert total(found) == 3.0625


def test_a_virtual_machine_without_any(virtual: Path) -> None:
    assert "virtual machine" in reason(found_on(virtual))[0]


# -- container --


def test_a_container_that_masks_the_zones(intel: Path) -> None:
    root = write(intel, {".dockerenv": ""})
    folder = root / "sys/class/powercap"
    folder.mkdir(parents=True)
    # Docker lays an empty folder over the target of these links.
    (folder / "intel-rapl:0").symlink_to("../../devices/virtual/powercap/intel-rapl/intel-rapl:0")
    said, remedy = reason(found_on(root))
    assert said == "the container masks the energy meters of its host (/sys/devices/virtual/powercap)"
    assert "--security-opt systempaths=unconfined" in remedy


def test_a_container_that_shows_nothing(intel: Path) -> None:
    root = write(intel, {"proc/1/cgroup": "0::/kubepods/burstable/pod1"})
    assert "the container masks" in reason(found_on(root))[0]


def test_processes_of_others_that_are_hidden_say_nothing_of_a_container(intel: Path) -> None:
    # /proc mounted with hidepid=1: the folder of process 1 is there, and nothing in it may be read.
    root = write(intel, {"proc/1/cgroup": "0::/kubepods/burstable/pod1"})
    hidden = DeniedTree(root, "proc/1/cgroup")
    assert reason(found_on(hidden))[0] == "the system lists no energy meter"
    zone(root, "intel-rapl:0", "package-0", 0)
    found = found_on(hidden, lambda: energy(root, "intel-rapl:0", 3_000_061))
    assert total(found) == pytest.approx(3.000061)


def test_a_closed_file_that_describes_a_meter_is_a_reason_and_no_defect(intel: Path) -> None:
    root = battery(zone(intel, "intel-rapl:0", "package-0", 0), power_now=8_000_000)
    found = found_on(DeniedTree(root, "max_energy_range_uj"))
    assert meter_of(found).source == "battery"
    path = root / "sys/class/powercap/intel-rapl:0/max_energy_range_uj"
    why = f"only the administrator may read {path}. Allow it until the next boot: sudo chmod a+r {path}"
    assert [(source, str(said)) for source, said in found.tried] == [("powercap", why)]


def test_a_machine_that_lacks_the_driver(tmp_path: Path) -> None:
    assert reason(found_on(machine(tmp_path))) == (
        "the system lists no energy meter",
        "Load the driver: sudo modprobe intel_rapl_msr",
    )
    assert "amd_energy" in reason(found_on(machine(tmp_path / "amd", amd=True)))[1]


# -- what is not plausible --


def test_a_meter_that_stands_still(intel: Path) -> None:
    root = zone(intel, "intel-rapl:0", "package-0", 123_456)
    assert "stands still through 0.3 s of work" in reason(found_on(root))[0]


@pytest.mark.parametrize(
    ("event", "joules", "why"),
    [
        ("energy-pkg", [10.0, 10.0, 25.0], "steps of 1 J"),
        ("energy-pkg", [10.0, 10.0, 8.5], "went back by 1.5 J"),
        ("energy-cores", [0.0, 0.0, 2.5], "counts only parts of the machine (core-0)"),
    ],
)
def test_counts_that_cannot_be_a_total(intel: Path, event: str, joules: list[float], why: str) -> None:
    found, _ = found_by_perf(intel, {(event, 0): joules})
    assert why in reason(found)[0]


def test_more_than_three_times_the_tdp(intel: Path) -> None:
    root = zone(intel, "intel-rapl:0", "package-0", 0, tdp_uw=15_000_000)
    found = found_on(root, lambda: energy(root, "intel-rapl:0", 14_000_061))
    assert reason(found)[0] == "powercap package-0 shows 47 W, more than the 45 W that can be"


def test_one_bad_domain_does_not_spoil_the_others(intel: Path) -> None:
    joules = {
        ("energy-pkg", 0): [0.0, 0.0, 5.5],
        ("energy-ram", 0): [0.0],
        ("energy-psys", 0): [0.0, 0.0, 7.0],
    }
    found, _ = found_by_perf(intel, joules)
    assert [one.name for one in meter_of(found).domains] == ["package-0"]
    assert total(found) == 5.5


@pytest.mark.parametrize(("while_idle", "is_believed"), [(0.3, False), (0.29, True), (0.0, True)])
def test_a_counter_that_counts_time_and_not_work_is_doubted(
    intel: Path, while_idle: float, is_believed: bool
) -> None:
    root = zone(intel, "intel-rapl:0", "package-0", 0)
    clock = Clock()
    rest = steps(clock, lambda: energy(root, "intel-rapl:0", round(1e6 * while_idle)))
    work = steps(clock, lambda: energy(root, "intel-rapl:0", round(1e6 * (while_idle + 0.300061))))
    found = find_meter(Tree(root), opener=nothing_opens, busy=work, idle=rest, clock=clock)  # type: ignore[arg-type]
    assert (found.meter is not None) == is_believed
    if not is_believed:
        assert reason(found)[0] == (
            "powercap shows 1 W while a CPU works and 1 W while it does not, so it counts something else"
        )
        assert found.why.doubted
        assert no_energy(found.why)["status"] == "doubted"


@pytest.mark.parametrize(("shown_microjoules", "is_believed"), [(5_000_000, True), (2_500_000, False)])
def test_two_counters_of_one_package_that_disagree_are_doubted(
    intel: Path, shown_microjoules: int, is_believed: bool
) -> None:
    zone(intel, "intel-rapl:0", "package-0", 0)
    events = RecordedEvents({("energy-pkg", 0): [10.0, 10.0, 10.0, 15.5, 15.5, 20.75]})
    perf_unit(intel, "energy-pkg")
    found = found_on(
        intel, lambda: None, lambda: energy(intel, "intel-rapl:0", shown_microjoules), opener=events
    )
    assert (found.meter is not None) == is_believed
    if not is_believed:
        said = "two meters disagree: perf shows 17.5 W of package-0, and powercap 8.33 W of package-0"
        assert reason(found)[0] == said
        assert found.why.doubted
        assert events.open_now == 0


@pytest.mark.parametrize(("node_watts", "is_believed"), [(60, True), (5, False)])
def test_a_node_that_draws_less_than_its_packages_is_doubted(
    intel: Path, node_watts: int, is_believed: bool
) -> None:
    root = zone(intel, "intel-rapl:0", "package-0", 0)
    sensor = {"name": "power_meter", "power1_average": node_watts * 1_000_000}
    write(root, {f"sys/class/hwmon/hwmon0/{name}": value for name, value in sensor.items()})
    work = [lambda: energy(root, "intel-rapl:0", 6_000_061), lambda: energy(root, "intel-rapl:0", 12_000_061)]
    found = found_on(root, *work)
    assert (found.meter is not None) == is_believed
    if not is_believed:
        assert "powercap shows 20 W of package, and hwmon 5 W of node" in reason(found)[0]


def test_sgx_filtering_is_named_and_does_not_forbid(tmp_path: Path) -> None:
    root = write(machine(tmp_path, flags="sgx"), {"dev/sgx_enclave": ""})
    zone(root, "intel-rapl:0", "package-0", 0)
    found = found_on(root, lambda: energy(root, "intel-rapl:0", 3_000_061))
    assert total(found) == pytest.approx(3.000061)
    assert len(found.notices) == 1
    assert "SGX is on" in found.notices[0]
    assert "sudo rdmsr --bitfield 0:0 0xbc" in found.notices[0]


# -- sensors of power --


def test_a_node_sensor_is_integrated_by_trapezoids_and_graphics_are_apart(intel: Path) -> None:
    sensor(intel, 0, "power_meter", power1_average=100_000_000)
    sensor(intel, 1, "amdgpu", power1_average=20_000_000)
    clock = Clock()
    found = found_on(intel, lambda: sensor(intel, 0, "power_meter", power1_average=200_000_000), clock=clock)
    meter = meter_of(found)
    assert meter.integrates
    clock.seconds += 2.0
    joules = meter.read()
    assert joules["power_meter-1"] == pytest.approx(0.3 * 150 + 2.0 * 200)
    assert total_joules(meter.domains, joules) == pytest.approx(445.0)


def test_a_sensor_that_tells_the_power_of_this_moment(intel: Path) -> None:
    sensor(intel, 0, "ina3221", power2_input=4_000_000, power2_label="VDD_IN")
    clock = Clock()
    found = found_on(intel, lambda: sensor(intel, 0, "ina3221", power2_input=6_000_000), clock=clock)
    assert [(one.name, one.kind) for one in meter_of(found).domains] == [("ina3221-VDD_IN", "node")]
    clock.seconds += 2.0
    assert total(found) == pytest.approx(0.3 * 5 + 2.0 * 6)


def test_a_sensor_that_tells_its_power_twice_counts_once(intel: Path) -> None:
    root = sensor(intel, 0, "power_meter", power1_average=90_000_000, power1_input=95_000_000)
    assert joules_in_two_seconds(root) == pytest.approx(2.0 * 90)


@pytest.mark.parametrize("file", ["power1_input", "power1_average", "energy1_input"])
def test_a_sensor_that_only_the_administrator_may_read(intel: Path, file: str) -> None:
    root = sensor(intel, 0, "power_meter", **{file: 90_000_000})
    assert reason(found_on(DeniedTree(root, file))) == (
        f"only the administrator may read /sys/class/hwmon/hwmon0/{file}",
        f"Allow it until the next boot: sudo chmod a+r /sys/class/hwmon/hwmon0/{file}",
    )


def test_graphics_alone_are_no_meter_of_the_machine(intel: Path) -> None:
    root = sensor(intel, 1, "amdgpu", power1_average=20_000_000)
    assert "only parts of the machine" in reason(found_on(root))[0]


# -- battery --


def battery(root: Path, status: str = "Discharging", **files: int) -> Path:
    mouse = {"hidpp_battery_0/type": "Battery", "hidpp_battery_0/scope": "Device"}
    laptop = {"AC/type": "Mains", "BAT0/type": "Battery", "BAT0/status": status}
    own = {f"BAT0/{name}": value for name, value in files.items()}
    write(root / SUPPLY, mouse | laptop | own)
    return root


def test_a_laptop_on_battery_by_its_power(intel: Path) -> None:
    clock = Clock()
    found = found_on(battery(intel, power_now=8_000_000), clock=clock)
    clock.seconds += 10.0
    assert meter_of(found).source == "battery"
    assert total(found) == pytest.approx(8.0 * 10.3)


def test_a_laptop_on_battery_by_current_and_voltage_even_if_it_flows_out_as_negative(intel: Path) -> None:
    root = battery(intel, current_now=-1_500_000, voltage_now=12_000_000)
    assert joules_in_two_seconds(root) == pytest.approx(18.0 * 2.0)


@pytest.mark.parametrize("status", ["Charging", "Full", "Not charging"])
def test_a_laptop_that_is_plugged_in(intel: Path, status: str) -> None:
    root = battery(intel, status, power_now=8_000_000)
    assert reason(found_on(root)) == (
        f"the battery BAT0 is {status.lower()}: the machine does not run on it",
        "Unplug the charger and measure again",
    )


def test_a_charger_that_is_plugged_in_meanwhile_ends_the_reading(intel: Path) -> None:
    meter = meter_of(found_on(battery(intel, power_now=8_000_000)))
    battery(intel, "Charging")
    with pytest.raises(MeterError, match="is charging"):
        meter.read()


def test_the_battery_of_a_mouse_is_none(intel: Path) -> None:
    root = write(intel, {f"{SUPPLY}/mouse/type": "Battery", f"{SUPPLY}/mouse/scope": "Device"})
    assert "lists no energy meter" in reason(found_on(root))[0]


# -- small parts --


@pytest.mark.parametrize(("largest", "unit"), [(262143328850, 61), (UNIT_15_RANGE, 15)])
def test_an_overflow_loses_not_one_unit(largest: int, unit: int) -> None:
    counter = Overflowing("zone", largest, largest)
    assert counter.advance(0) == unit / 1e6  # from the last value to the first one is one step
    assert counter.advance(largest) == (largest + unit) / 1e6
    assert counter.advance(10 * unit) == (largest + 12 * unit) / 1e6


def test_a_counter_without_a_range_that_goes_back_is_an_error() -> None:
    counter = Overflowing("zone", 10, None)
    with pytest.raises(MeterError, match="does not tell where it overflows"):
        counter.advance(9)


def test_totals_never_mix_what_contains_each_other() -> None:
    package, core = Domain("package-0", "package"), Domain("core-0", "core")
    psys, node = Domain("psys", "psys"), Domain("node", "node")
    assert counted([core, package, psys, node]) == (package,)
    assert counted([core, psys, node]) == (psys,)
    assert counted([node, core]) == (node,)
    assert total_joules([core], {"core-0": 1.0}) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12\n", 12),
        ("-3", -3),
        (str(2**64 - 1), 2**64 - 1),
        (str(2**64), None),
        ("9" * 400, None),
        ("x", None),
    ],
)
def test_a_number_that_no_kernel_writes_is_none(tmp_path: Path, text: str, number: int | None) -> None:
    write(tmp_path, {"sys/number": text})
    assert Tree(tmp_path).number("sys/number") == number
