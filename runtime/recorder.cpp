#include "recorder.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace tauto::detail {
namespace {

// Ticks that launching and joining these members takes at best.
double measure_fork_join(launcher& members, std::span<const int> ranks) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (int repeat = 0; repeat < 8; ++repeat) {
        const std::int64_t start = ticks();
        members.launch_and_join(ranks);
        // A counter that was set back says nothing.
        if (const std::int64_t took = ticks() - start; took > 0) least = std::min(least, took);
    }
    return as_double(least);
}

}  // namespace

// For each width that can matter.
void recorder::measure_launches() {
    const std::span<const int> ranks = members_.one_a_cpu;
    const int size = int_size(ranks);
    // Widths that can matter: one, powers of two, all.
    std::set<int> widths{1, size};
    for (int width = 2; width < size; width *= 2) widths.insert(width);
    options_.microsecond = 1000 * ticks_per_nanosecond();
    for (const int width : widths) {
        const double fork_ticks = width > 1 ? measure_fork_join(members_, ranks.first(usize(width))) : 0;
        options_.widths.push_back({width, fork_ticks});
    }
}

loop_model_options limited(loop_model_options options, int members) {
    if (members == 0 || members >= options.widths.back().width) return options;
    const auto last = std::ranges::lower_bound(options.widths, members, {}, &width_option::width);
    last->width = members;
    options.widths.erase(last + 1, options.widths.end());
    return options;
}

site_record& recorder::record_for(std::atomic<site_record*>& slot, int members) {
    if (site_record* const known = record_of(slot, members)) return *known;
    site_record& fresh = records_.emplace_front();
    fresh.members = members;
    // Only who has the team's turn writes here. Pairs with the acquire loads in record_of.
    std::atomic<site_record*>* end = &slot;
    while (site_record* const other = end->load(std::memory_order_relaxed)) end = &other->next;
    end->store(&fresh, std::memory_order_release);
    return fresh;
}

head_start& recorder::head_start_of(std::atomic<site_record*>& slot) {
    site_record& record = record_for(slot, 0);
    if (record.recursion == nullptr) record.recursion = &head_starts_.emplace_front();
    return *record.recursion;
}

loop_model& recorder::model_of(std::atomic<site_record*>& slot, index n, int members) {
    std::atomic<loop_model*>& of_size =
        record_for(slot, members).models[std::bit_width(static_cast<std::uint64_t>(n))];
    loop_model* model = of_size.load(std::memory_order_relaxed);
    if (model == nullptr) {
        if (options_.widths.empty()) measure_launches();
        model = &models_.emplace_front(limited(options_, members));
        of_size.store(model, std::memory_order_release);
    }
    return *model;
}

}  // namespace tauto::detail
