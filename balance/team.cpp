#include "balance/team.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "timer/offspring.hpp"

namespace tauto::balance {

namespace {

constexpr double least_stretch = 50e-6;  // what is shorter is a lock, not a part of the work
constexpr double part_of_note = 0.1;     // of what the busiest did
constexpr nanoseconds shortest_round = 100'000;

}  // namespace

team::team(pid_t root, speeds& cpus, bool files, page* marks)
    : root_(root), cpus_(cpus), files_(files), marks_(marks), uses_(cpus.size()), looked_(timer::now()) {
    window_.at = looked_;
}

void team::add(pid_t process, pid_t thread) {
    if (members_.contains(thread)) return;
    member one;
    one.process = process;
    one.thread = thread;
    if (!files_) {
        one.eyes = watch_switches(thread);
        if (!one.eyes) files_ = state_of(process, thread).has_value();
    }
    if (files_) one.eyes = watch_files(process, thread);
    const std::optional<change> state = state_of(process, thread);
    if (!state || !one.eyes) return;
    one.now = state->now;
    one.cpu = state->cpu;
    one.since = state->at;
    one.wanted.resize(cpus_.size());
    const auto [place, added] = members_.emplace(thread, std::move(one));
    const double least = least_done_at_work(place->second);
    place->second.done = place->second.done_at_waking =
        least < std::numeric_limits<double>::max() ? least : 0.0;
    ++seen_;
}

void team::search() {
    for (const pid_t process : timer::family_of(root_))
        for (const pid_t thread : timer::threads_of(process)) add(process, thread);
    std::erase_if(members_, [this](const auto& entry) {
        const member& one = entry.second;
        const bool gone = one.ended || !state_of(one.process, one.thread);
        if (gone && one.moved) ++moved_and_gone_;
        return gone;
    });
    // Who ended with its process had no time to leave its slot.
    for (slot& own : slots())
        free_dead_slot(
            own, [this](pid_t thread) { return members_.contains(thread) || timer::process_of(thread) > 0; });
}

void team::forget() {
    for (const auto& [thread, one] : members_)
        if (one.moved) ++moved_and_gone_;
    members_.clear();
}

void team::begin_window() {
    window_ = {timer::now(), work_};
    first_round_ = last_round_ = {};
    rounds_ = 0;
}

std::size_t team::threads_moved() const {
    return moved_and_gone_ + static_cast<std::size_t>(std::ranges::count_if(
                                 members_, [](const auto& entry) { return entry.second.moved; }));
}

double team::least_done_at_work(const member& but) const {
    double least = std::numeric_limits<double>::max();
    for (const auto& [thread, one] : members_)
        if (&one != &but && one.now != doing::sleeps && !one.spins) least = std::min(least, one.done);
    return least;
}

void team::settle(member& one, nanoseconds until) {
    const nanoseconds span = until - one.since;
    if (span <= 0) return;
    one.since = until;
    const std::size_t index = cpus_.index_of(one.cpu);
    if (one.now == doing::sleeps || index == cpus_.size()) return;
    one.wanted[index] += span;
    if (!one.spins) one.busy += span;
    if (one.now != doing::runs) return;
    uses_[index].had += span;
    if (one.spins) return;
    const double work = timer::to_seconds(span) * cpus_[index].pace;
    one.done += work;
    one.worked += work;
    work_ += work;
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

// A mark is a hint of this moment: who takes it back works again from the next look on.
void team::read_marks() {
    for (slot& own : slots()) {
        const auto found = members_.find(own.thread());
        if (found == members_.end()) continue;
        member& one = found->second;
        one.marks = &own;
        const bool waits = own.waits().depth > 0;
        if (waits == one.spins) continue;
        if (one.now != doing::sleeps && waits) end_stretch(one);
        one.spins = waits;
        if (one.now != doing::sleeps && !waits) begin_stretch(one, timer::now());
    }
}

void team::apply(member& one, const change& what) {
    settle(one, what.at);
    if (!one.spins && one.now == doing::sleeps && what.now != doing::sleeps) begin_stretch(one, what.at);
    if (!one.spins && one.now != doing::sleeps && what.now == doing::sleeps) end_stretch(one);
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
    std::ranges::stable_sort(moments_, {}, [](const moment& one) { return one.what.at; });
    for (const moment& one : moments_) apply(*one.who, one.what);
    const nanoseconds now = timer::now();
    for (auto& [thread, one] : members_) settle(one, now);
    read_marks();
    for (auto& [thread, one] : members_)
        for (std::size_t i = 0; i < uses_.size(); ++i)
            uses_[i].most_wanted = std::max(uses_[i].most_wanted, std::exchange(one.wanted[i], 0));
    for (std::size_t i = 0; i < uses_.size(); ++i) {
        const nanoseconds span = now - looked_;
        const nanoseconds wanted = std::min(span, std::max(uses_[i].had, uses_[i].most_wanted));
        cpus_.note(i, span, wanted, std::min(wanted, uses_[i].had));
        uses_[i] = {};
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

team::tally team::take_tally() {
    tally found;
    double most = 0;
    for (const auto& [thread, one] : members_) most = std::max(most, one.worked);
    for (auto& [thread, one] : members_) {
        one.noted = one.worked > part_of_note * most;
        one.worked = 0;
        one.was_busy = std::exchange(one.busy, 0);
        if (one.noted) ++found.threads;
    }
    const nanoseconds now = timer::now();
    const bool by_rounds = 2 * rounds_took() > now - window_.at;
    const point& from = by_rounds ? first_round_ : window_;
    const point to = by_rounds ? last_round_ : point{looked_, work_};
    found.work = to.work - from.work;
    found.seconds = timer::to_seconds(to.at - from.at);
    // The round that goes on counts for the next window only if it has just begun.
    const bool just_begun = now - last_round_.at < rounds_took() / 20;
    window_ = {looked_, work_};
    if (!just_begun) last_round_ = {};
    first_round_ = last_round_;
    rounds_ = 0;
    return found;
}

}  // namespace tauto::balance
