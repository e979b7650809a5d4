#include "balance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "balance/placing.hpp"

namespace tauto::sim {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double noisy_share = 0.5;
constexpr double least_left = 1e-3;  // ns; less is the rounding of a double
constexpr double soonest_look = 100e3;

struct thread {
    double left = 0;   // ns of work on the fastest core
    double done = 0;   // since the start, for the rule
    double loses = 0;  // ns until it works again, after a move
    std::size_t cpu = 0;
    bool works = false;
};

class balance_run {
  public:
    balance_run(const machine& on, const balance_request& asked);
    balance_result run();

  private:
    void region();
    // Virtual time goes on until something changes: a thread's end, or the policy's next look.
    void go_on();
    void act();
    void pull();
    void follow_the_rule();
    void move(thread& one, std::size_t to);
    void draw();
    [[nodiscard]] double rate(const thread& one) const {
        return speeds_[one.cpu] / static_cast<double>(crowd_[one.cpu]);
    }
    [[nodiscard]] std::vector<thread*> at_work();
    [[nodiscard]] std::vector<balance::worker> as_workers(const std::vector<thread*>& all) const;
    [[nodiscard]] double bound() const;

    const balance_request asked_;
    const double share_;  // ns of work of a thread in a region
    const std::vector<hardware_thread> where_;
    std::vector<const core_kind*> kinds_;
    std::vector<double> hertz_;
    std::vector<double> speeds_;  // work a second, the fastest core's being 1
    std::vector<int> crowd_;      // threads at work on each
    std::vector<thread> threads_;
    double now_ = 0;   // ns
    double act_ = 0;   // when the policy looks next
    double done_ = 0;  // ns of work, by all
    std::int64_t moves_ = 0;
    ledger accounts_;
};

void check(const balance_request& asked) {
    const auto& known = balance_policies();
    if (std::ranges::find(known, asked.policy) == known.end())
        throw input_error("policy '" + asked.policy + "' is unknown; choose from pinned, linux, balanced");
    const auto in_range = [](const char* key, double value, double least, double most) {
        if (!(value >= least && value <= most))
            throw input_error(std::string(key) + " must be from " + std::to_string(least) + " to " +
                              std::to_string(most));
    };
    in_range("region_seconds", asked.region_seconds, 1e-6, 100.0);
    in_range("threads", asked.threads, 0, 4096);
    in_range("regions", asked.regions, 2, 10'000);
    in_range("noisy_cores", asked.noisy_cores, 0, 4096);
    in_range("look_seconds", asked.look_seconds, 1e-5, 1.0);
    in_range("pull_seconds", asked.pull_seconds, 1e-5, 10.0);
    in_range("move_seconds", asked.move_seconds, 0.0, 1.0);
}

balance_run::balance_run(const machine& on, const balance_request& asked)
    : asked_((check(asked), asked)),
      share_(asked.region_seconds * 1e9),
      where_(select(on, asked.placement)),
      accounts_(where_.size(), on.uncore_active_milliwatts + on.platform_milliwatts, asked.timeline) {
    // The clocks are those with every core awake: waits are short.
    std::vector<int> awake(on.kinds.size(), 0);
    std::vector<int> sharers(on.cores(), 0);
    for (const hardware_thread& one : where_)
        if (sharers[one.core]++ == 0) ++awake[one.kind];
    for (const hardware_thread& one : where_) {
        const core_kind& kind = on.kinds[one.kind];
        kinds_.push_back(&kind);
        hertz_.push_back(kind.turbo(awake[one.kind]) * kind.spread(one.core_of_kind));
        const double yield = sharers[one.core] > 1 ? kind.smt_yield / sharers[one.core] : 1.0;
        speeds_.push_back(hertz_.back() / kind.hash_cycles_per_byte * yield * (1 - kind.stolen_share));
    }
    const auto cpus = static_cast<int>(speeds_.size());
    if (asked.noisy_cores > cpus)
        throw input_error("noisy_cores is " + std::to_string(asked.noisy_cores) + " of " +
                          std::to_string(cpus) + " CPUs; choose at most as many");
    for (int k = cpus - asked.noisy_cores; k < cpus; ++k) speeds_[k] *= noisy_share;
    const double fastest = *std::ranges::max_element(speeds_);
    for (double& one : speeds_) one /= fastest;
    crowd_.assign(speeds_.size(), 0);
    threads_.resize(asked.threads > 0 ? asked.threads : speeds_.size());
    for (std::size_t t = 0; t < threads_.size(); ++t) threads_[t].cpu = t % speeds_.size();
}

double balance_run::bound() const {
    std::vector<double> best = speeds_;
    std::ranges::sort(best, std::greater<>());
    if (best.size() > threads_.size()) best.resize(threads_.size());
    const double together = std::accumulate(best.begin(), best.end(), 0.0);
    return share_ * static_cast<double>(threads_.size()) / together;
}

std::vector<thread*> balance_run::at_work() {
    std::vector<thread*> found;
    for (thread& one : threads_)
        if (one.works) found.push_back(&one);
    return found;
}

void balance_run::draw() {
    const auto at = static_cast<nanoseconds>(now_ + 0.5);
    for (std::size_t cpu = 0; cpu < speeds_.size(); ++cpu) {
        const bool works = crowd_[cpu] > 0;
        const activity what = works ? activity::working : activity::waiting;
        const std::int64_t milliwatts =
            works ? kinds_[cpu]->active_milliwatts(hertz_[cpu]) : kinds_[cpu]->idle_milliwatts();
        const auto member = static_cast<actor_id>(cpu);
        if (accounts_.doing(member) != what) accounts_.enter(member, what, milliwatts, at);
    }
}

void balance_run::move(thread& one, std::size_t to) {
    if (one.cpu == to) return;
    --crowd_[one.cpu];
    ++crowd_[to];
    one.cpu = to;
    one.loses += asked_.move_seconds * 1e9;
    ++moves_;
}

// Linux: an idle core takes a thread that has to share one; and, at its own pace, the thread of a core that
// is slower, as Linux does where it knows which cores are fast (SD_ASYM_PACKING, misfit tasks).
void balance_run::pull() {
    const bool on_time = now_ >= act_;
    if (on_time) act_ = now_ + asked_.pull_seconds * 1e9;
    std::vector<std::size_t> order(speeds_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return speeds_[a] > speeds_[b]; });
    for (const std::size_t idle : order) {
        if (crowd_[idle] > 0) continue;
        thread* best = nullptr;
        for (thread& one : threads_) {
            if (!one.works || !(rate(one) * balance::same_speed < speeds_[idle])) continue;
            if (!on_time && crowd_[one.cpu] < 2) continue;
            if (best == nullptr || rate(one) < rate(*best)) best = &one;
        }
        if (best != nullptr) move(*best, idle);
    }
}

std::vector<balance::worker> balance_run::as_workers(const std::vector<thread*>& all) const {
    std::vector<balance::worker> workers;
    for (const thread* one : all) workers.push_back({one->done * 1e-9, one->cpu});
    return workers;
}

void balance_run::follow_the_rule() {
    if (now_ < act_) return;
    const std::vector<thread*> all = at_work();
    const auto [slow, fast] = std::ranges::minmax(speeds_);
    const double tolerance = balance::tolerance_for(asked_.region_seconds, fast, slow);
    const std::vector<std::size_t> wanted = balance::place(as_workers(all), speeds_, tolerance);
    for (std::size_t i = 0; i < all.size(); ++i) move(*all[i], wanted[i]);
    double soonest =
        1e9 * std::min(asked_.look_seconds, balance::until_a_change(as_workers(all), speeds_, tolerance));
    for (const thread* one : all) soonest = std::min(soonest, one->left / rate(*one));
    act_ = now_ + std::max(soonest, soonest_look);
}

void balance_run::act() {
    if (asked_.policy == "linux") pull();
    if (asked_.policy == "balanced") follow_the_rule();
    draw();
}

void balance_run::go_on() {
    double span = asked_.policy == "pinned" ? never : std::max(0.0, act_ - now_);
    for (thread& one : threads_)
        if (one.works) span = std::min(span, one.loses + one.left / rate(one));
    now_ += span;
    bool one_ended = false;
    for (thread& one : threads_) {
        if (!one.works) continue;
        const double lost = std::min(one.loses, span);
        one.loses -= lost;
        const double work = std::min(one.left, (span - lost) * rate(one));
        one.left -= work;
        one.done += work;
        done_ += work;
    }
    for (thread& one : threads_) {
        if (!one.works || one.left > least_left) continue;
        one.works = false;
        one.loses = 0;
        --crowd_[one.cpu];
        one_ended = true;
    }
    // An end is a reason to look again: the core is free.
    if (one_ended && asked_.policy == "balanced") act_ = now_;
}

void balance_run::region() {
    for (thread& one : threads_) {
        one.works = true;
        one.left = share_;
        ++crowd_[one.cpu];
    }
    // Who wakes is owed nothing for what others did before.
    double least = never;
    for (const thread& one : threads_) least = std::min(least, one.done);
    for (thread& one : threads_) one.done = least;
    act_ = asked_.policy == "linux" ? std::max(act_, now_) : now_;
    act();
    while (std::ranges::any_of(threads_, &thread::works)) {
        go_on();
        act();
    }
}

balance_result balance_run::run() {
    double first_end = 0;
    std::int64_t first_moves = 0;
    for (int k = 0; k < asked_.regions; ++k) {
        region();
        if (k > 0) continue;
        first_end = now_;
        first_moves = moves_;
    }
    const double counted = asked_.regions - 1;
    const double asked_for = share_ * static_cast<double>(threads_.size()) * asked_.regions;
    if (std::abs(done_ - asked_for) > 1e-6 * asked_for)
        throw std::logic_error("the threads did " + std::to_string(done_) + " ns of " +
                               std::to_string(asked_for) + " ns of work");
    accounts_.close(static_cast<nanoseconds>(now_ + 0.5));
    accounts_.check();
    balance_result found;
    found.where = where_;
    found.region = static_cast<nanoseconds>((now_ - first_end) / counted + 0.5);
    found.bound = bound();
    if (static_cast<double>(found.region) < found.bound * (1 - 1e-6))
        throw std::logic_error("a region took less than all cores need for it");
    found.moves = static_cast<double>(moves_ - first_moves) / counted;
    const auto working = static_cast<double>(accounts_.total(activity::working));
    const auto waiting = static_cast<double>(accounts_.total(activity::waiting));
    found.waiting_share = working + waiting > 0 ? waiting / (working + waiting) : 0;
    found.joules = static_cast<double>(accounts_.total_picojoules()) * 1e-12 / asked_.regions;
    found.accounts = std::move(accounts_);
    return found;
}

}  // namespace

const std::vector<std::string>& balance_policies() {
    static const std::vector<std::string> all{"pinned", "linux", "balanced"};
    return all;
}

balance_result simulate_balance(const machine& on, const balance_request& asked) {
    return balance_run(on, asked).run();
}

}  // namespace tauto::sim
