#include "runners/collective/request.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "runners/shared/command_line.hpp"
#include "runners/shared/error.hpp"
#include "runners/shared/memory.hpp"
#include "runners/shared/signed.hpp"

namespace tauto::runner {

namespace {

struct named_collective {
    collective operation;
    std::string_view name;
    bool has_parts;
};

constexpr std::array<named_collective, 7> all_collectives{{
    {collective::barrier, "barrier", false},
    {collective::broadcast, "broadcast", false},
    {collective::all_reduce, "all_reduce", false},
    {collective::all_gather, "all_gather", true},
    {collective::reduce_scatter, "reduce_scatter", true},
    {collective::reduce_broadcast, "reduce_broadcast", false},
    {collective::gather_broadcast, "gather_broadcast", true},
}};

const named_collective& entry_of(collective operation) {
    return *std::ranges::find(all_collectives, operation, &named_collective::operation);
}

std::string all_names() {
    std::string text;
    for (const auto& one : all_collectives) text += (text.empty() ? "" : ", ") + std::string{one.name};
    return text;
}

std::vector<std::string> words_of(const std::string& text, const char* option) {
    std::vector<std::string> words;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        words.push_back(text.substr(from, comma - from));
        if (words.back().empty())
            throw input_error(std::string{option} + " '" + text +
                              "' has an empty item; separate the items by single commas");
        from = comma + 1;
    }
    return words;
}

std::vector<collective> parse_operations(const std::string& text) {
    std::vector<collective> found;
    for (const auto& word : words_of(text, "--operations")) {
        const auto known = std::ranges::find(all_collectives, word, &named_collective::name);
        if (known == all_collectives.end())
            throw input_error("there is no operation '" + word + "'; there are " + all_names());
        if (std::ranges::find(found, known->operation) == found.end()) found.push_back(known->operation);
    }
    return found;
}

std::vector<std::int64_t> parse_lengths(const std::string& text) {
    std::vector<std::int64_t> found;
    for (const auto& word : words_of(text, "--lengths")) {
        std::int64_t length = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), length);
        if (error != std::errc{} || end != word.data() + word.size() || length < 1 || length > most_words)
            throw input_error("--lengths: '" + word + "' is not a number of 8-byte words from 1 to " +
                              std::to_string(most_words));
        found.push_back(length);
    }
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

// Each rank has its words, its result, and what an engine may need to hold everyone's.
void require_memory_for(const collective_request& asked) {
    const double per_word = 8.0 * asked.threads * (asked.threads + 3.0);
    require_memory(
        as_double(asked.lengths.back()) * per_word,
        std::to_string(asked.lengths.back()) + " words on " + std::to_string(asked.threads) + " ranks",
        [&](double there) { return "use --lengths up to about " + whole_number(there / per_word); });
}

}  // namespace

std::string_view name_of(collective operation) {
    return entry_of(operation).name;
}

bool has_parts(collective operation) {
    return entry_of(operation).has_parts;
}

collective_request parse_collective(int argc, char** argv, std::string_view executable,
                                    const description& runtime) {
    collective_request chosen;
    std::string operations = "all_reduce,all_gather";
    std::string lengths = "1,8,64,512,1024,4096,65536";
    command_line line{"Collective operations against their length", "Words", executable, runtime, chosen};
    line.add("--engine", chosen.schedule, "The same as --schedule");
    line.add("--operations", operations, "Some of " + all_names());
    line.add("--lengths", lengths, "8-byte words: of a rank's data, in operations with parts of the whole");
    line.add("--sweeps", chosen.sweeps, "Visits to each length, in shuffled order");
    line.add("--seed", chosen.seed, "Of that order (default: another one in each run)");
    if (runtime.has_costs)
        line.add("--word-seconds", chosen.word_seconds,
                 "What an addition of a reduction takes in virtual time");
    if (!line.parse(argc, argv)) return chosen;
    if (!(chosen.word_seconds >= 0.0) || !(chosen.word_seconds < 1.0))
        throw input_error("--word-seconds must be a number from 0 to 1");
    chosen.operations = parse_operations(operations);
    chosen.lengths = parse_lengths(lengths);
    require_from_one("--sweeps", chosen.sweeps);
    require_at_most("--sweeps", chosen.sweeps, 1000);
    line.check();
    require_memory_for(chosen);
    return chosen;
}

}  // namespace tauto::runner
