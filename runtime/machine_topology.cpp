#include "machine_topology.hpp"

#include <hwloc.h>
#include <hwloc/cpukinds.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace tauto::detail {
namespace {

// Sets an environment variable and puts the old value back. hwloc reads another root than "/" from
// the environment alone.
class scoped_variable {
  public:
    scoped_variable(std::string name, const std::string& value) : name_(std::move(name)) {
        if (const char* const old = std::getenv(name_.c_str())) old_ = old;
        setenv(name_.c_str(), value.c_str(), 1);
    }
    ~scoped_variable() {
        if (old_) {
            setenv(name_.c_str(), old_->c_str(), 1);
        } else {
            unsetenv(name_.c_str());
        }
    }
    scoped_variable(const scoped_variable&) = delete;
    scoped_variable& operator=(const scoped_variable&) = delete;

  private:
    std::string name_;
    std::optional<std::string> old_;
};

struct destroyer {
    void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using topology_pointer = std::unique_ptr<hwloc_topology, destroyer>;

topology_pointer load_here() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0)
        throw error("hwloc cannot start; see HWLOC_COMPONENTS in the environment");
    topology_pointer topology(raw);
    hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(raw, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_NONE);
    if (hwloc_topology_load(raw) != 0) throw error("hwloc cannot read the topology of this machine");
    return topology;
}

topology_pointer load(const file_tree& files) {
    if (files.live()) return load_here();
    if (!files.exists("/sys/devices/system/cpu")) {
        throw error("no machine is described below " + files.root().string() +
                    ": sys/devices/system/cpu is missing; name the folder that holds sys and proc");
    }
    static std::mutex environment;
    const std::lock_guard lock(environment);
    const scoped_variable root("HWLOC_FSROOT", std::filesystem::absolute(files.root()).string());
    // Only files: the x86 component would ask the processor that we run on.
    const scoped_variable components("HWLOC_COMPONENTS", "linux,stop");
    const scoped_variable other("HWLOC_THISSYSTEM", "0");
    return load_here();
}

std::vector<int> to_vector(hwloc_const_bitmap_t set) {
    std::vector<int> numbers;
    if (set == nullptr || hwloc_bitmap_weight(set) < 0) return numbers;
    for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i)) numbers.push_back(i);
    return numbers;
}

int logical_index_above(hwloc_topology_t topology, hwloc_obj_t pu, hwloc_obj_type_t type) {
    const hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(topology, type, pu);
    return found == nullptr ? 0 : static_cast<int>(found->logical_index);
}

std::optional<std::int64_t> cache_above(hwloc_topology_t topology, hwloc_obj_t pu, hwloc_obj_type_t type) {
    const hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(topology, type, pu);
    if (found == nullptr || found->attr->cache.size == 0) return std::nullopt;
    return static_cast<std::int64_t>(found->attr->cache.size);
}

cpu_record cpu_from(hwloc_topology_t topology, hwloc_obj_t pu) {
    cpu_record record;
    record.cpu = static_cast<int>(pu->os_index);
    record.core = logical_index_above(topology, pu, HWLOC_OBJ_CORE);
    record.package = logical_index_above(topology, pu, HWLOC_OBJ_PACKAGE);
    record.numa = std::max(0, hwloc_bitmap_first(pu->nodeset));
    if (const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu)) {
        record.smt_siblings = to_vector(core->cpuset);
        std::erase(record.smt_siblings, record.cpu);
    } else {
        record.core = static_cast<int>(pu->logical_index);
    }
    record.l1d_bytes = cache_above(topology, pu, HWLOC_OBJ_L1CACHE);
    record.l2_bytes = cache_above(topology, pu, HWLOC_OBJ_L2CACHE);
    record.l3_bytes = cache_above(topology, pu, HWLOC_OBJ_L3CACHE);
    return record;
}

void add_caches(hwloc_topology_t topology, hwloc_obj_type_t type, std::vector<cache_record>& caches) {
    for (hwloc_obj_t cache = nullptr;
         (cache = hwloc_get_next_obj_by_type(topology, type, cache)) != nullptr;) {
        const auto& attributes = cache->attr->cache;
        const char* const kind = attributes.type == HWLOC_OBJ_CACHE_DATA          ? "data"
                                 : attributes.type == HWLOC_OBJ_CACHE_INSTRUCTION ? "instruction"
                                                                                  : "unified";
        caches.push_back({static_cast<int>(attributes.depth), kind,
                          static_cast<std::int64_t>(attributes.size), static_cast<int>(attributes.linesize),
                          to_vector(cache->cpuset)});
    }
}

void add_numa(hwloc_topology_t topology, std::vector<numa_record>& nodes) {
    for (hwloc_obj_t node = nullptr;
         (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node));) {
        nodes.push_back({static_cast<int>(node->os_index), to_vector(node->cpuset),
                         static_cast<std::int64_t>(node->attr->numanode.local_memory)});
    }
}

// hwloc asks CPUID on each CPU; that works in virtual machines that hide the kernel's list of PMUs.
cpu_kinds kinds_by_core_type(hwloc_topology_t topology) {
    cpu_kinds kinds;
    bool different = false;
    const int count = hwloc_cpukinds_get_nr(topology, 0);
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    for (int kind = 0; kind < count; ++kind) {
        unsigned infos = 0;
        hwloc_info_s* info = nullptr;
        if (hwloc_cpukinds_get_info(topology, static_cast<unsigned>(kind), set, nullptr, &infos, &info, 0) !=
            0)
            break;
        for (unsigned i = 0; i < infos; ++i) {
            if (std::string_view(info[i].name) != "CoreType") continue;
            const char* const name = std::string_view(info[i].value) == "IntelAtom" ? "E" : "P";
            for (const int cpu : to_vector(set)) kinds.of[cpu] = name;
            different = different || kinds.of.begin()->second != name;
        }
    }
    hwloc_bitmap_free(set);
    if (!different) return {};
    kinds.source = "hwloc CoreType";
    return kinds;
}

}  // namespace

topology read_topology(const file_tree& files) {
    const topology_pointer loaded = load(files);
    hwloc_topology_t raw = loaded.get();
    topology found;
    for (hwloc_obj_t pu = nullptr; (pu = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_PU, pu)) != nullptr;) {
        found.cpus.push_back(cpu_from(raw, pu));
    }
    if (found.cpus.empty()) {
        throw error("no CPU is described below " + files.root().string() +
                    "; its sys/devices/system/cpu is incomplete");
    }
    std::sort(found.cpus.begin(), found.cpus.end(),
              [](const cpu_record& a, const cpu_record& b) { return a.cpu < b.cpu; });
    for (const hwloc_obj_type_t type :
         {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L1ICACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE}) {
        add_caches(raw, type, found.caches);
    }
    add_numa(raw, found.numa);
    found.kinds = kinds_by_core_type(raw);
    return found;
}

}  // namespace tauto::detail
