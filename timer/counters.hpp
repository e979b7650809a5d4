#pragma once
// The kernel's counters of all that is started here, through perf_event_open(2).
//
// They are opened once, for this process, to be inherited and to begin at an exec. So they stand still here,
// and count from the exec of a child on, with its threads and children; the kernel adds them up as each ends.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tauto::timer {

struct counted_event {
    std::string name;
    std::uint32_t kind;  // PERF_TYPE_...
    std::uint64_t config;
};

// Instructions, cycles, mispredicted branches and misses of the last cache, of all kinds of core.
std::vector<counted_event> hardware_events();

class counters {
  public:
    using totals = std::map<std::string, std::vector<std::uint64_t>>;

    // Opens what the kernel allows.
    explicit counters(const std::vector<counted_event>& events);
    ~counters();
    counters(const counters&) = delete;
    counters& operator=(const counters&) = delete;

    // Of all that has ended so far.
    [[nodiscard]] totals read() const;

    // What was counted between two reads; scaled up for the time in which a counter had no register. Nothing
    // for one that never had one.
    [[nodiscard]] std::map<std::string, std::optional<double>> between(const totals& before,
                                                                       const totals& later) const;

    // Why some are not here; empty if all are.
    [[nodiscard]] const std::string& reason() const { return reason_; }
    // "user and kernel", or "user" where the kernel lets nobody count in it.
    [[nodiscard]] const char* scope() const { return user_only_ ? "user" : "user and kernel"; }

  private:
    bool open(const counted_event& event, bool user_only);

    std::map<std::string, std::vector<int>> opened_;
    std::string reason_;
    bool user_only_ = false;
};

}  // namespace tauto::timer
