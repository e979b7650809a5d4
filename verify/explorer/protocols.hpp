#pragma once
// The programs that are explored, and how each must fail when a step of its protocol is spoiled.

#include <span>

#include "explorer.hpp"

namespace explorer {

struct protocol {
    const char* name;
    const char* what;
    void (*run)();
    std::span<const mutant> mutants;
};

std::span<const protocol> protocols();

}  // namespace explorer
