#pragma once
// What a comparison found, and how it is told: one sentence, a table, what stood in the way; or as JSON, CSV
// and Markdown.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tauto/compare_text.hpp>
#include <tauto/sign_test.hpp>

namespace tauto {

// One callable. Times are of a call.
struct compared {
    std::string name;
    double seconds = std::numeric_limits<double>::quiet_NaN();  // the median over rounds
    // They bound it; NaN with too few rounds. No ground for a verdict: they do not know of the pairs.
    double low = std::numeric_limits<double>::quiet_NaN();
    double high = std::numeric_limits<double>::quiet_NaN();
    double cpu_seconds = 0;           // of all threads of the process, in the mean; pauses count
    std::int64_t switches = 0;        // context switches of the process while its blocks ran
    std::int64_t calls = 0;           // in its last block
    std::vector<double> points = {};  // seconds, in the order of the rounds
    paired_ratio ratio = {};          // by the reference's time; the reference has none
};

// The whole answer. The first of `sides` is the reference.
struct comparison {
    std::string cell = {};  // which one of a sweep
    std::vector<compared> sides = {};
    int rounds = 0;
    int blocks = 1;               // of each callable in a round, whose median counts
    std::vector<int> looks = {};  // after how many rounds it was to be looked at the ratios
    double confidence = 0.99;     // of all verdicts and looks together
    double batch = 1;             // operations of a call
    std::string unit = {};        // what an operation is; empty: figures are of a call
    double step_seconds = 0;      // the smallest that the clock moves
    double block_seconds = 0;     // the median, of the side with the shorter blocks
    double clock_error = 0;       // by how much of itself the clock may move a ratio; less is no difference
    double overhead_seconds = 0;  // of the loop around a call
    std::vector<std::string> notes = {};

    [[nodiscard]] const compared& reference() const { return sides.front(); }

    // By how much the side differs from the reference at most (0.01: 1 %), the clock's steps included.
    [[nodiscard]] double bound(const compared& side) const noexcept {
        return std::max(side.ratio.high, 1 / side.ratio.low) - 1 + clock_error;
    }

    [[nodiscard]] std::string sentence() const;
    // A row for each callable, for a terminal.
    [[nodiscard]] std::string table() const;
    // The sentence, and the table for a page.
    [[nodiscard]] std::string markdown() const;
    // One line: an object with the fields of `tauto compare --json`.
    [[nodiscard]] std::string json() const;
    // A line for each callable, below the names of the columns.
    [[nodiscard]] std::string csv() const;
};

// A comparison for each of some arguments.
struct sweep {
    std::vector<comparison> cells = {};

