#pragma once
// B15 to B18: collectives between members, the same loop for every engine. A barrier is timed in batches; an
// all_reduce or all_gather call by call, on data written just before it: buffers that nobody rewrites stay in
// both caches and look several times faster than they are in a program.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "benchmarks/program.hpp"

namespace tauto::bench {

struct collective_options {
    std::string operation = "all_reduce";
    std::vector<std::int64_t> words = {1, 7, 8, 64, 512, 1024, 4096};
    int rounds = 30;
    int calls = 20;
};

inline void add_collective_options(arguments& app, collective_options& wanted) {
    app.word("--operation", wanted.operation, "What to time", {"barrier", "all_reduce", "all_gather"});
    app.numbers("--words", wanted.words,
                "Lengths in doubles, separated by commas: of all_reduce's data, of all_gather's part",
                std::int64_t{1}, std::int64_t{1} << 24);
    app.number("--rounds", wanted.rounds, "Rounds over all lengths, each in an order of its own", 1, 100'000);
    app.number("--calls", wanted.calls, "Timed calls of a length in a round", 1, 100'000);
}

/// What a member brings to a call: small whole numbers, whose sums are exact in every order.
inline double fresh_word(std::size_t i, int call, int rank) {
    return static_cast<double>((i * 5 + static_cast<std::size_t>(call) * 3 + static_cast<std::size_t>(rank)) %
                               64);
}

/// Seconds of each call on this member, `calls` of them after two untimed ones. `me` has rank, size, barrier,
/// all_reduce and all_gather.
template <class Member>
std::vector<double> call_seconds(Member& me, const collective_options& wanted, std::int64_t words) {
    const auto n = static_cast<std::size_t>(words);
    const bool reduce = wanted.operation == "all_reduce";
    std::vector<double> part(n);
    std::vector<double> whole(reduce ? 0 : n * static_cast<std::size_t>(me.size()));
    std::vector<double> seconds;
    for (int call = -2; call < wanted.calls; ++call) {
        for (std::size_t i = 0; i < n; ++i) part[i] = fresh_word(i, call + 2, me.rank());
        me.barrier();
        const double begin = seconds_now();
        if (reduce) {
            me.all_reduce(std::span<double>(part), std::plus<>{});
        } else {
            me.all_gather(std::span<const double>(part), std::span<double>(whole));
        }
        const double end = seconds_now();
        if (call >= 0) seconds.push_back(end - begin);
        for (const std::size_t i : {std::size_t{0}, n / 2, n - 1}) {
            double sum = 0;
            for (int rank = 0; rank < me.size(); ++rank) {
                const double right = fresh_word(i, call + 2, rank);
                sum += right;
                if (!reduce && whole[static_cast<std::size_t>(rank) * n + i] != right)
                    throw std::runtime_error("wrong word in an all_gather of " + std::to_string(words));
            }
            if (reduce && part[i] != sum)
                throw std::runtime_error("wrong word in an all_reduce of " + std::to_string(words));
        }
    }
    return seconds;
}

/// Every length's calls, each the longest of all members; complete on every member.
template <class Member>
std::vector<std::vector<double>> collective_seconds(Member& me, const collective_options& wanted) {
    std::vector<std::vector<double>> of_length(wanted.words.size());
    std::vector<std::size_t> order(wanted.words.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937 random(1);  // the same on every member
    for (int round = 0; round < wanted.rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t which : order) {
            std::vector<double> seconds = call_seconds(me, wanted, wanted.words[which]);
            me.all_reduce(std::span<double>(seconds), [](double a, double b) { return std::max(a, b); });
            of_length[which].insert(of_length[which].end(), seconds.begin(), seconds.end());
        }
    }
    return of_length;
}

/// Seconds of one barrier, batch by batch; complete on rank 0.
template <class Member>
std::vector<double> barrier_seconds(Member& me, const options& asked) {
    constexpr int barriers = 200;
    std::vector<double> batches;
    double start = seconds_now();
    bool warm = asked.warmup_seconds > 0;
    for (double more = 1; more != 0;) {
        const double begin = seconds_now();
        for (int i = 0; i < barriers; ++i) me.barrier();
        const double end = seconds_now();
        if (warm && end - start >= asked.warmup_seconds) {
            start = end;
            warm = false;
        } else if (!warm) {
            batches.push_back((end - begin) / barriers);
        }
        more = warm || end - start < asked.min_seconds || batches.size() < 9 ? 1 : 0;
        me.broadcast(std::span<double>(&more, 1));
    }
    return batches;
}

/// The printed row: `seconds` is the median barrier, or that of the first length; `curve` has all lengths.
inline json collective_row(const options& asked, const collective_options& wanted, int members,
                           const std::vector<std::vector<double>>& of_length) {
    json row = timed(of_length.front());
    row["operation"] = wanted.operation;
    row["members"] = members;
    row["wait"] = asked.wait;
    row["cpus"] = asked.cpus;
    if (wanted.operation == "barrier") return row;
    json curve = json::array();
    for (std::size_t i = 0; i < of_length.size(); ++i) {
        std::vector<double> sorted = of_length[i];
        std::sort(sorted.begin(), sorted.end());
        curve.push_back({{"words", wanted.words[i]},
                         {"seconds", runner::median(sorted)},
                         {"lower_quartile", sorted[sorted.size() / 4]},
                         {"upper_quartile", sorted[sorted.size() * 3 / 4]}});
    }
    row["calls"] = wanted.rounds * wanted.calls;
    row["curve"] = std::move(curve);
    return row;
}

/// The whole of a program on one member: what rank 0 prints.
template <class Member>
std::vector<std::vector<double>> run_collective(Member& me, const options& asked,
                                                const collective_options& wanted) {
    if (wanted.operation == "barrier") return {barrier_seconds(me, asked)};
    return collective_seconds(me, wanted);
}

}  // namespace tauto::bench
