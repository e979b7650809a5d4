#pragma once
// Facts about a machine besides its topology: name and identifier, virtualisation, clock policy, counters and
// energy meters. The runtime does not need them.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <tauto/machine.hpp>

namespace tauto::probe {

// A CPU that `tauto emulate` makes `factor` times slower.
struct slowed_cpu {
    int cpu = 0;
    double factor = 1;
};

// Whether something is available here; if not, the reason and the remedy.
struct availability {
    std::string status;  // "available", "unavailable", or for energy "unproven": listed, not probed
    std::string reason;
    std::string remedy;
};

struct energy_meter {
    std::string name;    // such as "power/energy-pkg/" or "package-0"
    std::string source;  // "perf", "powercap", "hwmon" or "battery"
    std::string path;    // of the file that lists it
    availability state;
};

struct host_record {
    std::string machine;  // 12 hexadecimal digits that depend only on stable facts of the hardware
    std::string name;     // for people
    std::string cpu_model;
    std::string architecture;
    std::string kernel;
    std::optional<std::string> hypervisor;  // "kvm", "hyperv", "vmware", "xen", …
    bool container = false;
    std::vector<slowed_cpu> emulated;  // from TAUTO_EMULATED

    std::optional<std::string> governor;
    std::optional<std::string> frequency_driver;
    std::optional<std::string> energy_performance_preference;
    std::optional<std::string> platform_profile;
    std::optional<bool> turbo;
    std::optional<bool> smt_active;

    availability counters;
    std::vector<energy_meter> energy_meters;
    availability energy;
};

// The facts of the machine that read_machine read below the same root. Throws tauto::error if TAUTO_EMULATED
// is malformed.
host_record read_host(const machine_record& machine, const std::filesystem::path& root = "/");

}  // namespace tauto::probe
