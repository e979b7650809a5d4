#include "probe/json.hpp"

#include <nlohmann/json.hpp>

namespace tauto::probe {
namespace {

using json = nlohmann::ordered_json;

template <class T>
json or_null(const std::optional<T>& value) {
    return value ? json(*value) : json(nullptr);
}

json or_null(const std::string& text) {
    return text.empty() ? json(nullptr) : json(text);
}

// Rates, times and factors: a probe without samples writes null.
json positive(double value) {
    return value > 0 ? json(value) : json(nullptr);
}

template <class Items, class Function>
json each(const Items& items, Function&& function) {
    json list = json::array();
    for (const auto& item : items) list.push_back(function(item));
    return list;
}

json of_cpu(const cpu_record& cpu) {
    return {{"cpu", cpu.cpu},
            {"core", cpu.core},
            {"package", cpu.package},
            {"numa", cpu.numa},
            {"kind", cpu.kind},
            {"smt_siblings", cpu.smt_siblings},
            {"capacity", or_null(cpu.capacity)},
            {"max_hertz", or_null(cpu.max_hertz)},
            {"allowed", cpu.allowed},
            {"l1d_bytes", or_null(cpu.l1d_bytes)},
            {"l2_bytes", or_null(cpu.l2_bytes)},
            {"l3_bytes", or_null(cpu.l3_bytes)}};
}

json of_kind(const kind_record& kind) {
    return {{"kind", kind.kind},
            {"cpus", kind.cpus},
            {"hardware_threads_per_core", kind.hardware_threads_per_core}};
}

json of_cache(const cache_record& cache) {
    return {{"level", cache.level},
            {"type", cache.type},
            {"size_bytes", cache.size_bytes},
            {"line_bytes", cache.line_bytes},
            {"cpus", cache.cpus}};
}

json of_node(const numa_record& node) {
    return {{"node", node.node}, {"cpus", node.cpus}, {"memory_bytes", node.memory_bytes}};
}

json of_state(const availability& state) {
    return {{"status", state.status}, {"reason", or_null(state.reason)}, {"remedy", or_null(state.remedy)}};
}

json of_meter(const energy_meter& meter) {
    json object = {{"name", meter.name}, {"source", meter.source}, {"path", meter.path}};
    object.update(of_state(meter.state));
    return object;
}

json of_measured_cpu(const cpu_measurement& cpu) {
    return {{"cpu", cpu.cpu},
            {"compute_per_second", positive(cpu.compute_per_second)},
            {"hash_bytes_per_second", positive(cpu.hash_bytes_per_second)},
            {"cache_bytes_per_second", positive(cpu.cache_bytes_per_second)},
            {"memory_bytes_per_second", positive(cpu.memory_bytes_per_second)},
            {"noise_largest_gap_seconds", positive(cpu.noise_largest_gap_seconds)},
            {"noise_p99_gap_seconds", positive(cpu.noise_p99_gap_seconds)},
            {"steal_fraction", or_null(cpu.steal_fraction)}};
}

json of_measurements(const measurements& m) {
    json latencies = each(m.latency_seconds, [](const auto& row) {
        return each(row, [](const std::optional<double>& cell) { return or_null(cell); });
    });
    json wake = nullptr;
    if (m.futex_wake) {
        wake = {{"waker", positive(m.futex_wake->waker_seconds)},
                {"wakee", positive(m.futex_wake->wakee_seconds)}};
    }
    json object = {{"when", m.when}, {"effort", m.effort}, {"elapsed_seconds", m.elapsed_seconds}};
    object["cpus"] = each(m.cpus, of_measured_cpu);
    object["triad"] = each(m.triad, [](const triad_point& point) -> json {
        return {{"members", point.members}, {"bytes_per_second", positive(point.bytes_per_second)}};
    });
    object["triad_array_bytes"] = m.triad_array_bytes;
    object["reads"] = each(m.reads, [](const read_point& point) -> json {
        return {{"kind", point.kind.empty() ? json(nullptr) : json(point.kind)},
                {"members", point.members},
                {"rows_at_once", point.rows_at_once},
                {"bytes", point.bytes},
                {"pause_seconds", point.pause_seconds},
                {"bytes_per_second", positive(point.bytes_per_second)}};
    });
    object["streams"] = each(m.streams, [](const stream_point& point) -> json {
        return {{"streams", point.streams},
                {"spacing_bytes", point.spacing_bytes > 0 ? json(point.spacing_bytes) : json(nullptr)},
                {"bytes_per_second", positive(point.bytes_per_second)}};
    });
    object["counted_lines"] = each(m.counted, [](const counted_lines& lines) -> json {
        return {{"event", lines.event}, {"sequential", lines.sequential}, {"scattered", lines.scattered}};
    });
    object["latency_seconds"] = std::move(latencies);
    object["round_trip_seconds"] = or_null(m.round_trip_seconds);
    object["fork_join_members"] = m.fork_join_members > 0 ? json(m.fork_join_members) : json(nullptr);
    object["fork_join_seconds"] = {{"tautochrone", or_null(m.tautochrone_fork_join.hot)},
                                   {"libgomp", or_null(m.libgomp_fork_join.hot)},
                                   {"libomp", or_null(m.libomp_fork_join.hot)}};
    object["fork_join_cold_seconds"] = {{"tautochrone", or_null(m.tautochrone_fork_join.cold)},
                                        {"libgomp", or_null(m.libgomp_fork_join.cold)},
                                        {"libomp", or_null(m.libomp_fork_join.cold)}};
    object["dequeue_seconds"] = {{"libgomp", or_null(m.libgomp_dequeue_seconds)},
                                 {"libomp", or_null(m.libomp_dequeue_seconds)}};
    object["barrier_seconds"] = or_null(m.barrier_seconds);
    object["futex_wake_seconds"] = std::move(wake);
    object["moves"] = each(m.moves, [](const move_point& point) -> json {
        return {{"from", point.from}, {"to", point.to}, {"bytes", point.bytes}, {"seconds", point.seconds}};
    });
    object["notes"] = m.notes;
    return object;
}

json of_emulation(const std::vector<slowed_cpu>& slowed) {
    if (slowed.empty()) return nullptr;
    return each(slowed, [](const slowed_cpu& cpu) -> json {
        return {{"cpu", cpu.cpu}, {"factor", cpu.factor}};
    });
}

}  // namespace

json to_json(const machine_record& machine, const host_record& host,
             const std::optional<measurements>& measured) {
    json object = {{"schema", "tautochrone.machine/1"}, {"machine", host.machine}, {"name", host.name}};
    object["cpu_model"] = host.cpu_model;
    object["architecture"] = host.architecture;
    object["kernel"] = host.kernel;
    object["hypervisor"] = or_null(host.hypervisor);
    object["container"] = host.container;
    object["emulated"] = of_emulation(host.emulated);
    object["cpus"] = each(machine.cpus, of_cpu);
    object["kinds"] = each(machine.kinds, of_kind);
    object["kind_source"] = or_null(machine.kind_source);
    object["caches"] = each(machine.caches, of_cache);
    object["numa"] = each(machine.numa, of_node);
    object["allowed_cpus"] = machine.allowed_cpus;
    object["offline_cpus"] = machine.offline_cpus;
    object["quota_cpus"] = or_null(machine.quota_cpus);
    object["quota_source"] = or_null(machine.quota_source);
    object["cpuset"] = or_null(machine.cpuset);
    object["cpuset_source"] = or_null(machine.cpuset_source);
    object["usable_members"] = machine.usable_members;
    object["memory_bytes"] = machine.memory_bytes;
    object["available_memory_bytes"] = machine.available_memory_bytes;
    object["memory_limit_bytes"] = or_null(machine.memory_limit_bytes);
    object["governor"] = or_null(host.governor);
    object["frequency_driver"] = or_null(host.frequency_driver);
    object["energy_performance_preference"] = or_null(host.energy_performance_preference);
    object["platform_profile"] = or_null(host.platform_profile);
    object["turbo"] = or_null(host.turbo);
    object["smt_active"] = or_null(host.smt_active);
    object["counters"] = of_state(host.counters);
    object["energy_meters"] = each(host.energy_meters, of_meter);
    object["energy"] = of_state(host.energy);
    object["measured"] = measured ? of_measurements(*measured) : json(nullptr);
    return object;
}

}  // namespace tauto::probe
