#pragma once
// For the tests of the runners' parts.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runners/shared/error.hpp"
#include "runners/shared/options.hpp"
#include "tests/cpp/refusals.hpp"

namespace tauto::runner {

using testing::mentions;

/// What the input_error said that `action` threw; empty if it threw none.
inline std::string message_of(const std::function<void()>& action) {
    return testing::message_of<input_error>(action);
}

/// What `parse` makes of a command line of these words.
template <class Parse>
auto parsed_by(Parse&& parse, std::vector<std::string> words, std::string name, const description& runtime) {
    words.insert(words.begin(), name);
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    return parse(static_cast<int>(arguments.size()), arguments.data(), name, runtime);
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
