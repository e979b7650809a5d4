#include "machine.hpp"

#include <algorithm>
#include <cmath>

namespace tauto::sim {

namespace {

// Reads numbers of one JSON object and says which one is missing or impossible.
class reader {
  public:
    reader(const json& from, std::string where) : from_(from), where_(std::move(where)) {}

    [[nodiscard]] double number(const char* key, double least = 0, double most = 1e18) const {
        const auto found = from_.find(key);
        if (found == from_.end() || !found->is_number()) throw missing(key, "a number");
        return checked(key, found->get<double>(), least, most);
    }
    [[nodiscard]] double number_or(const char* key, double otherwise, double least = 0,
                                   double most = 1e18) const {
        return from_.contains(key) && !from_.at(key).is_null() ? number(key, least, most) : otherwise;
    }
    [[nodiscard]] int count(const char* key, int least, int most) const {
        const double value = number(key, least, most);
        if (value != std::floor(value)) throw missing(key, "a whole number");
        return static_cast<int>(value);
    }
    [[nodiscard]] std::vector<double> numbers(const char* key, double least = 0) const {
        const auto found = from_.find(key);
        std::vector<double> values;
        if (found == from_.end() || !found->is_array()) throw missing(key, "a list of numbers");
        for (const auto& one : *found) {
            if (!one.is_number()) throw missing(key, "a list of numbers");
            values.push_back(checked(key, one.get<double>(), least, 1e18));
        }
        return values;
    }
    [[nodiscard]] std::string text(const char* key) const {
        const auto found = from_.find(key);
        if (found == from_.end() || !found->is_string()) throw missing(key, "a text");
        return found->get<std::string>();
    }
    [[nodiscard]] bool flag(const char* key, bool otherwise = false) const {
        const auto found = from_.find(key);
        return found != from_.end() && found->is_boolean() ? found->get<bool>() : otherwise;
    }
    // Seconds in the file, nanoseconds here.
    [[nodiscard]] nanoseconds seconds(const char* key, double otherwise) const {
        return to_nanoseconds(number_or(key, otherwise, 0, 3600));
    }
    [[nodiscard]] std::int64_t milliwatts(const char* key) const {
        return static_cast<std::int64_t>(number_or(key, 0, 0, 1e5) * 1000 + 0.5);
    }

  private:
    [[nodiscard]] input_error missing(const char* key, const char* what) const {
        return input_error(where_ + " needs " + what + " for '" + key +
                           "'; machines/template.toml explains every key");
    }
    [[nodiscard]] double checked(const char* key, double value, double least, double most) const {
        if (value >= least && value <= most) return value;
        throw input_error(where_ + ": '" + std::string(key) + "' is " + json(value).dump() +
                          "; it must be from " + json(least).dump() + " to " + json(most).dump());
    }

