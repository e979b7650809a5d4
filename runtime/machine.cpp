#include <tauto/machine.hpp>

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

#include "machine_files.hpp"
#include "machine_kinds.hpp"
#include "machine_limits.hpp"
#include "machine_meters.hpp"
#include "machine_topology.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace tauto {
namespace {

using detail::file_tree;
using detail::split;
using detail::trimmed;

// The value of the first "key : value" line of /proc/cpuinfo that has one of these keys.
std::optional<std::string> cpuinfo_value(std::string_view cpuinfo,
                                         std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
        for (const std::string_view line : split(cpuinfo, '\n')) {
            const std::size_t colon = line.find(':');
            if (colon == std::string_view::npos || trimmed(line.substr(0, colon)) != key) continue;
            const std::string_view value = trimmed(line.substr(colon + 1));
            if (!value.empty()) return std::string(value);
        }
    }
    return std::nullopt;
}

std::string erased(std::string text, std::string_view part) {
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part))
        text.erase(at, part.size());
    return text;
}

// "Intel(R) Xeon(R) CPU E5-2690 @ 2.90GHz" reads "Intel Xeon E5-2690".
std::string short_name(const std::string& model) {
    std::string name = model.substr(0, model.find(" @ "));
    for (const std::string_view noise : {"(R)", "(TM)", "(r)", "(tm)", " CPU", " Processor"})
        name = erased(name, noise);
    std::string spaced;
    for (const char c : name) {
        if (c != ' ' || (!spaced.empty() && spaced.back() != ' ')) spaced += c;
    }
    return std::string(trimmed(spaced));
}

std::optional<std::string> hypervisor_from_cpuid() {
#if defined(__x86_64__) || defined(__i386__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & (1U << 31)) == 0) return std::nullopt;
    __cpuid(0x40000000U, a, b, c, d);
    std::array<char, 12> bytes{};
    std::memcpy(bytes.data(), &b, 4);
    std::memcpy(bytes.data() + 4, &c, 4);
    std::memcpy(bytes.data() + 8, &d, 4);
    const std::string signature(trimmed(std::string_view(bytes.data(), bytes.size())));
    constexpr std::array<std::pair<std::string_view, std::string_view>, 8> known = {
        {{"KVMKVMKVM", "kvm"},
         {"Microsoft Hv", "hyperv"},
         {"VMwareVMware", "vmware"},
         {"XenVMMXenVMM", "xen"},
         {"TCGTCGTCGTCG", "qemu"},
         {"bhyve bhyve", "bhyve"},
         {"VBoxVBoxVBox", "virtualbox"},
         {"ACRNACRNACRN", "acrn"}}};
    for (const auto& [text, name] : known) {
        if (signature == text) return std::string(name);
    }
    return "unknown";
#else
    return std::nullopt;
#endif
}

std::optional<std::string> hypervisor_from_files(const file_tree& files, const std::string& cpuinfo) {
    const auto flags = cpuinfo_value(cpuinfo, {"flags", "Features"}).value_or("");
    const auto words = split(flags, ' ');
    const auto vendor = files.text("/sys/class/dmi/id/sys_vendor").value_or("");
    const auto product = files.text("/sys/class/dmi/id/product_name").value_or("");
    const auto clocks =
        files.text("/sys/devices/system/clocksource/clocksource0/available_clocksource").value_or("");
    const auto kernel_knows = files.text("/sys/hypervisor/type");
    if (kernel_knows) return kernel_knows;
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> makers = {
        {{"QEMU", "kvm"},
         {"Amazon EC2", "kvm"},
         {"Google", "kvm"},
         {"VMware", "vmware"},
         {"innotek", "virtualbox"}}};
    const bool flagged = std::find(words.begin(), words.end(), "hypervisor") != words.end();
    const bool x86 = cpuinfo.find("vendor_id") != std::string::npos;
    // Amazon and Google make bare-metal machines as well; on x86 the flag decides.
    if (x86 && !flagged) return std::nullopt;
    for (const auto& [maker, name] : makers) {
        if (vendor.find(maker) != std::string::npos && (flagged || maker == "QEMU")) return std::string(name);
    }
    if (vendor.find("Microsoft") != std::string::npos && product.find("Virtual") != std::string::npos)
        return "hyperv";
    if (clocks.find("kvm-clock") != std::string::npos) return "kvm";
    if (clocks.find("hyperv") != std::string::npos) return "hyperv";
    if (clocks.find("xen") != std::string::npos) return "xen";
    return flagged ? std::optional<std::string>("unknown") : std::nullopt;
}

