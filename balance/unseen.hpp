#pragma once
// Watches where threads are in their code, to find waits that nobody tells of, and to count them as no work.

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "balance/code.hpp"
#include "balance/samples.hpp"
#include "balance/speeds.hpp"
#include "balance/spins.hpp"

namespace tauto::balance {

class unseen_waits {
  public:
    explicit unseen_waits(const speeds& cpus) : cpus_(cpus) {}

    // From now on all threads that are added, at most 64: each takes a file.
    void watch(bool on);
    bool watches() const { return watches_; }
    void add(pid_t thread);
    void drop(pid_t thread) { watched_.erase(thread); }
    void drop_all();
    // Whether the system refused to tell.
    bool was_refused() const { return refused_; }

    // Of one thread, since the last call.
    struct waits {
        double work = 0;       // what seemed to be work, in seconds at speed 1
        nanoseconds time = 0;  // of its CPU time
        bool goes_on = false;  // it waited when it was seen last, just now
    };
    waits read(pid_t process, pid_t thread);

    // Whether threads may have waited since their code is watched; see spins.
    bool suspects() { return spins_.suspect(cpus_.per_second()); }
    // Whether the last answer was more than that it was seen too little.
    bool could_tell() const { return spins_.could_tell(); }
    // Whether it is clear already that they have not.
    bool is_clear() const { return spins_.is_clear(cpus_.per_second()); }
    // After threads were moved by their progress: what of the CPU time before was waits, of which a window
    // has `ran`. From now on `read` knows them.
    waits confirm(nanoseconds ran);
    bool any_known() const { return spins_.any_known(); }
    void forget() { spins_.forget(); }

  private:
    const speeds& cpus_;
    std::map<pid_t, std::unique_ptr<samples>> watched_;
    bool watches_ = false;
    bool refused_ = false;
    nanoseconds each_ = 0;  // of CPU time, for one sample
    code code_;
    spins spins_;
    std::vector<sample> seen_;
};

}  // namespace tauto::balance