    const json& from_;
    std::string where_;
};

// Two lists that belong together; empty where the file has neither.
retention read_retention(const json& source, const reader& in, const std::string& where) {
    retention read;
    if (!source.contains("retained_set_bytes")) return read;
    read.set_bytes = in.numbers("retained_set_bytes", 1);
    read.share = in.numbers("retained_shares");
    if (read.set_bytes.empty() || read.set_bytes.size() != read.share.size() ||
        !std::is_sorted(read.set_bytes.begin(), read.set_bytes.end()) ||
        std::any_of(read.share.begin(), read.share.end(), [](double share) { return share > 1; }))
        throw input_error(where +
                          ": retained_set_bytes must ascend and have as many entries as retained_shares, "
                          "which are from 0 to 1");
    return read;
}

core_kind read_kind(const json& source, std::size_t position) {
    const reader in(source, "kind " + std::to_string(position + 1));
    core_kind kind;
    kind.name = in.text("kind");
    kind.cores = in.count("cores", 1, 10'000'000);
    kind.threads_per_core = in.count("hardware_threads_per_core", 1, 8);
    kind.turbo_hertz = in.numbers("turbo_hertz", 1e6);
    if (kind.turbo_hertz.empty()) throw input_error("kind " + kind.name + ": turbo_hertz is empty");
    if (source.contains("turbo_spread")) kind.turbo_spread = in.numbers("turbo_spread", 0.01);
    kind.min_hertz = in.number_or("min_hertz", kind.turbo_hertz.back(), 1e6);
    kind.smt_yield = in.number_or("smt_yield", 1, 0.5, kind.threads_per_core);
    kind.stream_cycles_per_byte = in.number("stream_cycles_per_byte", 1e-6);
    kind.single_row_cycles_per_byte =
        in.number_or("single_row_cycles_per_byte", kind.stream_cycles_per_byte, 1e-6);
    kind.single_row_last_level_bytes_per_second = in.number_or("single_row_last_level_bytes_per_second", 0);
    kind.single_row_memory_bytes_per_second = in.number_or("single_row_memory_bytes_per_second", 0);
    kind.row_cycles = in.number_or("row_cycles", kind.row_cycles);
    kind.hash_cycles_per_byte = in.number_or("hash_cycles_per_byte", 4, 1e-6);
    kind.pair_cycles = in.number_or("pair_cycles", 10, 1e-6);
    kind.predict_cycles = in.number_or("predict_cycles", 12, 1e-6);
    kind.correct_cycles = in.number_or("correct_cycles", 60, 1e-6);
    kind.l2_bytes = in.number("l2_bytes");
    kind.l2_retention = read_retention(source, in, "kind " + kind.name);
    kind.l2_shared_by_cores = in.count("l2_shared_by_cores", 1, 10'000'000);
    kind.l2_bytes_per_cycle = in.number("l2_bytes_per_cycle", 1e-6);
    kind.last_level_bytes_per_second = in.number("core_last_level_bytes_per_second", 1);
    kind.memory_bytes_per_second = in.number("core_memory_bytes_per_second", 1);
    kind.cluster_memory_bytes_per_second = in.number_or("cluster_memory_bytes_per_second", 0);
    kind.stolen_turn = in.seconds("stolen_turn_seconds", 0);
    kind.stolen_share = kind.stolen_turn > 0 ? in.number_or("stolen_share", 0, 0, 0.99) : 0;
    kind.outstanding_lines = in.number_or("outstanding_lines", 1, 1e-6);
    kind.state_hertz = in.numbers("state_hertz", 1);
    kind.state_active_watts = in.numbers("state_active_watts");
    if (kind.state_hertz.empty() || kind.state_hertz.size() != kind.state_active_watts.size() ||
        !std::is_sorted(kind.state_hertz.begin(), kind.state_hertz.end()))
        throw input_error("kind " + kind.name +
                          ": state_hertz must ascend and have as many entries as state_active_watts");
    kind.spinning_share = in.number_or("spinning_share", 1, 0, 1.5);
    kind.idle_watts = in.number_or("idle_watts", 0, 0, 1e4);
    kind.sleeping_watts = in.number_or("sleeping_watts", kind.idle_watts, 0, 1e4);
    return kind;
}

governor read_governor(const json& source) {
    const reader in(source, "governor");
    governor read;
    const std::string rule = in.text("policy");
    if (rule == "maximum") {
        read.rule = governor::policy::maximum;
    } else if (rule == "proportional") {
        read.rule = governor::policy::proportional;
    } else if (rule == "thresholds") {
        read.rule = governor::policy::thresholds;
    } else {
        throw input_error("governor: policy is '" + rule +
                          "'; choose from maximum, proportional, thresholds");
    }
    read.whole_package = in.text("scope") == "package";
    read.sampling = std::max<nanoseconds>(1000, in.seconds("sampling_seconds", 0.01));
    read.headroom = in.number_or("headroom", 1.25, 0.1, 10);
    read.up = in.number_or("up_utilisation", 0.8, 0, 1);
    read.down = in.number_or("down_utilisation", 0.6, 0, 1);
    return read;
}

}  // namespace

double retention::at(double bytes) const {
    if (bytes <= set_bytes.front()) return share.front();
    if (bytes >= set_bytes.back()) return share.back();
    std::size_t above = 1;
    while (set_bytes[above] < bytes) ++above;
    const double part = (bytes - set_bytes[above - 1]) / (set_bytes[above] - set_bytes[above - 1]);
    return share[above - 1] + part * (share[above] - share[above - 1]);
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

machine read_machine(const json& source) {
    if (!source.is_object() || !source.contains("kinds") || !source.at("kinds").is_array() ||
        source.at("kinds").empty())
        throw input_error("the machine names no kind of cores; it needs at least one in 'kinds'");
    const reader in(source, "machine");
    machine read;
    read.name = in.text("name");
    for (std::size_t i = 0; i < source.at("kinds").size(); ++i)
        read.kinds.push_back(read_kind(source.at("kinds").at(i), i));
    if (read.hardware_threads() > 10'000'000)
        throw input_error("the machine has more than 10,000,000 hardware threads; give it fewer cores");
    read.packages = in.count("packages", 1, 10'000);
    read.last_level_bytes = in.number("last_level_bytes");
    read.last_level_retention = read_retention(source, in, "memory");
    read.last_level_bytes_per_second = in.number("last_level_bytes_per_second", 1);
    read.last_level_inclusive = in.flag("last_level_inclusive");
    read.foreign_bytes_per_second = in.number_or("foreign_bytes_per_second", 0, 0, 1e16);
    read.slow_ring_share = in.number_or("slow_ring_share", 1, 0.01, 1);
    read.memory_bytes_per_second = in.number("memory_bytes_per_second", 1);
    read.copy_bytes_per_second = in.number_or("copy_bytes_per_second", read.memory_bytes_per_second, 1);
    read.line_bytes = in.count("line_bytes", 1, 4096);
    read.line_transfer = in.seconds("line_one_way_seconds", 50e-9);
    const double between = static_cast<double>(read.line_transfer) * 1e-9;
    read.line_transfer_siblings = in.seconds("line_between_siblings_seconds", between);
    read.line_transfer_slow = in.seconds("line_slow_kind_seconds", between);
    read.line_transfer_packages = in.seconds("line_between_packages_seconds", between);
    read.cost_members = in.count("cost_members", 1, 10'000'000);
    read.fork_join = in.seconds("fork_join_seconds", 1e-6);
    read.fork_join_openmp = in.seconds("fork_join_openmp_seconds", 2e-6);
    read.fork_join_libomp =
        in.seconds("fork_join_libomp_seconds", static_cast<double>(read.fork_join_openmp) * 1e-9);
    read.dequeue_openmp = in.seconds("dequeue_libgomp_seconds", 0);
    read.dequeue_libomp = in.seconds("dequeue_libomp_seconds", 0);
    read.barrier = in.seconds("barrier_seconds", 5e-7);
    read.wake_caller = in.seconds("wake_caller_seconds", 3e-6);
    read.wake_sleeper = in.seconds("wake_sleeper_seconds", 2e-5);
    read.deep_idle_exit = in.seconds("deep_idle_exit_seconds", 0);
    read.deep_idle_after = in.seconds("deep_idle_after_seconds", 0);
    read.lock_hold = in.seconds("lock_hold_seconds", 3e-7);
    read.task_overhead = in.seconds("task_overhead_seconds", 1e-7);
    if (source.contains("governor")) read.frequency = read_governor(source.at("governor"));
    read.uncore_active_milliwatts = in.milliwatts("uncore_active_watts");
    read.uncore_idle_milliwatts = in.milliwatts("uncore_idle_watts");
    read.platform_milliwatts = in.milliwatts("platform_watts");
    read.migration_period = in.seconds("migration_seconds", 0);
    read.migration_cost = in.seconds("migration_cost_seconds", 0);
    read.quantum = std::max<nanoseconds>(1000, in.seconds("quantum_seconds", 0.02));
    read.mutex_handover = in.flag("mutex_handover");
    read.locked_waits_for_stores = in.flag("locked_waits_for_stores", true);
    read.message_latency = in.number_or("message_latency_seconds", 5e-7, 0, 1) * 1e9;
    read.message_overhead = in.number_or("message_overhead_seconds", 2e-7, 0, 1) * 1e9;
    read.rendezvous_latency = in.number_or("rendezvous_latency_seconds", 1e-6, 0, 1) * 1e9;
    read.message_bytes_per_second = in.number_or("message_bytes_per_second", 3e9, 1);
    read.eager_bytes = in.number_or("eager_bytes", 4096);
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

std::vector<hardware_thread> select(const machine& of, const std::string& placement) {
    std::vector<hardware_thread> all = hardware_threads(of);
    if (placement == "all") return all;
    if (placement == "cores") {
        std::erase_if(all, [](const hardware_thread& one) { return one.thread > 0; });
        return all;
    }
    const std::size_t colon = placement.find(':');
    const std::string name = placement.substr(0, colon);
    int cores = of.cores();
    if (colon != std::string::npos) {
        const std::string text = placement.substr(colon + 1);
        cores = 0;
        for (const char digit : text)
            cores = digit >= '0' && digit <= '9' && cores < 10'000'000 ? 10 * cores + (digit - '0') : -1;
        if (text.empty() || cores < 1)
            throw input_error("placement '" + placement + "' names no number of cores; write " + name + ":4");
    }
    std::string known;
    int wanted = -1;
    for (std::size_t k = 0; k < of.kinds.size(); ++k) {
        known += ", " + of.kinds[k].name;
        if (of.kinds[k].name == name) wanted = static_cast<int>(k);
    }
    if (wanted < 0)
        throw input_error("placement '" + placement + "' is unknown; choose from all, cores" + known);
    std::erase_if(
        all, [&](const hardware_thread& one) { return one.kind != wanted || one.core_of_kind >= cores; });
    return all;
}

}  // namespace tauto::sim
