#include "balance/team.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "timer/offspring.hpp"

namespace tauto::balance {

namespace {

constexpr double least_stretch = 50e-6;  // what is shorter is a lock, not a part of the work
constexpr double part_of_note = 0.05;    // of what the busiest did
constexpr nanoseconds shortest_round = 100'000;
constexpr nanoseconds longest_tick = 10 * timer::millisecond;
constexpr int most_windows_unnoted = 2;  // of one that has a seat
constexpr double alike = 0.35;
constexpr double surely_wanted = 0.9;
constexpr double fewest_waits = 8;             // in a window that is judged by them
constexpr std::uint64_t fewest_steps = 2;      // in a window
constexpr double part_of_steps = 0.3;          // of all work: with less they are not what a program does
constexpr int fewest_to_tell_steps_apart = 3;  // windows
constexpr nanoseconds longest_between_steps = 300 * timer::millisecond;
constexpr int tallies_of_a_step = 2;      // at most: who was in more lives on
constexpr double follows = 0.3;           // of what a window shows
constexpr double follows_counted = 0.15;  // so that ways are compared by one measure

}  // namespace

bool learned_work::is_known() const {
    return work > 0 && unlike < alike;
}

void learned_work::learn(double each, double once_known) {
    if (work == 0) work = each;
    unlike += follows * (std::abs(each / work - 1) - unlike);
    work += (is_known() ? once_known : follows) * (each - work);
}

cpu_use::seen cpu_use::take(nanoseconds span) {
    seen found;
    found.had = std::min(span, had);
    found.wanted = std::min(span, std::max(found.had, most_wanted));
    const bool was_asked_for =
        static_cast<double>(most_wanted) >= surely_wanted * static_cast<double>(found.had);
    found.is_clear = !unclear && (found.had == 0 || was_asked_for);
    *this = {.had = std::min(had - found.had, longest_tick)};
    return found;
}

team::team(pid_t root, speeds& cpus, bool files, page* marks)
    : root_(root),
      cpus_(cpus),
      files_(files),
      marks_(marks),
      uses_(cpus.size()),
      looked_(timer::now()),
      ran_until_ended_(cpus.size()),
      unseen_(cpus) {
    window_.at = looked_;
}

std::unique_ptr<watch> team::eyes_for(pid_t process, pid_t thread) {
    if (watches_exactly()) {
        if (auto eyes = watch_switches(thread)) {
            saw_switches_ = true;
            return eyes;
        }
        files_ = state_of(process, thread).has_value();
    }
    return watch_files(process, thread);
}

void team::watch_code(bool on) {
    if (files_) on = false;
    if (on == unseen_.watches()) return;
    unseen_.watch(on);
    if (!on) return;
    for (const auto& [thread, one] : members_) unseen_.add(thread);
}

void team::watch_exactly(bool exactly) {
    if (exactly == exactly_) return;
    if (!members_.empty()) look();
    exactly_ = exactly;
    for (auto& [thread, one] : members_) {
        one.eyes = eyes_for(one.process, thread);
        one.had = 0;
    }
}

void team::add(pid_t process, pid_t thread) {
    if (members_.contains(thread) || timer::name_of(thread) == name_of_idle_threads) return;
    member one;
    one.process = process;
    one.thread = thread;
    one.eyes = eyes_for(process, thread);
    const std::optional<change> state = state_of(process, thread);
    if (!state || !one.eyes) return;
    one.now = state->now;
    one.cpu = state->cpu;
    one.since = state->at;
    one.wanted.resize(cpus_.size());
    one.windows_unnoted = most_windows_unnoted + 1;
    if (unseen_.watches()) unseen_.add(thread);
    const auto [place, added] = members_.emplace(thread, std::move(one));
    const double least = least_done_at_work(place->second);
    place->second.done = place->second.done_at_waking =
        least < std::numeric_limits<double>::max() ? least : 0.0;
    ever_seen_.insert(thread);
}

void team::search() {
    // Who gave itself a mask for a moment, as hwloc does to look at each CPU, may have its own again.
    for (auto& [thread, one] : members_) one.pinned = false;
    for (const pid_t process : timer::family_of(root_))
        for (const pid_t thread : timer::threads_of(process)) add(process, thread);
    std::erase_if(members_, [this](const auto& entry) {
        const member& one = entry.second;
        const bool gone = one.ended || !state_of(one.process, one.thread);
        if (gone && one.moved) moved_before_.insert(one.thread);
        if (gone) unseen_.drop(one.thread);
        return gone;
    });
    // Who ended with its process had no time to leave its slot.
    for (slot& own : slots())
        free_dead_slot(
            own, [this](pid_t thread) { return members_.contains(thread) || timer::process_of(thread) > 0; });
}

void team::forget() {
    for (const auto& [thread, one] : members_)
        if (one.moved) moved_before_.insert(thread);
    members_.clear();
    unseen_.drop_all();
}

void team::begin_window() {
    window_ = {timer::now(), work_};
    first_round_ = last_round_ = {};
    rounds_ = 0;
    take_steps();
}

std::size_t team::threads_moved() const {
    return moved_before_.size() +
           static_cast<std::size_t>(std::ranges::count_if(members_, [this](const auto& entry) {
               return entry.second.moved && !moved_before_.contains(entry.first);
           }));
}

double team::least_done_at_work(const member& but) const {
    double least = std::numeric_limits<double>::max();
    for (const auto& [thread, one] : members_)
        if (&one != &but && one.now != doing::sleeps && !one.spins) least = std::min(least, one.done);
    return least;
}

void team::settle(member& one, nanoseconds until, nanoseconds ran) {
    const nanoseconds span = std::max<nanoseconds>(until - one.since, 0);
    one.since += span;
    const std::size_t index = cpus_.index_of(one.cpu);
    if (one.now == doing::sleeps || index == cpus_.size()) return;
    if (!one.spins) one.busy += span;
    nanoseconds had = one.now == doing::runs ? span : 0;
    if (ran >= 0) had = std::max<nanoseconds>(ran - one.had, 0);
    one.had += had;
    uses_[index].had += had;
    // What a look at the files does not see: it may have slept in between, or left its CPU to others.
    if (watches_exactly() || (!one.waited && !one.yielded)) one.wanted[index] += span;
    if (one.spins) return;
    one.ran += had;
    ran_ += had;
    add_work(one, timer::to_seconds(had) * cpus_[index].pace);
}

void team::add_work(member& one, double work) {
    one.done += work;
    one.worked += work;
    work_ += work;
}

// Who waits may look again and again: it worked at most for as long as it did not wait.
void team::take_waits_off(member& one, nanoseconds now) {
    const nanoseconds ran = std::exchange(one.ran, 0);
    if (one.marks == nullptr) return;
    const std::uint64_t waited =
        std::max(one.marks->waited_until(static_cast<std::uint64_t>(now)), one.waited_for);
    const auto waits = static_cast<nanoseconds>(waited - std::exchange(one.waited_for, waited));
    const nanoseconds looked = ran - std::max<nanoseconds>(now - looked_ - waits, 0);
    const std::size_t index = cpus_.index_of(one.cpu);
    if (waits == 0 || looked <= 0 || index == cpus_.size()) return;
    add_work(one, -timer::to_seconds(looked) * cpus_[index].pace);
    one.busy -= std::min(one.busy, looked);
}

void team::take_unseen_waits_off(member& one) {
    const unseen_waits::waits found = unseen_.read(one.process, one.thread);
    spun_ += found.time;
    one.busy -= std::min(one.busy, found.time);
    add_work(one, -found.work);
    if (found.goes_on && one.now != doing::sleeps) one.says_it_waits = true;
}

void team::forgive() {
    double most = 0;
    for (const auto& [thread, one] : members_) most = std::max(most, one.done);
    for (auto& [thread, one] : members_) {
        one.done_at_waking += most - one.done;
        one.done = most;
    }
}

// It works from here on; what others did while it waited for them is not owed to it.
void team::begin_stretch(member& one, nanoseconds at) {
    const auto others = std::ranges::count_if(members_, [&](const auto& entry) {
        const member& other = entry.second;
        return &other != &one && !other.ended && other.now != doing::sleeps && !other.spins;
    });
    if (others == 1) note_round(at);
    const double least = least_done_at_work(one);
    if (least < std::numeric_limits<double>::max()) one.done = std::max(one.done, least);
    one.done_at_waking = one.done;
}

// Who is last at a join may wake who forks, which wakes the last: that is one moment.
void team::note_round(nanoseconds at) {
    if (at - last_round_.at < shortest_round) return;
    for (auto& [thread, one] : members_) settle(one, at);
    last_round_ = {at, work_};
    if (first_round_.at == 0)
        first_round_ = last_round_;
    else
        ++rounds_;
}

void team::end_stretch(member& one) {
    const double stretch = one.done - one.done_at_waking;
    if (stretch > least_stretch) one.stretch = one.stretch == 0 ? stretch : 0.7 * one.stretch + 0.3 * stretch;
}

std::span<slot> team::slots() const {
    if (marks_ == nullptr) return {};
    return std::span(marks_->slots).first(std::min(marks_->used.load(std::memory_order_acquire), most_slots));
}

// What threads say at this moment tells of the time since the last look only if they said the same then, and
// have not begun another wait.
void team::read_marks() {
    for (auto& [thread, one] : members_) one.says_it_waits = false;
    for (slot& own : slots()) {
        const auto found = members_.find(own.thread());
        if (found == members_.end()) continue;
        member& one = found->second;
        one.marks = &own;
        const std::uint64_t owner = own.owner.load(std::memory_order_acquire);
        const auto yields = static_cast<std::uint32_t>(own.yields.load(std::memory_order_relaxed));
        const wait_state state = own.waits();
        if (std::exchange(one.owner, owner) != owner)
            one.waited_for = own.waited_until(static_cast<std::uint64_t>(timer::now()));
        // Who had come past no place when the window began is counted from its first one.
        if (one.came.passed == 0 && !own.read_progress(one.came)) one.came = {};
        one.yielded = std::exchange(one.yields, yields) != yields;
        const std::uint32_t begun = std::exchange(one.begun, state.begun - yields);
        one.waited = begun != one.begun;
        one.spins = one.waits && state.depth > 0 && !one.waited;
        one.says_it_waits = state.depth > 0;
    }
}

void team::note_waits() {
    for (auto& [thread, one] : members_) {
        const bool waited = std::exchange(one.waits, one.says_it_waits);
        if (one.now == doing::sleeps || waited == one.waits) continue;
        if (one.waits)
            end_stretch(one);
        else
            begin_stretch(one, timer::now());
    }
}

void team::apply(member& one, const change& what) {
    settle(one, what.at, what.ran);
    one.had = 0;
    if (!one.spins && one.now == doing::sleeps && what.now != doing::sleeps) begin_stretch(one, what.at);
    if (!one.spins && one.now != doing::sleeps && what.now == doing::sleeps) end_stretch(one);
    if (one.cpu != what.cpu && !watches_exactly())
        for (const int cpu : {one.cpu, what.cpu})
            if (const std::size_t index = cpus_.index_of(cpu); index < uses_.size())
                uses_[index].unclear = true;
    one.now = what.now;
    one.cpu = what.cpu;
    one.since = std::max(one.since, what.at);
}

void team::look() {
    moments_.clear();
    std::vector<pid_t> born;
    for (auto& [thread, one] : members_) {
        news_.changes.clear();
        news_.born.clear();
        news_.lost = news_.ended = false;
        one.eyes->read(news_);
        for (const change& what : news_.changes) moments_.push_back({what, &one});
        born.insert(born.end(), news_.born.begin(), news_.born.end());
        if (news_.lost)
            if (const auto state = state_of(one.process, thread)) moments_.push_back({*state, &one});
        if (news_.ended) {
            moments_.push_back({{timer::now(), doing::sleeps, one.cpu}, &one});
            one.ended = true;
        }
    }
    read_marks();
    std::ranges::stable_sort(moments_, {}, [](const moment& one) { return one.what.at; });
    for (const moment& one : moments_) apply(*one.who, one.what);
    const nanoseconds now = timer::now();
    for (auto& [thread, one] : members_) {
        settle(one, now);
        take_waits_off(one, now);
        take_unseen_waits_off(one);
    }
    note_waits();
    for (auto& [thread, one] : members_)
        for (std::size_t i = 0; i < uses_.size(); ++i)
            uses_[i].most_wanted = std::max(uses_[i].most_wanted, std::exchange(one.wanted[i], 0));
    for (std::size_t i = 0; i < uses_.size(); ++i) {
        const nanoseconds span = now - looked_;
        const cpu_use::seen seen = uses_[i].take(span);
        if (trusted_ && seen.is_clear) cpus_.note(i, span, seen.wanted, seen.had);
    }
    looked_ = now;
    for (const pid_t thread : born)
        if (const pid_t process = timer::process_of(thread); process > 0) add(process, thread);
}

std::vector<member*> team::at_work() {
    std::vector<member*> found;
    for (auto& [thread, one] : members_)
        if (!one.ended && one.now != doing::sleeps) found.push_back(&one);
    return found;
}

std::vector<member*> team::of_note() {
    std::vector<member*> found;
    for (auto& [thread, one] : members_)
        if (!one.ended && one.noted) found.push_back(&one);
    return found;
}

// Where a thread's regions are run in a row, only that thread comes past all of them.
bool team::tells_places(const member& one) const {
    return one.marks != nullptr && (one.thread == one.process || !has_rows_);
}

std::uint64_t team::places_passed() const {
    // Who waits until a thread has begun, as Java does, makes a step of each thread.
    if (has_steps_) return steps_between(last_step_, read_steps(marks_->steps)).passed / 2;
    std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
    progress now;
    for (const auto& [thread, one] : members_)
        if (one.noted && !one.ended && tells_places(one) && one.marks->read_progress(now))
            fewest = std::min(fewest, one.came.passed > 0 ? now.passed - one.came.passed : 0);
    return fewest < std::numeric_limits<std::uint64_t>::max() ? fewest : 0;
}

// From the last place before the last tally to the last before now, in the mean of all who did a part of
// note; 0 where one of them does not tell.
double team::places_a_second() {
    double sum = 0;
    double tell = 0;
    bool all = true;
    for (auto& [thread, one] : members_) {
        if (one.marks == nullptr) {
            all = all && !one.noted;
            continue;
        }
        progress now;
        if (!one.marks->read_progress(now)) now = {};
        const progress before = std::exchange(one.came, now);
        if (!one.noted || !tells_places(one)) continue;
        if (before.passed == 0 || now.passed <= before.passed || now.at <= before.at) {
            all = false;
            continue;
        }
        sum += static_cast<double>(now.passed - before.passed) /
               (1e-9 * static_cast<double>(now.at - before.at));
        ++tell;
    }
    return all && tell > 0 ? sum / tell : 0;
}

team::steps_done team::take_steps() {
    steps_done found;
    if (marks_ == nullptr) return found;
    const step_account& told = marks_->steps;
    const progress now = read_steps(told);
    const progress before = std::exchange(last_step_, now);
    const progress since = steps_between(before, now);
    const std::uint64_t ended = told.ended.load(std::memory_order_relaxed);
    const auto ended_since = static_cast<double>(ended - std::exchange(ended_, ended));
    const std::uint64_t asked = told.asked.load(std::memory_order_relaxed);
    const auto asked_since = static_cast<double>(asked - std::exchange(asked_, asked));
    double work = 0;  // of those
    for (std::size_t i = 0; i < cpus_.size(); ++i) {
        const auto cpu = static_cast<std::size_t>(cpus_[i].cpu);
        if (cpu >= most_cpus) continue;
        const std::uint64_t ran = told.ran[cpu].load(std::memory_order_relaxed);
        const std::uint64_t more = ran - std::exchange(ran_until_ended_[i], ran);
        work += 1e-9 * static_cast<double>(more) * cpus_[i].pace;
    }
    if (asked_since > 0) {
        const double each = work / asked_since;
        work_of_one_ += (work_of_one_ > 0 ? follows : 1) * (each - work_of_one_);
    }
    found.work = ended_since * work_of_one_;
    if (since.passed >= fewest_steps)
        has_steps_ = true;
    else if (looked_ - window_.at > longest_between_steps)
        has_steps_ = false;
    if (since.passed < fewest_steps || before.at == 0 || since.at == 0) return found;
    found.a_second = static_cast<double>(since.passed) / (1e-9 * static_cast<double>(since.at));
    found.threads = ended_since / static_cast<double>(since.passed);
    return found;
}

team::handed team::handed_over() const {
    if (marks_ == nullptr) return {};
    const step_account& told = marks_->steps;
    return {static_cast<long long>(told.handed_over.load(std::memory_order_relaxed)),
            static_cast<std::size_t>(told.ended.load(std::memory_order_relaxed))};
}

// Of those that live longer than a step, since the last tally.
double team::work_of_the_others() const {
    double work = 0;
    for (const auto& [thread, one] : members_)
        if (one.thread == one.process || one.tallies > tallies_of_a_step) work += one.had_worked;
    return work;
}

// Of all that did a part of note; 0 where one of them does not tell.
double team::waits_a_second() {
    double sum = 0;
    bool all = true;
    for (auto& [thread, one] : members_) {
        const auto before =
            std::exchange(one.begun_before, one.marks != nullptr ? std::optional(one.begun) : std::nullopt);
        if (!one.noted) continue;
        all = all && before && one.begun_before;
        if (before) sum += static_cast<double>(one.begun - *before);
    }
    const double seconds = timer::to_seconds(looked_ - window_.at);
    return all && sum >= fewest_waits && seconds > 0 ? sum / seconds : 0;
}

// Where threads wait once for so much work, whatever that is: for a part of a loop, or for each other. CPU
// time counts what caches cost, and waits what a queue is short of, so neither is believed alone.
void team::judge_by_waits(tally& found, double waits, bool alone) {
    const double each = waits > 0 ? found.work / waits : 0;
    if (each < least_stretch) return;
    if (alone) of_a_wait_.learn(each, follows);
    found.agreed = waits_tell();
    if (found.agreed) found.work = std::min(found.work, waits * of_a_wait_.work);
}

std::vector<member*> team::to_seat(bool at_once) {
    const bool all = at_once && !has_tally_;
    std::vector<member*> found;
    const bool tell = between_places_ > 0;  // who came past none is in no team
    for (auto& [thread, one] : members_)
        if (!one.ended && one.marks != nullptr && helps_on(one) < 0 &&
            (!tell || one.marks->passed.load(std::memory_order_relaxed) > 0) &&
            (one.windows_unnoted <= most_windows_unnoted || all))
            found.push_back(&one);
    return found;
}

int team::helps_on(const member& one) const {
    if (one.marks == nullptr) return -1;
    const auto slot_index = static_cast<std::size_t>(one.marks - marks_->slots.data());
    const std::uint32_t told = marks_->helps_on[slot_index].load(std::memory_order_relaxed);
    const int cpu = static_cast<int>(told) - 1;
    return told > 0 && told <= most_cpus && cpus_.index_of(cpu) < cpus_.size() ? cpu : -1;
}

std::vector<team::helper> team::helpers() {
    std::vector<helper> found;
    if (marks_ == nullptr) return found;
    for (auto& [thread, one] : members_)
        if (const int cpu = helps_on(one); !one.ended && cpu >= 0) found.push_back({&one, cpu});
    return found;
}

double team::least_of_note() const {
    double most = 0;
    for (const auto& [thread, one] : members_) most = std::max(most, one.worked);
    return part_of_note * most;
}

team::tally team::so_far() const {
    tally found;
    const double least = least_of_note();
    found.threads = static_cast<std::size_t>(
        std::ranges::count_if(members_, [&](const auto& entry) { return entry.second.worked > least; }));
    found.estimated = work_ - window_.work;
    found.seconds = timer::to_seconds(looked_ - window_.at);
    return found;
}

team::tally team::take_tally(bool alone) {
    has_tally_ = true;
    tally found;
    const double least = least_of_note();
    has_rows_ =
        marks_ != nullptr && (marks_->in_a_row.load(std::memory_order_relaxed) > 0 || !helpers().empty());
    for (auto& [thread, one] : members_) {
        one.noted = one.worked > least;
        one.windows_unnoted = one.noted ? 0 : one.windows_unnoted + 1;
        one.had_worked = std::exchange(one.worked, 0.0);
        one.was_busy = std::exchange(one.busy, 0);
        if (one.noted) ++found.threads;
        ++one.tallies;
    }
    const nanoseconds now = timer::now();
    double places = places_a_second();
    const steps_done steps = take_steps();
    const double work_of_steps = steps.work + work_of_the_others();
    if (steps.a_second > 0 && work_of_steps > 0) {
        of_a_step_.learn(work_of_steps / (steps.a_second * timer::to_seconds(looked_ - window_.at)),
                         follows_counted);
        ++steps_learned_;
    }
    const bool are_alike = of_a_step_.is_known() || steps_learned_ < fewest_to_tell_steps_apart;
    has_steps_ = has_steps_ && are_alike && steps.work >= part_of_steps * work_of_steps;
    if (has_steps_) places = steps.a_second;
    between_places_ = places > 0 ? 1 / places : 0;
    const bool by_rounds = places == 0 && !has_steps_ && 2 * rounds_took() > now - window_.at;
    const point& from = by_rounds ? first_round_ : window_;
    const point to = by_rounds ? last_round_ : point{looked_, work_};
    found.work = to.work - from.work;
    found.estimated = found.work;
    found.seconds = timer::to_seconds(to.at - from.at);
    if (has_steps_) {
        found.work = found.estimated = work_of_steps;
        // At least the one that waits could have another CPU.
        found.threads =
            std::max({found.threads, static_cast<std::size_t>(std::lround(steps.threads)), std::size_t{2}});
    }
    if (places > 0 && found.work > 0) {
        if (!has_steps_) of_a_place_.learn(found.work / (places * found.seconds), follows_counted);
        const learned_work& each = has_steps_ ? of_a_step_ : of_a_place_;
        found.counted = each.is_known();
        if (found.counted) found.work = places * found.seconds * each.work;
    }
    const double waits = waits_a_second() * found.seconds;
    if (places == 0 && !has_steps_) judge_by_waits(found, waits, alone);
    found.ran = std::exchange(ran_, 0);
    const auto spun = static_cast<double>(std::exchange(spun_, 0));
    if (found.ran > 0) found.spun = std::min(1.0, spun / static_cast<double>(found.ran));
    // The round that goes on counts for the next window only if it has just begun.
    const bool just_begun = now - last_round_.at < rounds_took() / 20;
    window_ = {looked_, work_};
    if (!just_begun) last_round_ = {};
    first_round_ = last_round_;
    rounds_ = 0;
    return found;
}

}  // namespace tauto::balance