// A virtual machine may be started from a container's image: its marks are there, but the root is a disk.
bool root_is_a_disk(const file_tree& files) {
    const auto mounts = files.text("/proc/self/mountinfo").value_or("");
    for (const std::string_view line : split(mounts, '\n')) {
        const std::size_t dash = line.find(" - ");
        const auto before = split(line.substr(0, dash), ' ');
        if (dash == std::string_view::npos || before.size() < 5 || before[3] != "/" || before[4] != "/")
            continue;
        const auto after = split(line.substr(dash + 3), ' ');
        return after.size() > 1 && after[1].substr(0, 5) == "/dev/";
    }
    return false;
}

bool in_container(const file_tree& files) {
    const bool marked = files.exists("/.dockerenv") || files.exists("/run/.containerenv");
    if (marked && !root_is_a_disk(files)) return true;
    const auto groups =
        files.text("/proc/1/cgroup").value_or("") + files.text("/proc/self/cgroup").value_or("");
    for (const std::string_view sign :
         {"/docker/", "/kubepods", "/lxc/", "/libpod-", "docker-", "cri-containerd"}) {
        if (groups.find(sign) != std::string::npos) return true;
    }
    return false;
}

std::vector<slowed_cpu> parse_emulated(const char* text) {
    std::vector<slowed_cpu> slowed;
    if (text == nullptr || *text == '\0') return slowed;
    for (const std::string_view item : split(text, ',')) {
        const std::size_t colon = item.find(':');
        const auto cpu = detail::to_integer(item.substr(0, colon));
        const std::string_view rest = colon == std::string_view::npos ? "" : item.substr(colon + 1);
        double factor = 0;
        const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), factor);
        if (!cpu || *cpu < 0 || failure != std::errc{} || end != rest.data() + rest.size() ||
            !(factor >= 1)) {
            throw error(
                "TAUTO_EMULATED is '" + std::string(text) +
                "'; it must read CPU:FACTOR[,...] with factors of 1 and more, as `tauto emulate` sets it");
        }
        slowed.push_back({static_cast<int>(*cpu), factor});
    }
    return slowed;
}

void read_identity(const file_tree& files, machine_record& machine) {
    const std::string cpuinfo = files.text("/proc/cpuinfo").value_or("");
    machine.cpu_model = cpuinfo_value(cpuinfo, {"model name", "Model", "Hardware", "cpu model"})
                            .value_or("unknown processor");
    utsname system{};
    uname(&system);
    machine.architecture = system.machine;
    machine.kernel = system.release;
    if (!files.live()) {
        machine.architecture = files.text("/proc/sys/kernel/arch").value_or("unknown");
        machine.kernel = files.text("/proc/sys/kernel/osrelease").value_or("unknown");
    }
    machine.hypervisor = files.live() ? hypervisor_from_cpuid() : std::nullopt;
    if (!machine.hypervisor || *machine.hypervisor == "unknown") {
        const auto told = hypervisor_from_files(files, cpuinfo);
        if (told) machine.hypervisor = told;
    }
    machine.container = in_container(files);
    machine.name = short_name(machine.cpu_model) + (machine.hypervisor ? " (VM)" : "");
}

