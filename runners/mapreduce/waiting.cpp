#include "runners/mapreduce/waiting.hpp"

#include <algorithm>

#include "runners/shared/signed.hpp"

namespace tauto::runner {

void waiting_account::end_repetition(interval whole) {
    const int known = known_.load(std::memory_order_relaxed);
    std::size_t workers = 0;
    std::int64_t begun = whole.begin;  // the last task
    std::int64_t ended = whole.begin;
    for (int worker = 0; worker < known; ++worker) {
        const slot& of = at(slots_, worker);
        if (of.tasks == 0) continue;
        ++workers;
        begun = std::max(begun, of.last_begin);
        ended = std::max(ended, of.last_end);
    }
    for (int worker = 0; worker < known; ++worker) {
        slot& of = at(slots_, worker);
        if (of.tasks == 0) continue;
        parts_.starting += of.first_begin - whole.begin;
        parts_.between += of.last_end - of.first_begin - of.inside;
        parts_.unfed += std::max<std::int64_t>(begun - of.last_end, 0);
        parts_.ending += ended - std::max(begun, of.last_end);
        parts_.returning += whole.end - ended;
        of = {};
    }
    const auto without = static_cast<std::int64_t>(cpus_) - static_cast<std::int64_t>(workers);
    if (without < 0) shared_cpus_ = true;
    parts_.starting += without * (begun - whole.begin);
    parts_.ending += without * (ended - begun);
    parts_.returning += without * (whole.end - ended);
}

}  // namespace tauto::runner