    // Over all cells, of the side at that place: the geometric mean of each round, judged as one ratio.
    [[nodiscard]] paired_ratio geometric_mean(std::size_t side = 1) const;
    [[nodiscard]] std::string sentence() const;
    [[nodiscard]] std::string table() const;
    [[nodiscard]] std::string markdown() const;
    [[nodiscard]] std::string json() const;
    [[nodiscard]] std::string csv() const;
    // Those of the cells.
    [[nodiscard]] std::vector<std::string> notes() const;
};

namespace detail {

[[nodiscard]] inline std::string an_operation(const comparison& found) {
    return found.unit.empty() ? "call" : found.unit;
}

[[nodiscard]] inline double of_an_operation(const comparison& found, double seconds) {
    return found.unit.empty() ? seconds : seconds / found.batch;
}

// "is 1.08 to 1.11 times as fast", "takes 1.08 to 1.11 times as long"; only of a verdict that says so.
[[nodiscard]] inline std::string what_it_does(const paired_ratio& ratio) {
    if (ratio.verdict == verdict::faster)
        return "is " + between(1 / ratio.high, 1 / ratio.low) + " times as fast";
    return "takes " + between(ratio.low, ratio.high) + " times as long";
}

[[nodiscard]] inline std::string too_few(const paired_ratio& ratio) {
    const int needed = rounds_needed(ratio.confidence, 1);
    return counted(ratio.rounds, "round") + (ratio.rounds == 1 ? " is" : " are") + " too few, " +
           std::to_string(needed) + " are needed";
}

[[nodiscard]] inline std::string sentence_of_one(const comparison& found) {
    const compared& only = found.reference();
    const auto text = [&](double seconds) { return time_text(of_an_operation(found, seconds)); };
    const std::string interval = std::isnan(only.low) ? ""
                                                      : text(only.low) + " to " + text(only.high) + " with " +
                                                            confidence_text(found.confidence) + ", ";
    return only.name + " takes " + text(only.seconds) + " a " + an_operation(found) + " (" + interval +
           counted(found.rounds, "round") + ").";
}

[[nodiscard]] inline std::string sentence_of_two(const comparison& found) {
    const compared& old = found.sides[0];
    const compared& side = found.sides[1];
    const std::string basis =
        " (" + confidence_text(found.confidence) + ", " + counted(found.rounds, "round") + ").";
    const auto text = [&](double seconds) { return time_text(of_an_operation(found, seconds)); };
    switch (side.ratio.verdict) {
        case verdict::not_measured:
            return "Whether " + side.name + " is faster than " + old.name +
                   " cannot be told: " + too_few(side.ratio) + ".";
        case verdict::no_difference:
            return "No difference is resolved between " + old.name + " and " + side.name +
                   ": it is smaller than " + percent_text(found.bound(side)) + " of " + text(old.seconds) +
                   " a " + an_operation(found) + basis;
        default:
            return side.name + ' ' + what_it_does(side.ratio) + " as " + old.name + ": " +
                   text(side.seconds) + " against " + text(old.seconds) + " a " + an_operation(found) + basis;
    }
}

[[nodiscard]] inline std::string sentence_of_many(const comparison& found) {
    std::vector<std::string> told;
    std::vector<std::string> alike;
    std::vector<std::string> untold;
    for (std::size_t i = 1; i < found.sides.size(); ++i) {
        const compared& side = found.sides[i];
        if (side.ratio.verdict == verdict::not_measured)
            untold.push_back(side.name);
        else if (side.ratio.verdict == verdict::no_difference)
            alike.push_back(side.name);
        else
            told.push_back(side.name + ' ' + what_it_does(side.ratio));
    }
    std::vector<std::string> parts = told;
    if (!alike.empty()) parts.push_back("no difference is resolved for " + listed(alike));
    if (!untold.empty())
        parts.push_back(listed(untold) + " cannot be told: " + too_few(found.sides.back().ratio));
    std::string text = "Against " + found.reference().name + ": ";
    for (const std::string& part : parts) text += (&part == &parts.front() ? "" : "; ") + part;
    return text + " (" + confidence_text(found.confidence) + " for all together, " +
           counted(found.rounds, "round") + ").";
}

// The rows of some comparisons, one below the other.
[[nodiscard]] inline text_table table_of(const std::vector<const comparison*>& cells) {
    bool has_cells = false;
    bool has_ratio = false;
    bool has_switches = false;
    std::string unit;
    for (const comparison* found : cells) {
        has_cells = has_cells || !found->cell.empty();
        has_ratio = has_ratio || found->sides.size() > 1;
        if (!found->unit.empty()) unit = found->unit;
        for (const compared& side : found->sides) has_switches = has_switches || side.switches > 0;
    }
    text_table table;
    const auto add = [&](const std::string& cell, std::vector<std::string> row, std::string switches) {
        if (has_cells) row.insert(row.begin(), cell);
        if (has_switches) row.push_back(std::move(switches));
        table.add(std::move(row));
    };
    std::vector<std::string> headings = {"", "time a " + (unit.empty() ? "call" : unit)};
    if (!unit.empty()) headings.push_back(unit + "s a second");
    if (has_ratio) headings.insert(headings.end(), {"ratio", "interval"});
    headings.insert(headings.end(), {"rounds", "CPU time"});
    add("", headings, "switches");
    for (const comparison* found : cells) {
        for (const compared& side : found->sides) {
            const double seconds = of_an_operation(*found, side.seconds);
            std::vector<std::string> row = {side.name, time_text(seconds)};
            if (!unit.empty()) row.push_back(amount_text(1 / seconds));
            if (has_ratio) {
                const paired_ratio& ratio = side.ratio;
                row.push_back(&side == &found->sides.front() ? "1" : fixed(ratio.ratio, 3));
                row.push_back(std::isnan(ratio.low) ? ""
                                                    : fixed(ratio.low, 3) + " to " + fixed(ratio.high, 3));
            }
            row.push_back(std::to_string(found->rounds));
            row.push_back(time_text(of_an_operation(*found, side.cpu_seconds)));
            add(found->cell, row, std::to_string(side.switches));
        }
    }
    return table;
}

[[nodiscard]] inline std::string json_of(const paired_ratio& ratio) {
    return "\"ratio\":" + json_number(ratio.ratio) + ",\"low\":" + json_number(ratio.low) +
           ",\"high\":" + json_number(ratio.high) + ",\"confidence\":" + json_number(ratio.confidence) +
           ",\"rounds\":" + std::to_string(ratio.rounds) +
           ",\"verdict\":" + json_string(word_of(ratio.verdict)) +
           ",\"coverage\":" + json_number(ratio.coverage) + ",\"paired\":true";
}

// The fields of one side, whose names begin with a or b.
[[nodiscard]] inline std::string json_of(char which, const compared& side) {
    const std::string prefix = std::string(",\"") + which + '_';
    return prefix + "seconds\":" + json_number(side.seconds) + prefix + "joules\":null" + prefix +
           "cpu_seconds\":" + json_number(side.cpu_seconds) + prefix +
           "switches\":" + std::to_string(side.switches) + prefix + "calls\":" + std::to_string(side.calls);
}

[[nodiscard]] inline std::string json_of(const comparison& found, const compared& side) {
    const bool told = side.ratio.verdict != verdict::not_measured;
    const compared& old = found.reference();
    return "{\"cell\":" + json_string(found.cell) + ",\"a\":" + json_string(old.name) +
           ",\"b\":" + json_string(side.name) + json_of('a', old) + json_of('b', side) +
           ",\"reason\":" + (told ? "null" : json_string(too_few(side.ratio))) +
           ",\"energy\":null,\"drift\":null," + json_of(side.ratio) + '}';
}

[[nodiscard]] inline std::string json_of(const std::vector<const comparison*>& cells,
                                         const std::vector<std::string>& notes, const std::string& mean) {
    const auto append = [](std::string& list, const std::string& item) {
        if (!list.empty()) list += ',';
        list += item;
    };
    std::vector<std::string> rivals;
    std::string lines;
    const auto add = [&](const comparison& found, const compared& side) {
        append(lines, json_of(found, side));
    };
    for (const comparison* found : cells) {
        if (found->sides.size() == 1) add(*found, found->reference());
        for (std::size_t i = 1; i < found->sides.size(); ++i) {
            add(*found, found->sides[i]);
            const std::string& name = found->sides[i].name;
            if (std::find(rivals.begin(), rivals.end(), name) == rivals.end()) rivals.push_back(name);
        }
    }
    std::string told;
    for (const std::string& note : notes) append(told, json_string(note));
    const std::string a = cells.empty() ? "" : cells.front()->reference().name;
    return std::string("{\"schema\":\"tautochrone.comparison/1\",\"a\":") + json_string(a) +
           ",\"b\":" + json_string(listed(rivals)) + ",\"paired\":true,\"comparisons\":[" + lines +
           "],\"geometric_mean\":" + mean + ",\"notes\":[" + told + "]}\n";
}

[[nodiscard]] inline std::string csv_of(const std::vector<const comparison*>& cells) {
    std::string text =
        "cell,name,seconds,ratio,low,high,confidence,coverage,rounds,verdict,cpu_seconds,"
        "switches,calls\n";
    for (const comparison* found : cells) {
        for (const compared& side : found->sides) {
            const paired_ratio& ratio = side.ratio;
            const bool is_rival = &side != &found->sides.front();
            text += csv_string(found->cell) + ',' + csv_string(side.name) + ',' + csv_number(side.seconds);
            for (const double figure : {ratio.ratio, ratio.low, ratio.high}) text += ',' + csv_number(figure);
            text += ',' + (is_rival ? csv_number(ratio.confidence) : "") + ',' + csv_number(ratio.coverage) +
                    ',' + std::to_string(found->rounds) + ',' + (is_rival ? word_of(ratio.verdict) : "") +
                    ',' + csv_number(side.cpu_seconds) + ',' + std::to_string(side.switches) + ',' +
                    std::to_string(side.calls) + '\n';
        }
    }
    return text;
}

[[nodiscard]] inline std::vector<const comparison*> pointers(const std::vector<comparison>& cells) {
    std::vector<const comparison*> all;
    for (const comparison& found : cells) all.push_back(&found);
    return all;
}

inline void print(std::ostream& out, const std::string& sentence, const std::string& table,
                  const std::vector<std::string>& notes) {
    out << sentence << "\n\n" << table;
    if (!notes.empty()) out << '\n';
    for (const std::string& note : notes) out << "Note: " << note << ".\n";
}

}  // namespace detail

inline std::string comparison::sentence() const {
    if (sides.size() == 1) return detail::sentence_of_one(*this);
    return sides.size() == 2 ? detail::sentence_of_two(*this) : detail::sentence_of_many(*this);
}
inline std::string comparison::table() const {
    return detail::table_of({this}).plain();
}
inline std::string comparison::markdown() const {
    return sentence() + "\n\n" + detail::table_of({this}).markdown();
}
inline std::string comparison::json() const {
    return detail::json_of({this}, notes, "null");
}
inline std::string comparison::csv() const {
    return detail::csv_of({this});
}

inline std::ostream& operator<<(std::ostream& out, const comparison& found) {
    detail::print(out, found.sentence(), found.table(), found.notes);
    return out;
}

inline paired_ratio sweep::geometric_mean(std::size_t side) const {
    std::size_t rounds = std::numeric_limits<std::size_t>::max();
    int comparisons = 1;
    for (const comparison& found : cells) {
        rounds = std::min(rounds, found.sides.at(side).points.size());
        comparisons = std::max(
            comparisons, detail::int_size(found.looks) * std::max(1, detail::int_size(found.sides) - 1));
    }
    std::vector<double> draws(cells.empty() ? 0 : rounds);
    for (const comparison& found : cells) {
        for (std::size_t i = 0; i < draws.size(); ++i)
            draws[i] += detail::log_ratio(found.sides.at(side).points[i], found.reference().points[i]) /
                        static_cast<double>(cells.size());
    }
    return detail::judge(std::move(draws), cells.empty() ? 0.99 : cells.front().confidence, comparisons);
}
inline std::string sweep::sentence() const {
    if (cells.empty()) return "Nothing was compared.";
    const std::vector<compared>& sides = cells.front().sides;
    const std::string& old = sides.front().name;
    const std::string where = " in the geometric mean of " + detail::counted(std::ssize(cells), "cell");
    if (sides.size() == 1)
        return old + " was measured in " + detail::counted(std::ssize(cells), "cell") + ".";
    std::string text;
    for (std::size_t side = 1; side < sides.size(); ++side) {
        const paired_ratio mean = geometric_mean(side);
        const std::string basis = " (" + detail::confidence_text(cells.front().confidence) + ", " +
                                  detail::counted(mean.rounds, "round") + ").";
        const std::string& name = sides[side].name;
        if (side > 1) text += ' ';
        if (mean.verdict == verdict::not_measured)
            text += "Whether " + name + " is faster than " + old +
                    " cannot be told: " + detail::too_few(mean) + ".";
        else if (mean.verdict == verdict::no_difference)
            text += "No difference is resolved between " + old + " and " + name + where +
                    ": it is smaller than " + detail::percent_text(std::max(mean.high, 1 / mean.low) - 1) +
                    basis;
        else
            text += name + ' ' + detail::what_it_does(mean) + " as " + old + where + basis;
    }
    return text;
}
inline std::string sweep::table() const {
    return cells.empty() ? "" : detail::table_of(detail::pointers(cells)).plain();
}
inline std::string sweep::markdown() const {
    return sentence() + "\n\n" + (cells.empty() ? "" : detail::table_of(detail::pointers(cells)).markdown());
}
inline std::string sweep::json() const {
    const bool has_mean = !cells.empty() && cells.front().sides.size() == 2;
    const std::string mean = has_mean ? '{' + detail::json_of(geometric_mean()) + '}' : "null";
    return detail::json_of(detail::pointers(cells), notes(), mean);
}
inline std::string sweep::csv() const {
    return detail::csv_of(detail::pointers(cells));
}
inline std::vector<std::string> sweep::notes() const {
    std::vector<std::string> all;
    for (const comparison& found : cells) {
        for (const std::string& note : found.notes) all.push_back(found.cell + ": " + note);
    }
    return all;
}

inline std::ostream& operator<<(std::ostream& out, const sweep& found) {
    detail::print(out, found.sentence(), found.table(), found.notes());
    return out;
}

}  // namespace tauto
