#include "machine.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace tauto::sim {

namespace {

core_kind read_kind(const fields& in) {
    core_kind kind;
    in.need("kind", kind.name);
    in.need("cores", kind.cores);
    in.need("hardware_threads_per_core", kind.threads_per_core);
    in.need("turbo_hertz", kind.turbo_hertz);
    in.need("turbo_spread", kind.turbo_spread);
    in.need("min_hertz", kind.min_hertz);
    in.need("smt_yield", kind.smt_yield);
    in.need("stream_cycles_per_byte", kind.stream_cycles_per_byte);
    in.need("single_row_cycles_per_byte", kind.single_row_cycles_per_byte);
    in.need("chain_cycles_per_byte", kind.chain_cycles_per_byte);
    in.need("chain_smt_yield", kind.chain_smt_yield);
    in.need("single_row_last_level_bytes_per_second", kind.single_row_last_level_bytes_per_second);
    in.need("single_row_memory_bytes_per_second", kind.single_row_memory_bytes_per_second);
    in.need("row_cycles", kind.row_cycles);
    in.need("hash_cycles_per_byte", kind.hash_cycles_per_byte);
    in.need("pair_cycles", kind.pair_cycles);
    in.need("predict_cycles", kind.predict_cycles);
    in.need("correct_cycles", kind.correct_cycles);
    in.need("l2_bytes", kind.l2_bytes);
    in.need("l2_shared_by_cores", kind.l2_shared_by_cores);
    in.need("l2_bytes_per_cycle", kind.l2_bytes_per_cycle);
    in.need("retention", kind.l2_retention.points);
    in.need("core_last_level_bytes_per_second", kind.last_level_bytes_per_second);
    in.need("core_memory_bytes_per_second", kind.memory_bytes_per_second);
    in.need("cluster_memory_bytes_per_second", kind.cluster_memory_bytes_per_second);
    in.need("outstanding_lines", kind.outstanding_lines);
    in.need("state_hertz", kind.state_hertz);
    in.need("state_active_watts", kind.state_active_watts);
    in.need("spinning_share", kind.spinning_share);
    in.need("idle_watts", kind.idle_watts);
    in.need("sleeping_watts", kind.sleeping_watts);
    in.need_seconds("stolen_turn_seconds", kind.stolen_turn);
    in.need("stolen_share", kind.stolen_share);
    in.need("stolen_reading_share", kind.stolen_reading_share);
    return kind;
}

void read_memory(const fields& in, machine& read) {
    in.need("last_level_bytes", read.last_level_bytes);
    in.need("last_level_inclusive", read.last_level_inclusive);
    in.need("last_level_bytes_per_second", read.last_level_bytes_per_second);
    in.need("retention", read.last_level_retention.points);
    in.need("slow_ring_share", read.slow_ring_share);
    in.need("foreign_bytes_per_second", read.foreign_bytes_per_second);
    in.need("line_bytes", read.line_bytes);
    in.need("memory_bytes_per_second", read.memory_bytes_per_second);
    in.need("copy_bytes_per_second", read.copy_bytes_per_second);
}

void read_latency(const fields& in, machine& read) {
    in.need_seconds("line_one_way_seconds", read.line_transfer);
    in.need_seconds("line_between_siblings_seconds", read.line_transfer_siblings);
    in.need_seconds("line_slow_kind_seconds", read.line_transfer_slow);
    in.need_seconds("line_between_packages_seconds", read.line_transfer_packages);
}

void read_costs(const fields& in, machine& read) {
    in.need("members", read.cost_members);
    in.need_seconds("fork_join_seconds", read.fork_join);
    in.need_seconds("fork_join_libgomp_seconds", read.fork_join_libgomp);
    in.need_seconds("fork_join_libomp_seconds", read.fork_join_libomp);
    in.need_seconds("fork_join_cold_seconds", read.fork_join_cold);
    in.need_seconds("fork_join_cold_libgomp_seconds", read.fork_join_cold_libgomp);
    in.need_seconds("fork_join_cold_libomp_seconds", read.fork_join_cold_libomp);
    in.need_seconds("dequeue_libgomp_seconds", read.dequeue_libgomp);
    in.need_seconds("dequeue_libomp_seconds", read.dequeue_libomp);
    in.need_seconds("barrier_seconds", read.barrier);
    in.need_seconds("wake_caller_seconds", read.wake_caller);
    in.need_seconds("wake_sleeper_seconds", read.wake_sleeper);
    in.need_seconds("move_seconds", read.move);
    in.need_seconds("idle_exit_seconds", read.idle_exit);
    in.need_seconds("idle_after_seconds", read.idle_after);
    in.need_seconds("deep_idle_exit_seconds", read.deep_idle_exit);
    in.need_seconds("deep_idle_after_seconds", read.deep_idle_after);
    in.need_seconds("lock_hold_seconds", read.lock_hold);
    in.need_seconds("task_overhead_seconds", read.task_overhead);
}

void read_governor(const fields& in, governor& read) {
    std::string scope;
    in.need("policy", read.rule);
    in.need("scope", scope);
    read.whole_package = scope == "package";
    in.need_seconds("sampling_seconds", read.sampling);
    in.need("headroom", read.headroom);
    in.need("up_utilisation", read.up);
    in.need("down_utilisation", read.down);
}

void read_system(const fields& in, machine& read) {
    in.need("woken_takes_core", read.woken_takes_core);
    in.need_seconds("migration_cost_seconds", read.migration_cost);
    in.need_seconds("quantum_seconds", read.quantum);
    in.need("locked_waits_for_stores", read.locked_waits_for_stores);
    in.need("mutex_handover", read.mutex_handover);
}

void read_noise(const fields& in, noise& read) {
    double rate = 0;
    std::vector<double> seconds;
    in.need("ticks_per_second", rate);
    in.need("tick_seconds", seconds);
    in.need("tick_shares", read.shares);
    if (rate <= 0 || seconds.empty()) return;
    read.period = to_nanoseconds(1 / rate);
    for (const double each : seconds) read.lengths.push_back(to_nanoseconds(each));
    if (*std::max_element(read.lengths.begin(), read.lengths.end()) >= read.period)
        throw input_error(
            "a tick of the longest of tick_seconds outlasts the time to the next one; give "
            "shorter ones, or fewer ticks_per_second");
}

void read_power(const fields& in, machine& read) {
    in.need_watts("uncore_active_watts", read.uncore_active_milliwatts);
    in.need_watts("uncore_idle_watts", read.uncore_idle_milliwatts);
    in.need_watts("platform_watts", read.platform_milliwatts);
}

void read_mpi(const fields& in, machine& read) {
    in.need_seconds("message_latency_seconds", read.message_latency);
    in.need_seconds("message_overhead_seconds", read.message_overhead);
    in.need_seconds("rendezvous_latency_seconds", read.rendezvous_latency);
    in.need("message_bytes_per_second", read.message_bytes_per_second);
    in.need("eager_bytes", read.eager_bytes);
}

}  // namespace

