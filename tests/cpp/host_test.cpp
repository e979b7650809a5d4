// What the probe says of a machine beside its topology: identity, virtualisation, clocks, counters and
// meters.

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <tauto/machine.hpp>

#include "fake_tree.hpp"
#include "probe/host.hpp"

namespace {

using tauto::test::changed_tree;
using tauto::test::says;

tauto::probe::host_record host(const std::filesystem::path& root) {
    return tauto::probe::read_host(tauto::read_machine({.root = root}), root);
}

tauto::probe::host_record host(const char* name) {
    return host(tauto::test::fake_root(name));
}

class environment_variable {
  public:
    environment_variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
    ~environment_variable() { unsetenv(name_); }
    environment_variable(const environment_variable&) = delete;
    environment_variable& operator=(const environment_variable&) = delete;

  private:
    const char* name_;
};

}  // namespace

TEST_CASE("name, architecture and policy of the clocks are those of the tree") {
    const auto seen = host("two_sockets");
    CHECK(seen.name == "Intel Xeon E5-2650 v2");
    CHECK(seen.smt_active == false);
    CHECK(seen.turbo == true);
    CHECK(seen.governor == "performance");
    CHECK_FALSE(seen.platform_profile.has_value());
    CHECK(host("i9_14900k").platform_profile == "balanced");
    CHECK(host("big_little").architecture == "aarch64");
}

TEST_CASE("containers of both versions of control groups are seen") {
    CHECK(host("container_v1").container);
    CHECK(host("container_v2").container);
}

TEST_CASE("whether cycles can be counted on this machine is always said") {
    CHECK_FALSE(tauto::probe::read_host(tauto::read_machine()).counters.status.empty());
}

TEST_CASE("a virtual machine has no counters and its meter is left to the probe") {
    const auto seen = host("virtual_machine");
    CHECK(seen.hypervisor == "kvm");
    CHECK(seen.name == "Intel Xeon (VM)");
    CHECK_FALSE(seen.container);  // although its disk was made from a container's image
    CHECK(seen.counters.status == "unavailable");
    says(seen.counters.reason, "virtual machine (kvm)");
    says(seen.counters.remedy, "pmu=on");
    REQUIRE(seen.energy_meters.size() == 1);
    CHECK(seen.energy_meters[0].name == "power/energy-psys/");
    CHECK(seen.energy_meters[0].state.status == "unproven");
    CHECK(seen.energy.status == "unproven");
    says(seen.energy.reason, "it is not probed; in a virtual machine (kvm) it may read 0 J");
    says(seen.energy.remedy, "host");
}

TEST_CASE("a virtual machine that lists no meter has none") {
    const changed_tree tree("virtual_machine");
    tree.remove("sys/bus/event_source/devices/power");
    CHECK(host(tree.root()).energy.status == "unavailable");
    says(host(tree.root()).energy.reason, "virtual machine (kvm), which lists no energy meter");
}

TEST_CASE("the battery of the machine is a meter while it discharges, and is listed once") {
    const changed_tree tree("core_ultra");
    const std::string supply = "sys/class/power_supply/";
    tree.write(supply + "AC/type", "Mains");
    tree.write(supply + "BAT0/type", "Battery");
    tree.write(supply + "BAT0/status", "Charging");
    tree.write(supply + "mouse/type", "Battery");
    tree.write(supply + "mouse/scope", "Device");
    tree.write("sys/class/hwmon/hwmon4/name", "BAT0");
    tree.write("sys/class/hwmon/hwmon4/power1_input", "8000000");
    const auto battery = [&] {
        std::vector<tauto::probe::energy_meter> found;
        for (const auto& meter : host(tree.root()).energy_meters)
            if (meter.source == "battery" || meter.name == "BAT0") found.push_back(meter);
        REQUIRE(found.size() == 1);
        CHECK(found[0].name == "BAT0");
        CHECK(found[0].source == "battery");
        return found[0].state;
    };
    CHECK(battery().status == "unavailable");
    says(battery().reason, "BAT0 does not discharge (Charging)");
    says(battery().remedy, "unplug");
    tree.write(supply + "BAT0/status", "Discharging");
    CHECK(battery().status == "unproven");
}

TEST_CASE("a meter that is listed is not yet believed") {
    const auto seen = host("i9_14900k");
    REQUIRE(seen.energy_meters.size() == 2);
    CHECK(seen.energy_meters[0].source == "perf");
    CHECK(seen.energy_meters[0].state.status == "unavailable");
    says(seen.energy_meters[0].state.remedy, "perf_event_paranoid=0");
    CHECK(seen.energy_meters[1].name == "package-0");
    CHECK(seen.energy_meters[1].state.status == "unproven");
    CHECK(seen.energy.status == "unproven");
    CHECK(seen.counters.status == "available");
}

TEST_CASE("a kernel setting that forbids counters is named with its remedy") {
    const auto seen = host("container_v2");
    CHECK(seen.counters.status == "unavailable");
    says(seen.counters.reason, "perf_event_paranoid is 4");
    says(seen.counters.remedy, "perf_event_paranoid=2");
}

TEST_CASE("the identifier depends on the hardware and not on the limits") {
    CHECK(host("container_v1").machine == host("container_v2").machine);
    CHECK(host("i9_14900k").machine != host("core_ultra").machine);
    CHECK(host("i9_14900k").machine.size() == 12);
    CHECK(host("i9_14900k").machine.find_first_not_of("0123456789abcdef") == std::string::npos);
}

TEST_CASE("emulated CPUs are taken from the environment and a malformed value is refused") {
    {
        const environment_variable set("TAUTO_EMULATED", "1:4,0:2.5");
        const auto seen = host("virtual_machine");
        REQUIRE(seen.emulated.size() == 2);
        CHECK(seen.emulated[0].cpu == 1);
        CHECK(seen.emulated[0].factor == 4.0);
        CHECK(seen.emulated[1].factor == 2.5);
    }
    for (const char* bad : {"1", "1:", "1:0", "1:0.5", "a:2", "1:2x", "-1:2", "1:2,", "1:nan"}) {
        const environment_variable set("TAUTO_EMULATED", bad);
        CHECK_THROWS_AS(host("virtual_machine"), tauto::error);
    }
    CHECK(host("virtual_machine").emulated.empty());
}
