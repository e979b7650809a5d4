#pragma once
// What every process of a runner has, brought together on all of them.

#include <tauto/mpi.hpp>

#include <iterator>
#include <span>
#include <vector>

#include "runners/shared/signed.hpp"

namespace tauto::runner {

/// The items of all ranks, one rank's behind the other's.
template <class Item>
std::vector<Item> gathered(tauto::mpi_member& me, const std::vector<Item>& own) {
    std::vector<tauto::index> bounds(usize(me.size()) + 1);
    const auto count = std::ssize(own);
    me.all_gather(std::span<const tauto::index>{&count, 1}, std::span<tauto::index>{bounds}.subspan(1));
    for (std::size_t r = 1; r < bounds.size(); ++r) bounds[r] += bounds[r - 1];
    std::vector<Item> all(usize(bounds.back()));
    me.all_gather(std::span<const Item>{own}, std::span<Item>{all}, std::span<const tauto::index>{bounds});
    return all;
}

}  // namespace tauto::runner
