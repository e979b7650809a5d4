#include "probe/meters.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace tauto::probe {
namespace {

using detail::file_tree;

// 0, or the errno with which the kernel refused to count this thread's cycles.
int try_to_count_cycles() {
    perf_event_attr attributes{};
    attributes.size = sizeof(attributes);
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = PERF_COUNT_HW_CPU_CYCLES;
    attributes.disabled = 1;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    const long descriptor = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0UL);
    if (descriptor < 0) return errno;
    close(static_cast<int>(descriptor));
    return 0;
}

bool has_core_pmu(const file_tree& files) {
    const std::string folder = "/sys/bus/event_source/devices";
    for (const std::string& name : files.names(folder)) {
        if (name == "cpu" || name == "cpu_core" || name == "cpu_atom") return true;
        if (name.compare(0, 4, "armv") == 0 || name.find("_pmu") != std::string::npos) return true;
    }
    return false;
}

availability no_pmu(const std::optional<std::string>& hypervisor) {
    if (hypervisor) {
        return {"unavailable",
                "this is a virtual machine (" + *hypervisor + ") whose host passes no PMU through",
                "start the machine with a virtual PMU (QEMU/KVM: -cpu host,pmu=on) or measure on the host"};
    }
    return {"unavailable", "the kernel has no driver for a PMU of this processor",
            "boot a kernel with CONFIG_PERF_EVENTS and the processor's PMU driver"};
}

availability refused(const file_tree& files, bool container) {
    const auto paranoid = files.integer("/proc/sys/kernel/perf_event_paranoid");
    if (paranoid && *paranoid > 2) {
        return {"unavailable", "kernel.perf_event_paranoid is " + std::to_string(*paranoid),
                "sudo sysctl kernel.perf_event_paranoid=2, or give the process CAP_PERFMON"};
    }
    if (container) {
        return {"unavailable", "the container forbids perf_event_open",
                "start it with --cap-add PERFMON and a seccomp profile that allows perf_event_open"};
    }
    return {"unavailable", "the system forbids perf_event_open",
            "run with CAP_PERFMON, or look for a seccomp filter"};
}

constexpr std::string_view vm_remedy =
    "measure on the host, have it pass its meters in (QEMU: -accel kvm,rapl=true), or name a smart plug in "
    "TAUTO_METER";

energy_meter meter(const file_tree& files, std::string name, std::string source, std::string path,
                   const std::string& file_to_read, const std::optional<std::string>& hypervisor) {
    energy_meter found{std::move(name), std::move(source), std::move(path), {"unproven", "", ""}};
    if (!files.readable(file_to_read)) {
        found.state = {"unavailable", file_to_read + " may be read by root alone",
                       "sudo chmod a+r " + file_to_read + ", or run as root"};
    } else if (hypervisor) {
        found.state = {"unproven",
                       "it is not probed; in a virtual machine (" + *hypervisor + ") it may read 0 J",
                       "tauto energy probes it; where it reads 0 J, " + std::string(vm_remedy)};
    } else {
        found.state = {"unproven", "it is not probed: no busy loop has shown yet that it counts",
                       "tauto energy probes it"};
    }
    return found;
}

void add_perf_meters(const file_tree& files, const std::optional<std::string>& hypervisor,
                     std::vector<energy_meter>& meters) {
    for (const std::string unit : {"power", "power_core"}) {
        const std::string folder = "/sys/bus/event_source/devices/" + unit + "/events";
        for (const std::string& event : files.names(folder)) {
            if (event.find('.') != std::string::npos) continue;
            const std::string path = folder + "/" + event;
            auto found = meter(files, unit + "/" + event + "/", "perf", path, path, hypervisor);
            const auto paranoid = files.integer("/proc/sys/kernel/perf_event_paranoid");
            // An event of the whole package is counted for a CPU and not for a process, which needs more
            // rights.
            if (found.state.status == "unproven" && paranoid && *paranoid > 0 &&
                (!files.live() || geteuid() != 0)) {
                found.state = {"unavailable", "kernel.perf_event_paranoid is " + std::to_string(*paranoid),
                               "sudo sysctl kernel.perf_event_paranoid=0, or give the process CAP_PERFMON"};
            }
            meters.push_back(std::move(found));
        }
    }
}

