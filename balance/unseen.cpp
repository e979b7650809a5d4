#include "balance/unseen.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace tauto::balance {

namespace {

constexpr nanoseconds sample_every = timer::millisecond;  // of a thread's CPU time
constexpr std::size_t most_as_often = 16;                 // CPUs: of more, so many samples a second in all
constexpr std::size_t most_watched = 64;

}  // namespace

void unseen_waits::watch(bool on) {
    watches_ = on;
    drop_all();
    const auto all = static_cast<nanoseconds>(std::clamp(cpus_.size(), most_as_often, most_watched));
    each_ = sample_every * all / static_cast<nanoseconds>(most_as_often);
}

void unseen_waits::add(pid_t thread) {
    if (watched_.size() >= most_watched) return;
    if (auto found = sample_thread(thread, each_))
        watched_[thread] = std::move(found);
    else if (errno == EACCES || errno == EPERM || errno == ENOSYS)  // or else it has ended
        refused_ = true;
}

void unseen_waits::drop_all() {
    watched_.clear();
    code_.forget();
}

unseen_waits::waits unseen_waits::read(pid_t process, pid_t thread) {
    waits found;
    const auto own = watched_.find(thread);
    if (own == watched_.end()) return found;
    seen_.clear();
    own->second->read(seen_);
    for (const sample& one : seen_) {
        const std::size_t index = cpus_.index_of(one.cpu);
        if (index == cpus_.size()) continue;
        const code_place where = code_.of(process, one.address);
        found.goes_on = spins_.are_at(where);
        if (found.goes_on) {
            found.time += each_;
            found.work += timer::to_seconds(each_) * cpus_[index].pace;
        } else {
            spins_.add(where, index);
        }
    }
    found.goes_on = found.goes_on && timer::now() - seen_.back().at < 2 * each_;
    return found;
}

unseen_waits::waits unseen_waits::confirm(nanoseconds ran) {
    const std::vector<double> parts = spins_.confirm();
    waits found;
    for (std::size_t i = 0; i < parts.size() && i < cpus_.size(); ++i) {
        const double seconds = parts[i] * timer::to_seconds(ran);
        found.time += timer::to_nanoseconds(seconds);
        found.work += seconds * cpus_[i].pace;
    }
    return found;
}

}  // namespace tauto::balance
