// Selections of CPUs written as text, and the CPUs that a team uses by default.

#include "machine_select.hpp"

#include <algorithm>
#include <string>

#include <tauto/machine.hpp>

#include "machine_files.hpp"
#include "machine_kinds.hpp"
#include "machine_limits.hpp"
#include "machine_topology.hpp"

namespace tauto {
namespace {

using detail::candidate;

std::vector<int> all_cpus(const machine_record& machine) {
    std::vector<int> cpus;
    for (const cpu_record& cpu : machine.cpus) cpus.push_back(cpu.cpu);
    return cpus;
}

std::vector<int> ordered(const machine_record& machine, const std::vector<int>& cpus) {
    std::vector<candidate> candidates;
    for (const int number : cpus) {
        const cpu_record& cpu = *machine.find_cpu(number);
        candidates.push_back({number, detail::kind_rank(cpu.kind), cpu.package, cpu.smt_siblings});
    }
    return detail::in_order_of_use(std::move(candidates));
}

std::vector<int> cut(std::vector<int> cpus, int most) {
    if (cpus.size() > detail::usize(most)) cpus.resize(detail::usize(most));
    return cpus;
}

std::vector<int> one_thread_a_core(const machine_record& machine) {
    std::vector<int> cores_seen;
    std::vector<int> cpus;
    for (const int number : ordered(machine, machine.allowed_cpus)) {
        const int core = machine.find_cpu(number)->core;
        if (std::find(cores_seen.begin(), cores_seen.end(), core) != cores_seen.end()) continue;
        cores_seen.push_back(core);
        cpus.push_back(number);
    }
    return cpus;
}

std::string why_not_allowed(const machine_record& machine, int cpu) {
    if (!detail::contains(machine.affinity, cpu)) return "this process's affinity mask leaves it out";
    if (machine.cpuset && !detail::contains(*machine.cpuset, cpu)) {
        return "the cpuset leaves it out (" + machine.cpuset_source + ")";
    }
    return "the system does not offer it to this process";
}

std::string asked(std::string_view selection) {
    return "CPU selection '" + std::string(selection) + "': ";
}

void check_cpu(const machine_record& machine, std::string_view selection, int cpu) {
    const cpu_record* const record = machine.find_cpu(cpu);
    if (record == nullptr && detail::contains(machine.offline_cpus, cpu)) {
        throw error(asked(selection) + "CPU " + std::to_string(cpu) + " is offline; allowed are " +
                    cpu_list_text(machine.allowed_cpus));
    }
    if (record == nullptr) {
        throw error(asked(selection) + "CPU " + std::to_string(cpu) + " does not exist; this machine has " +
                    cpu_list_text(all_cpus(machine)));
    }
    if (!record->allowed) {
        throw error(asked(selection) + "CPU " + std::to_string(cpu) + " is not allowed, because " +
                    why_not_allowed(machine, cpu) + "; allowed are " + cpu_list_text(machine.allowed_cpus));
    }
}

std::string words(const machine_record& machine) {
    std::string found = "all, cores, ";
    for (const kind_record& kind : machine.kinds) {
        if (kind.kind != "core") found += kind.kind + ", " + kind.kind + ":N, ";
    }
    return found + "and CPU numbers from " + cpu_list_text(all_cpus(machine));
}

// The CPUs of a kind, or as many of them as the word says.
std::vector<int> of_kind(const machine_record& machine, std::string_view selection, std::string_view item) {
    const std::size_t colon = item.find(':');
    const std::string kind(item.substr(0, colon));
    std::vector<int> cpus;
    bool known = false;
    for (const cpu_record& cpu : machine.cpus) {
        if (cpu.kind != kind) continue;
        known = true;
        if (cpu.allowed) cpus.push_back(cpu.cpu);
    }
    if (!known || kind == "core") {
        const bool equal = (kind == "P" || kind == "E" || kind == "LP") && machine.kinds.size() == 1;
        throw error(asked(selection) + "'" + std::string(item) + "' names nothing on this machine" +
                    (equal ? ", whose cores are all of one kind" : "") + "; it has " + words(machine));
    }
    if (cpus.empty()) {
        throw error(asked(selection) + "no CPU of kind " + kind + " is allowed; allowed are " +
                    cpu_list_text(machine.allowed_cpus));
    }
    if (colon == std::string_view::npos) return cpus;
    const auto count = detail::to_integer(item.substr(colon + 1));
    if (!count || *count < 1 || *count > std::ssize(cpus)) {
        throw error(asked(selection) + "'" + std::string(item) + "' needs a number from 1 to " +
                    std::to_string(cpus.size()) + " after the colon, as many CPUs of kind " + kind +
                    " as are allowed (" + cpu_list_text(cpus) + ")");
    }
    return cut(ordered(machine, cpus), static_cast<int>(*count));
}

std::vector<int> of_item(const machine_record& machine, std::string_view selection, std::string_view item) {
    if (item == "all") return cut(ordered(machine, machine.allowed_cpus), machine.usable_members);
    if (item == "cores") return cut(one_thread_a_core(machine), machine.usable_members);
    if (item.empty()) {
        throw error(asked(selection) +
                    (selection.empty() ? "it is empty" : "there is nothing between two commas") +
                    "; this machine has " + words(machine));
    }
    const auto cpus = detail::to_cpu_list(item);
    if (!cpus) return of_kind(machine, selection, item);
    for (const int cpu : *cpus) check_cpu(machine, selection, cpu);
    return *cpus;
}

}  // namespace

std::vector<int> detail::usable_cores(const file_tree& files, const limits& allowed) {
    if (allowed.allowed.empty()) return {};
    cpu_kinds kinds = read_kinds(files, allowed.online);
    if (kinds.of.empty() && files.live() && is_hybrid_processor()) kinds = read_topology(files).kinds;
    std::vector<candidate> candidates;
    for (const int cpu : allowed.allowed) {
        const std::string topology = cpu_folder(cpu) + "topology/";
        const auto package = files.integer(topology + "physical_package_id");
        auto siblings = files.cpu_list(topology + "thread_siblings_list");
        candidates.push_back({cpu, kind_rank(kinds.kind(cpu)), static_cast<int>(package.value_or(0)),
                              std::move(siblings).value_or(std::vector<int>{})});
    }
    std::vector<int> cores;
    std::vector<int> threads_seen;
    for (const int cpu : in_order_of_use(candidates)) {
        if (std::find(threads_seen.begin(), threads_seen.end(), cpu) != threads_seen.end()) continue;
        cores.push_back(cpu);
        const auto own = std::find_if(candidates.begin(), candidates.end(),
                                      [cpu](const candidate& one) { return one.cpu == cpu; });
        threads_seen.insert(threads_seen.end(), own->siblings.begin(), own->siblings.end());
    }
    return cut(std::move(cores), allowed.usable_members);
}

std::vector<int> select_cpus(const machine_record& machine, std::string_view selection) {
    std::vector<int> chosen;
    for (const std::string_view item : detail::split(selection, ',')) {
        for (const int cpu : of_item(machine, selection, detail::trimmed(item))) chosen.push_back(cpu);
    }
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    return ordered(machine, chosen);
}

std::vector<int> allowed_cpus() {
    return detail::read_limits(detail::file_tree("/")).allowed;
}

int usable_members() {
    return detail::read_limits(detail::file_tree("/")).usable_members;
}

std::vector<int> usable_cores(const machine_options& options) {
    const detail::file_tree files(options.root);
    return detail::usable_cores(files, detail::read_limits(files));
}

std::string cpu_list_text(const std::vector<int>& cpus) {
    std::vector<int> sorted = cpus;
    std::sort(sorted.begin(), sorted.end());
    std::string text;
    for (std::size_t i = 0; i < sorted.size();) {
        std::size_t last = i;
        while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
        if (!text.empty()) text += ',';
        text += std::to_string(sorted[i]);
        if (last > i) text += '-' + std::to_string(sorted[last]);
        i = last + 1;
    }
    return text.empty() ? "none" : text;
}

}  // namespace tauto
