#pragma once
// For the tests of the runners' parts.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runners/common/error.hpp"

namespace tauto::runner {

/// What the input_error said that `action` threw; empty if it threw none.
inline std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const input_error& error) {
        return error.what();
    }
    return "";
}

/// A request of a study, as far as all studies have it.
template <class Request>
Request asking(std::vector<int> cpus, int threads) {
    Request asked;
    asked.cpus = std::move(cpus);
    asked.threads = threads;
    return asked;
}

}  // namespace tauto::runner
