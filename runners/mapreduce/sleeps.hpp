#pragma once
// Where in the code threads sleep: for which lock, in which wait. Read from outside, so the threads do
// nothing for it.

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tauto::runner {

/// A place where threads slept at a futex.
struct sleeping_place {
    std::string name;    ///< the function that called the C library, or its library where that has no name
    double threads = 0;  ///< that slept there, on average
    std::size_t addresses = 0;  ///< of how many different words: 1 is one lock or one condition
};

/// What /proc/…/syscall says of a thread that waits at a futex; nothing for any other thread.
struct futex_wait {
    std::uintptr_t address;
    std::uintptr_t stack;
    static std::optional<futex_wait> parse(std::string_view line);
};

/// Looks at every other thread of the process a thousand times a second, from its making until places().
class sleep_sampler {
  public:
    sleep_sampler();
    ~sleep_sampler() { end(); }
    sleep_sampler(const sleep_sampler&) = delete;
    sleep_sampler& operator=(const sleep_sampler&) = delete;

    /// Ends the sampling. Most threads first; empty where the kernel does not tell.
    std::vector<sleeping_place> places();

  private:
    struct place {
        std::int64_t seen = 0;
        std::set<std::uintptr_t> addresses;
    };
    void sample(pid_t own);
    void end();

    std::atomic<bool> end_{false};
    std::int64_t looks_ = 0;
    std::map<std::string, place> places_;
    std::thread thread_;  // last: it uses all others
};

}  // namespace tauto::runner