void read_memory(const file_tree& files, machine_record& machine) {
    const std::string meminfo = files.text("/proc/meminfo").value_or("");
    const auto kilobytes = [&](std::string_view key) {
        const std::string value = cpuinfo_value(meminfo, {key}).value_or("0 kB");
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

// One word where all CPUs agree, else the different words joined by '/'.
std::optional<std::string> frequency_setting(const file_tree& files, const machine_record& machine,
                                             std::string_view file) {
    std::vector<std::string> seen;
    for (const cpu_record& cpu : machine.cpus) {
        const auto word = files.text(detail::cpu_folder(cpu.cpu) + "cpufreq/" + std::string(file));
        if (word && std::find(seen.begin(), seen.end(), *word) == seen.end()) seen.push_back(*word);
    }
    if (seen.empty()) return std::nullopt;
    std::string joined = seen.front();
    for (std::size_t i = 1; i < seen.size(); ++i) joined += "/" + seen[i];
    return joined;
}

void read_frequency_policy(const file_tree& files, machine_record& machine) {
    machine.governor = frequency_setting(files, machine, "scaling_governor");
    machine.frequency_driver = frequency_setting(files, machine, "scaling_driver");
    machine.energy_performance_preference =
        frequency_setting(files, machine, "energy_performance_preference");
    machine.platform_profile = files.text("/sys/firmware/acpi/platform_profile");
    if (const auto off = files.integer("/sys/devices/system/cpu/intel_pstate/no_turbo")) {
        machine.turbo = *off == 0;
    } else if (const auto on = files.integer("/sys/devices/system/cpu/cpufreq/boost")) {
        machine.turbo = *on != 0;
    }
    if (const auto active = files.integer("/sys/devices/system/cpu/smt/active"))
        machine.smt_active = *active != 0;
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
            const int threads = static_cast<int>(cpu.smt_siblings.size()) + 1;
            kind.hardware_threads_per_core = std::max(kind.hardware_threads_per_core, threads);
        }
        if (!kind.cpus.empty()) machine.kinds.push_back(std::move(kind));
    }
}

void take_frequencies(const file_tree& files, machine_record& machine) {
    for (cpu_record& cpu : machine.cpus) {
        const std::string folder = detail::cpu_folder(cpu.cpu);
        const auto kilohertz = files.integer(folder + "cpufreq/cpuinfo_max_freq");
        if (kilohertz) cpu.max_hertz = static_cast<double>(*kilohertz) * 1e3;
        const auto capacity = files.integer(folder + "cpu_capacity");
        if (capacity) cpu.capacity = static_cast<int>(*capacity);
    }
}

// 64-bit FNV-1a (Fowler, Noll, Vo) of the facts that a reboot, a quota or a new kernel leave alone.
std::string identify(const machine_record& machine) {
    std::string facts =
        machine.cpu_model + '\n' + machine.architecture + '\n' + machine.hypervisor.value_or("");
    for (const cpu_record& cpu : machine.cpus) {
        facts += '\n' + cpu_list_text({cpu.cpu}) + ' ' + std::to_string(cpu.core) + ' ' +
                 std::to_string(cpu.package) + ' ' + std::to_string(cpu.numa) + ' ' + cpu.kind;
    }
    for (const cache_record& cache : machine.caches) {
        facts += '\n' + std::to_string(cache.level) + cache.type + std::to_string(cache.size_bytes);
    }
    std::uint64_t hash = 14695981039346656037ULL;
    for (const char c : facts) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    std::string digits(12, '0');
    for (std::size_t i = digits.size(); i-- > 0; hash >>= 4) digits[i] = "0123456789abcdef"[hash & 15];
    return digits;
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
    read_identity(files, machine);
    take_frequencies(files, machine);
    take_kinds(files, topology, machine);
    take_limits(files, machine);
    read_memory(files, machine);
    read_frequency_policy(files, machine);
    machine.emulated = parse_emulated(std::getenv("TAUTO_EMULATED"));
    machine.counters = detail::read_counters(files, machine.hypervisor, machine.container);
    machine.energy_meters = detail::read_energy_meters(files, machine.hypervisor);
    machine.energy = detail::judge_energy(machine.energy_meters, machine.hypervisor, machine.container);
    machine.machine = identify(machine);
    return machine;
}

}  // namespace tauto