void add_powercap_meters(const file_tree& files, const std::optional<std::string>& hypervisor,
                         std::vector<energy_meter>& meters) {
    const std::string folder = "/sys/class/powercap";
    for (const std::string& zone : files.names(folder)) {
        const std::string path = folder + "/" + zone;
        if (!files.exists(path + "/energy_uj")) continue;
        const std::string name = files.text(path + "/name").value_or(zone);
        meters.push_back(meter(files, name, "powercap", path, path + "/energy_uj", hypervisor));
    }
}

void add_hwmon_meters(const file_tree& files, const std::optional<std::string>& hypervisor,
                      std::vector<energy_meter>& meters) {
    const std::string folder = "/sys/class/hwmon";
    for (const std::string& device : files.names(folder)) {
        const std::string path = folder + "/" + device;
        const std::string name = files.text(path + "/name").value_or(device);
        if (files.exists("/sys/class/power_supply/" + name)) continue;  // a battery is listed as such
        for (const std::string file : {"energy1_input", "power1_input", "power1_average"}) {
            if (!files.exists(path + "/" + file)) continue;
            meters.push_back(meter(files, name, "hwmon", path, path + "/" + file, hypervisor));
            break;
        }
    }
}

void add_batteries(const file_tree& files, const std::optional<std::string>& hypervisor,
                   std::vector<energy_meter>& meters) {
    const std::string folder = "/sys/class/power_supply";
    for (const std::string& name : files.names(folder)) {
        const std::string path = folder + "/" + name;
        // The battery of a mouse has the scope Device.
        if (files.text(path + "/type") != "Battery" || files.text(path + "/scope") == "Device") continue;
        auto found = meter(files, name, "battery", path, path + "/status", hypervisor);
        const auto status = files.text(path + "/status");
        if (status && *status != "Discharging")
            found.state = {"unavailable", "the battery " + name + " does not discharge (" + *status + ")",
                           "unplug the charger"};
        meters.push_back(std::move(found));
    }
}

}  // namespace

availability read_counters(const file_tree& files, const std::optional<std::string>& hypervisor,
                           bool container) {
    if (!files.live()) {
        if (!has_core_pmu(files)) return no_pmu(hypervisor);
        const auto paranoid = files.integer("/proc/sys/kernel/perf_event_paranoid");
        if (paranoid && *paranoid > 2) return refused(files, container);
        return {"available", "", ""};
    }
    switch (const int failure = try_to_count_cycles()) {
        case 0:
            return {"available", "", ""};
        case EPERM:
        case EACCES:
            return refused(files, container);
        case ENOENT:
        case ENODEV:
        case EOPNOTSUPP:
            return no_pmu(hypervisor);
        case ENOSYS:
            return {"unavailable", "perf_event_open is missing from this kernel, or hidden by a sandbox",
                    "boot a kernel with CONFIG_PERF_EVENTS, or leave the sandbox"};
        default:
            return {"unavailable", "perf_event_open failed: " + std::string(std::strerror(failure)), ""};
    }
}

std::vector<energy_meter> read_energy_meters(const file_tree& files,
                                             const std::optional<std::string>& hypervisor) {
    std::vector<energy_meter> meters;
    add_perf_meters(files, hypervisor, meters);
    add_powercap_meters(files, hypervisor, meters);
    add_hwmon_meters(files, hypervisor, meters);
    add_batteries(files, hypervisor, meters);
    return meters;
}

availability judge_energy(const std::vector<energy_meter>& meters,
                          const std::optional<std::string>& hypervisor, bool container) {
    for (const energy_meter& found : meters) {
        if (found.state.status == "unproven") return found.state;
    }
    if (!meters.empty()) return meters.front().state;
    if (hypervisor) {
        return {"unavailable", "this is a virtual machine (" + *hypervisor + "), which lists no energy meter",
                std::string(vm_remedy)};
    }
    if (container) {
        return {"unavailable", "the container shows no energy meter",
                "start it with /sys/class/powercap readable, or measure outside of it"};
    }
    return {"unavailable", "the system lists no energy meter",
            "load the driver (modprobe intel_rapl_common, amd_energy) or use an external meter"};
}

}  // namespace tauto::probe
