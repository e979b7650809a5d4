#pragma once
// A run of the nbody study as one member of any engine sees it.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runners/nbody/run.hpp"
#include "runners/nbody/scheme.hpp"
#include "runners/shared/error.hpp"
#include "runners/shared/signed.hpp"

namespace tauto::runner {

/// The schemes that runners written against tauto::spmd_member have; the first one is the default.
inline std::vector<description::schedule> member_schemes() {
    return {{"auto", false}, {"serial", false}, {"i", false}, {"j", false}, {"grid", false}};
}

/// A scheme of all members by its name, the grid as square as they allow, no fewer slices than groups.
/// Nothing for auto. Throws input_error for a grid of a prime number of members.
inline std::optional<scheme> scheme_named(const std::string& name, int members) {
    if (name == "auto") return std::nullopt;
    if (name == "serial" || members == 1) return scheme{};
    if (name == "i") return scheme{sharing::targets, members, 1};
    if (name == "j") return scheme{sharing::sources, 1, members};
    const int groups = groups_of_grid(members);
    if (groups == 1)
        throw input_error("no grid of " + std::to_string(members) +
                          " members has two sides of 2 or more; use --scheme i or j");
    return scheme{sharing::grid, groups, members / groups};
}

/// Every member calls it; rank 0's answer is the one to keep. The model is everyone's.
template <spmd_member Member, class Clock>
nbody_pass member_pass(Member& me, const nbody_start& start, const nbody_request& asked,
                       work_account& account, Clock& clock) {
    kernels::nbody::hermite system{start.bodies, asked.hermite, start.time};
    block_stepper<Member, Clock> stepper{me, system, clock};
    nbody_pass pass;
    const std::int64_t begin = clock.ticks();
    stepper.start();
    if (const auto fixed = scheme_named(asked.schedule, me.size())) {
        stepper.use(*fixed);
        if constexpr (!Clock::is_exact)
            start.model ? stepper.predict_costs(*start.model) : stepper.predict_costs();
    } else {
        start.model ? stepper.use_cheapest(*start.model) : stepper.use_cheapest();
    }
    pass.start_seconds = as_double(clock.ticks() - begin) * clock.tick_seconds();
    std::vector<block_record> records;
    records.reserve(4096);
    const auto samples_from = [&](std::size_t first) {
        const double seconds = clock.tick_seconds();
        std::vector<block_sample> samples;
        for (const auto& record : std::span{records}.subspan(first))
            samples.push_back({start.time + record.time, record.active, name_of(record.how),
                               record.how.width(), as_double(record.ticks) * seconds,
                               as_double(record.collective_ticks) * seconds, record.predicted_seconds});
        return samples;
    };
    growing_log log{me.rank() == 0 ? asked.log_file : std::nullopt};
    me.barrier();
    clock.begin_blocks();
    stepper.run(records, [&](double time, std::int64_t blocks) {
        log.grow(records.size(), samples_from);
        return is_over(asked, time, usize(blocks));
    });
    clock.end_blocks();
    account.add(stepper.blocks());

    const auto hash = state_hash(system.bodies());
    const auto smaller = [](std::uint64_t a, std::uint64_t b) { return std::min(a, b); };
    const auto larger = [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); };
    if (me.all_reduce(hash, smaller) != me.all_reduce(hash, larger))
        throw std::runtime_error("the members' particles ended with different bits; are all of one build?");
    pass.model = stepper.model();
    if (me.rank() != 0) return pass;
    pass.blocks = samples_from(0);
    pass.logged = log.end(records.size(), samples_from);
    finish_pass(pass, system, asked);
    return pass;
}

template <spmd_member Member>
nbody_pass member_pass(Member& me, const nbody_start& start, const nbody_request& asked,
                       work_account& account) {
    static machine_clock clock;  // once: it waits until it knows the length of its ticks
    return member_pass(me, start, asked, account, clock);
}

}  // namespace tauto::runner
