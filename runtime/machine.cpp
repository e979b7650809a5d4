#include <tauto/machine.hpp>

#include <algorithm>
#include <string>

#include "machine_files.hpp"
#include "machine_kinds.hpp"
#include "machine_limits.hpp"
#include "machine_topology.hpp"

namespace tauto {
namespace {

using detail::file_tree;
using detail::split;
using detail::trimmed;

void read_memory(const file_tree& files, machine_record& machine) {
    const std::string meminfo = files.text("/proc/meminfo").value_or("");
    const auto kilobytes = [&](std::string_view key) {
        const std::string value = detail::value_of_line(meminfo, {key}).value_or("0 kB");
        return detail::to_integer(split(value, ' ')[0]).value_or(0) * 1024;
    };
    machine.memory_bytes = kilobytes("MemTotal");
    machine.available_memory_bytes = kilobytes("MemAvailable");
    machine.memory_limit_bytes = detail::read_memory_limit(files);
    if (machine.memory_limit_bytes) {
        machine.available_memory_bytes =
            std::min(machine.available_memory_bytes, *machine.memory_limit_bytes);
    }
}

void take_limits(const file_tree& files, machine_record& machine) {
    detail::limits limits = detail::read_limits(files);
    for (cpu_record& cpu : machine.cpus) cpu.allowed = detail::contains(limits.allowed, cpu.cpu);
    for (const cpu_record& cpu : machine.cpus) {
        if (cpu.allowed) machine.allowed_cpus.push_back(cpu.cpu);
    }
    machine.offline_cpus = std::move(limits.offline);
    machine.affinity = std::move(limits.affinity);
    machine.cpuset = std::move(limits.cpuset);
    machine.cpuset_source = std::move(limits.cpuset_source);
    machine.quota_cpus = limits.quota_cpus;
    machine.quota_source = std::move(limits.quota_source);
    machine.usable_members = limits.usable_members;
}

void take_kinds(const file_tree& files, const detail::topology& topology, machine_record& machine) {
    std::vector<int> cpus;
    for (const cpu_record& cpu : machine.cpus) cpus.push_back(cpu.cpu);
    detail::cpu_kinds kinds = detail::read_kinds(files, cpus);
    if (kinds.of.empty()) kinds = topology.kinds;
    machine.kind_source = kinds.source;
    for (cpu_record& cpu : machine.cpus) cpu.kind = kinds.kind(cpu.cpu);
    for (const std::string_view name : {"P", "E", "LP", "core"}) {
        kind_record kind{std::string(name), {}, 1};
        for (const cpu_record& cpu : machine.cpus) {
            if (cpu.kind != name) continue;
            kind.cpus.push_back(cpu.cpu);
            const int threads = detail::int_size(cpu.smt_siblings) + 1;
            kind.hardware_threads_per_core = std::max(kind.hardware_threads_per_core, threads);
        }
        if (!kind.cpus.empty()) machine.kinds.push_back(std::move(kind));
    }
}

void take_frequencies(const file_tree& files, machine_record& machine) {
    for (cpu_record& cpu : machine.cpus) {
        const std::string folder = detail::cpu_folder(cpu.cpu);
        const auto kilohertz = files.integer(folder + "cpufreq/cpuinfo_max_freq");
        if (kilohertz) cpu.max_hertz = detail::as_double(*kilohertz) * 1e3;
        const auto capacity = files.integer(folder + "cpu_capacity");
        if (capacity) cpu.capacity = static_cast<int>(*capacity);
    }
}

}  // namespace

const cpu_record* machine_record::find_cpu(int cpu) const noexcept {
    const auto found =
        std::lower_bound(cpus.begin(), cpus.end(), cpu,
                         [](const cpu_record& record, int number) { return record.cpu < number; });
    return found != cpus.end() && found->cpu == cpu ? &*found : nullptr;
}

machine_record read_machine(const machine_options& options) {
    const file_tree files(options.root);
    machine_record machine;
    detail::topology topology = detail::read_topology(files);
    machine.cpus = std::move(topology.cpus);
    machine.caches = std::move(topology.caches);
    machine.numa = std::move(topology.numa);
    take_frequencies(files, machine);
    take_kinds(files, topology, machine);
    take_limits(files, machine);
    read_memory(files, machine);
    return machine;
}

}  // namespace tauto