double retention::at(double bytes) const {
    const auto above = std::find_if(points.begin(), points.end(),
                                    [bytes](const auto& point) { return point.first >= bytes; });
    if (above == points.begin()) return above->second;
    if (bytes >= points.back().first) return points.back().second;
    const auto [low, low_share] = *(above - 1);
    const auto [high, high_share] = *above;
    return low_share + (bytes - low) / (high - low) * (high_share - low_share);
}

double core_kind::turbo(int active) const {
    const auto last = static_cast<int>(turbo_hertz.size());
    return turbo_hertz[static_cast<std::size_t>(std::clamp(active, 1, last) - 1)];
}

double core_kind::spread(int core) const {
    const auto place = static_cast<std::size_t>(core);
    return place < turbo_spread.size() ? turbo_spread[place] : 1.0;
}

std::int64_t core_kind::active_milliwatts(double hertz) const {
    double watts = 0;
    if (hertz <= state_hertz.front()) {
        watts = state_active_watts.front() * (hertz / state_hertz.front());
    } else if (hertz >= state_hertz.back()) {
        watts = state_active_watts.back() * (hertz / state_hertz.back());
    } else {
        std::size_t above = 1;
        while (state_hertz[above] < hertz) ++above;
        const double part = (hertz - state_hertz[above - 1]) / (state_hertz[above] - state_hertz[above - 1]);
        watts = state_active_watts[above - 1] +
                part * (state_active_watts[above] - state_active_watts[above - 1]);
    }
    return static_cast<std::int64_t>(watts * 1000 + 0.5);
}

std::int64_t core_kind::spinning_milliwatts(double hertz) const {
    return static_cast<std::int64_t>(static_cast<double>(active_milliwatts(hertz)) * spinning_share + 0.5);
}

int machine::cores() const {
    int sum = 0;
    for (const core_kind& kind : kinds) sum += kind.cores;
    return sum;
}

int machine::hardware_threads() const {
    int sum = 0;
    for (const core_kind& kind : kinds) sum += kind.cores * kind.threads_per_core;
    return sum;
}

nanoseconds machine::transfer(const hardware_thread& from, const hardware_thread& to) const {
    if (from.core == to.core) return line_transfer_siblings;
    const int per_package = std::max(1, cores() / packages);
    if (from.core / per_package != to.core / per_package) return line_transfer_packages;
    return from.kind != 0 || to.kind != 0 ? line_transfer_slow : line_transfer;
}

machine read_machine(const json& source) {
    const fields in(source, "the machine");
    machine read;
    in.need("name", read.name);
    in.need("packages", read.packages);
    for (const json& kind : in.needed("kind")) read.kinds.push_back(read_kind({kind, "a kind of cores"}));
    if (read.kinds.empty()) throw input_error("the machine has no kind of cores; give it at least one");
    if (read.hardware_threads() > 10'000'000)
        throw input_error("the machine has more than 10,000,000 hardware threads; give it fewer cores");
    read_memory(in.table("memory"), read);
    read_latency(in.table("latency"), read);
    read_costs(in.table("costs"), read);
    read_governor(in.table("governor"), read.frequency);
    read_system(in.table("system"), read);
    read_noise(in.table("noise"), read.ticks);
    read_power(in.table("power"), read);
    read_mpi(in.table("mpi"), read);
    return read;
}

