#pragma once
// What a team knows of its loops and recursions: what a launch costs, and what each call site has taught.

#include <atomic>
#include <forward_list>

#include <tauto/team.hpp>

#include "launcher.hpp"

namespace tauto::detail {

// Of a site that has none, however many were given.
inline int next_site_number(std::atomic<unsigned>& given) noexcept {
    return static_cast<int>(given.fetch_add(1, std::memory_order_relaxed) % team::max_sites);
}

// The widths up to a limit (0: none). To launch so many takes no longer than the next ones that were
// measured.
[[nodiscard]] loop_model_options limited(loop_model_options options, int members);

class recorder {
  public:
    explicit recorder(launcher& members) : members_(members) {}
    // The model of loops of n, of at most `members` (0: all), at the site whose first record `slot` points
    // to; the first call makes both. The first of all times launches.
    loop_model& model_of(std::atomic<site_record*>& slot, index n, int members);
    // What is known of recursions that begin at that site.
    head_start& head_start_of(std::atomic<site_record*>& slot);

  private:
    site_record& record_for(std::atomic<site_record*>& slot, int members);
    void measure_launches();

    launcher& members_;
    loop_model_options options_;  // no widths: not measured yet
    // Lists, whose one change is a store of their head: a child may have been forked at any moment of a call.
    std::forward_list<site_record> records_;
    std::forward_list<loop_model> models_;
    std::forward_list<head_start> head_starts_;
};

}  // namespace tauto::detail
