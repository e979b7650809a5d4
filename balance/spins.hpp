#pragma once
// Waits that nobody tells of: a thread looks at memory again and again until another one has written it.
//
// Where threads have equal shares, who is on a fast CPU waits for who is on a slow one. So code in which
// threads are found on fast CPUs and not on slow ones may be a loop in which they wait; or the threads there
// have another part than those on the slow ones. Threads that then change CPUs by their progress tell which:
// they wait less, and work as often.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "balance/code.hpp"

namespace tauto::balance {

class spins {
  public:
    // A thread was seen here, on the CPU with this index.
    void add(const code_place& where, std::size_t cpu);
    // Whether code in which threads may wait is among what was added, which is then kept for `confirm`.
    // `speeds`: work a second of each CPU.
    bool suspect(std::span<const double> speeds);
    // Whether the last answer was more than that there were too few samples.
    bool could_tell() const { return told_; }
    // Whether it is clear already that there is no such code.
    bool is_clear(std::span<const double> speeds) const;
    // What was added since then is of threads that change CPUs by their progress. Which part of all kept
    // samples were waits, on each CPU; none if there are none.
    std::vector<double> confirm();
    // Whether threads wait here, as was confirmed.
    bool are_at(const code_place& where) const { return known_.contains(where); }
    bool any_known() const { return !known_.empty(); }
    void forget();

  private:
    // Samples, of each CPU.
    using counts = std::map<code_place, std::vector<std::size_t>>;
    static std::map<std::uint64_t, double> totals(const counts& of);  // of each program
    struct told {
        bool is_enough = false;
        // Programs whose threads share the fast CPUs, because others have the slow ones: they do not wait
        // for who is slow.
        std::set<std::uint64_t> share_the_fast;
        std::set<code_place> rare;  // on slow CPUs, and together much of a program
        double most = 0;  // of the samples of a program on fast CPUs: code that is rare on slow ones
    };
    told tell(std::span<const double> speeds) const;
    static double sum_of(const std::vector<std::size_t>& of_each_cpu);

    counts seen_;
    counts kept_;
    std::set<code_place> suspects_;
    std::set<code_place> known_;
    bool told_ = false;
};

}  // namespace tauto::balance
