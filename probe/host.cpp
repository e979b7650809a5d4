#include "probe/host.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "kernels/read_number.hpp"
#include "probe/meters.hpp"
#include "runtime/machine_files.hpp"
#include "runtime/machine_kinds.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace tauto::probe {
namespace {

using detail::file_tree;
using detail::split;
using detail::trimmed;

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
    const auto flags = detail::value_of_line(cpuinfo, {"flags", "Features"}).value_or("");
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

// A virtual machine may be started from a container image: it has the signs of a container, but its root is a
// disk.
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
        const auto factor = to_number(rest);
        if (!cpu || *cpu < 0 || !factor || !(*factor >= 1)) {
            throw error(
                "TAUTO_EMULATED is '" + std::string(text) +
                "'; it must read CPU:FACTOR[,...] with factors of 1 and more, as `tauto emulate` sets it");
        }
        slowed.push_back({static_cast<int>(*cpu), *factor});
    }
    return slowed;
}

void read_identity(const file_tree& files, host_record& host) {
    const std::string cpuinfo = files.text("/proc/cpuinfo").value_or("");
    host.cpu_model = detail::value_of_line(cpuinfo, {"model name", "Model", "Hardware", "cpu model"})
                         .value_or("unknown processor");
    utsname system{};
    uname(&system);
    host.architecture = system.machine;
    host.kernel = system.release;
    if (!files.live()) {
        host.architecture = files.text("/proc/sys/kernel/arch").value_or("unknown");
        host.kernel = files.text("/proc/sys/kernel/osrelease").value_or("unknown");
    }
    host.hypervisor = files.live() ? hypervisor_from_cpuid() : std::nullopt;
    if (!host.hypervisor || *host.hypervisor == "unknown") {
        const auto told = hypervisor_from_files(files, cpuinfo);
        if (told) host.hypervisor = told;
    }
    host.container = in_container(files);
    host.name = short_name(host.cpu_model) + (host.hypervisor ? " (VM)" : "");
}

// One word if all CPUs agree, else the different words joined by '/'.
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

void read_clock_policy(const file_tree& files, const machine_record& machine, host_record& host) {
    host.governor = frequency_setting(files, machine, "scaling_governor");
    host.frequency_driver = frequency_setting(files, machine, "scaling_driver");
    host.energy_performance_preference = frequency_setting(files, machine, "energy_performance_preference");
    host.platform_profile = files.text("/sys/firmware/acpi/platform_profile");
    if (const auto off = files.integer("/sys/devices/system/cpu/intel_pstate/no_turbo")) {
        host.turbo = *off == 0;
    } else if (const auto on = files.integer("/sys/devices/system/cpu/cpufreq/boost")) {
        host.turbo = *on != 0;
    }
    if (const auto active = files.integer("/sys/devices/system/cpu/smt/active"))
        host.smt_active = *active != 0;
}

// 64-bit FNV-1a (Fowler, Noll, Vo) of the facts that a reboot, a quota or a new kernel do not change.
std::string identify(const machine_record& machine, const host_record& host) {
    std::string facts = host.cpu_model + '\n' + host.architecture + '\n' + host.hypervisor.value_or("");
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

host_record read_host(const machine_record& machine, const std::filesystem::path& root) {
    const file_tree files(root);
    host_record host;
    read_identity(files, host);
    read_clock_policy(files, machine, host);
    host.emulated = parse_emulated(std::getenv("TAUTO_EMULATED"));
    host.counters = read_counters(files, host.hypervisor, host.container);
    host.energy_meters = read_energy_meters(files, host.hypervisor);
    host.energy = judge_energy(host.energy_meters, host.hypervisor, host.container);
    host.machine = identify(machine, host);
    return host;
}

}  // namespace tauto::probe
