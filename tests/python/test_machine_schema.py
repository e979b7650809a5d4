"""A key of a machine file stands once, in machine/schema.toml: nothing else may say otherwise."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from tautochrone.machine.schema import HEAD, KIND, SCHEMA, Key
from tautochrone.simulator import machines
from tautochrone.simulator.machines import Machine
from test_simulator import SMALL

ROOT = Path(__file__).resolve().parents[2]
READER = (ROOT / "simulator" / "machine.cpp").read_text()
STRUCTS = (ROOT / "simulator" / "machine.hpp").read_text()
KEYS = [(table, name) for table, keys in SCHEMA.table.items() for name in keys]


def key_of(table: str, name: str) -> Key:
    return SCHEMA.table[table][name]


def struct_of(table: str) -> type[msgspec.Struct]:
    if table == HEAD:
        return Machine
    field = next(field for field in msgspec.structs.fields(Machine) if field.name == table)
    return machines.Kind if table == KIND else field.type


def simulated(table: str) -> set[str]:
    """What the simulator takes from a table: keys and derived figures."""
    keys = {name for name, key in SCHEMA.table[table].items() if key.use == "simulator"}
    return keys | set(SCHEMA.derived.get(table, {}))


def read_by_the_simulator(table: str) -> set[str]:
    """The keys that its reader asks for."""
    function = "machine read_machine" if table == HEAD else rf"\w+ read_{table}"
    body = re.search(rf"^{function}\(.*?^}}", READER, re.M | re.S)
    assert body, f"simulator/machine.cpp has no read_{table}"
    return set(re.findall(r'in\.need\w*\("(\w+)"', body.group())) - {KIND if table == HEAD else ""}


@pytest.mark.parametrize(("table", "name"), KEYS)
def test_a_key_has_one_quantity_and_one_way_to_do_without_it(table: str, name: str) -> None:
    key = key_of(table, name)
    assert (key.quantity is None) != (key.each is None)
    assert key.kind in SCHEMA.quantity.values()
    for other in (key.beside, key.like):
        assert other is None or other in SCHEMA.table[table]
    ways = [key.default is not None, key.like is not None, key.derived is not None]
    assert sum(ways) <= 1
    if key.use == "simulator":
        assert any(ways) or key.needed
    limits = key.range or key.kind.range
    if key.quantity and limits and isinstance(key.default, int | float):
        # 0 may mean that there is no such thing.
        assert key.default == 0 or limits[0] <= key.default <= limits[1]


@pytest.mark.parametrize("table", [table for table in SCHEMA.table if simulated(table)])
def test_the_simulator_reads_what_the_laboratory_fills_in_and_the_schema_says(table: str) -> None:
    assert read_by_the_simulator(table) == simulated(table)
    fields = set(struct_of(table).__struct_fields__)
    others = {name for name, key in SCHEMA.table[table].items() if key.use != "simulator"}
    if table == HEAD:
        assert simulated(table) <= fields
    else:
        assert fields - others == simulated(table)


@pytest.mark.parametrize(
    ("struct", "holder"), [("core_kind", "kind"), ("machine", "read"), ("governor", "read")]
)
def test_every_field_of_the_simulators_machine_is_read(struct: str, holder: str) -> None:
    body = re.search(rf"^struct {struct} \{{(.*?)^}};", STRUCTS, re.M | re.S)
    fields = set(re.findall(r"^    [\w:<>]+ (\w+)(?: = [^;]*)?;", body.group(1), re.M))
    assert len(fields) > 5
    assert fields <= set(re.findall(rf"\b{holder}\.(\w+)", READER))


def test_the_template_explains_every_key_that_a_person_writes_in_the_words_of_the_schema() -> None:
    text = (ROOT / "machines" / "template.toml").read_text()
    table, found = HEAD, []
    for line in text.splitlines():
        if heading := re.match(r"\[\[?(\w+)\]\]?", line):
            table = heading.group(1)
        elif entry := re.match(r"(\w+) = .*?  # (.*)$", line):
            place = table, entry.group(1)
            if place not in found:  # the second kind says what is different about it
                assert entry.group(2) == key_of(*place).meaning
                found.append(place)
    assert sorted(found) == sorted(place for place in KEYS if not key_of(*place).probed)


def test_a_default_is_taken_where_the_file_says_nothing() -> None:
    machine = machines.read(SMALL, "small.toml")
    kind = machine.kind[0]
    for table, name in KEYS:
        key = key_of(table, name)
        if key.use != "simulator" or key.needed or table == HEAD:
            continue
        holder = kind if table == KIND else getattr(machine, table)
        taken = getattr(holder, name)
        if key.like:
            assert taken == getattr(holder, key.like)
        elif key.default is not None and name != "smt_yield":
            assert taken == (tuple(key.default) if isinstance(key.default, list) else key.default)
    assert kind.smt_yield == 1  # 1.25, but a core of one thread yields no more than that