std::vector<hardware_thread> hardware_threads(const machine& of) {
    std::vector<hardware_thread> list;
    list.reserve(static_cast<std::size_t>(of.hardware_threads()));
    int most_threads = 1;
    for (const core_kind& kind : of.kinds) most_threads = std::max(most_threads, kind.threads_per_core);
    for (int thread = 0; thread < most_threads; ++thread) {
        int first_core = 0;
        int first_cluster = 0;
        for (std::size_t k = 0; k < of.kinds.size(); ++k) {
            const core_kind& kind = of.kinds[k];
            for (int core = 0; core < kind.cores && thread < kind.threads_per_core; ++core)
                list.push_back({static_cast<int>(k), first_core + core, core, thread,
                                first_cluster + core / kind.l2_shared_by_cores});
            first_core += kind.cores;
            first_cluster += (kind.cores + kind.l2_shared_by_cores - 1) / kind.l2_shared_by_cores;
        }
    }
    return list;
}

int cpu_number(const machine& of, const hardware_thread& one) {
    int before = 0;
    for (int k = 0; k < one.kind; ++k) before += of.kinds[k].cores * of.kinds[k].threads_per_core;
    return before + one.core_of_kind * of.kinds[one.kind].threads_per_core + one.thread;
}

namespace {

// A number of at most seven digits at the beginning of `text`, which it is taken from; -1: none.
int taken_number(std::string_view& text) {
    std::size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
    if (digits == 0 || digits > 7) return -1;
    const int value = std::stoi(std::string(text.substr(0, digits)));
    text.remove_prefix(digits);
    return value;
}

// "0-3,8" as numbers; empty if it is no such list, or names a CPU that is not there.
std::set<int> listed_cpus(std::string_view text, int count) {
    std::set<int> numbers;
    while (!text.empty()) {
        const int first = taken_number(text);
        int last = first;
        if (text.starts_with('-')) {
            text.remove_prefix(1);
            last = taken_number(text);
        }
        if (first < 0 || last < first || last >= count) return {};
        for (int number = first; number <= last; ++number) numbers.insert(number);
        if (text.empty()) break;
        if (text.front() != ',' || text.size() == 1) return {};
        text.remove_prefix(1);
    }
    return numbers;
}

std::vector<hardware_thread> listed(const machine& of, const std::string& placement,
                                    std::vector<hardware_thread> all) {
    const std::set<int> wanted = listed_cpus(placement, of.hardware_threads());
    if (wanted.empty())
        throw input_error("placement '" + placement + "' is no list of CPUs of " + of.name +
                          ", which has CPUs 0 to " + std::to_string(of.hardware_threads() - 1));
    std::erase_if(all, [&](const hardware_thread& one) { return !wanted.contains(cpu_number(of, one)); });
    return all;
}

// Of the named kind: all threads of its first cores, as many as are named after a colon.
std::vector<hardware_thread> of_kind(const machine& of, const std::string& placement,
                                     std::vector<hardware_thread> all) {
    const std::size_t colon = placement.find(':');
    const std::string name = placement.substr(0, colon);
    int cores = of.cores();
    if (colon != std::string::npos) {
        std::string_view text = std::string_view(placement).substr(colon + 1);
        cores = taken_number(text);
        if (cores < 1 || !text.empty())
            throw input_error("placement '" + placement + "' names no number of cores; write " + name + ":4");
    }
    std::string known;
    int wanted = -1;
    for (std::size_t k = 0; k < of.kinds.size(); ++k) {
        known += ", " + of.kinds[k].name;
        if (of.kinds[k].name == name) wanted = static_cast<int>(k);
    }
    if (wanted < 0)
        throw input_error("placement '" + placement +
                          "' is unknown; choose from all, cores, fast, fast-cores, slow, CPUs such as 0-3,8" +
                          known);
    std::erase_if(
        all, [&](const hardware_thread& one) { return one.kind != wanted || one.core_of_kind >= cores; });
    return all;
}

}  // namespace

std::vector<hardware_thread> select(const machine& of, const std::string& placement) {
    std::vector<hardware_thread> all = hardware_threads(of);
    const auto without = [&](auto&& unwanted) {
        std::erase_if(all, unwanted);
        return all;
    };
    if (placement == "all") return all;
    if (placement == "cores") return without([](const hardware_thread& one) { return one.thread > 0; });
    if (placement == "fast") return without([](const hardware_thread& one) { return one.kind > 0; });
    if (placement == "fast-cores")
        return without([](const hardware_thread& one) { return one.kind > 0 || one.thread > 0; });
    if (placement == "slow") {
        if (of.kinds.size() < 2)
            throw input_error("placement 'slow' is for several kinds of cores; " + of.name + " has one");
        return without([](const hardware_thread& one) { return one.kind == 0; });
    }
    if (!placement.empty() && placement.front() >= '0' && placement.front() <= '9')
        return listed(of, placement, std::move(all));
    return of_kind(of, placement, std::move(all));
}

}  // namespace tauto::sim
