#pragma once
// Whether each member of a team has a CPU of its own: looked at again while the team is used, because masks,
// cpusets, quotas and other teams change after it was made.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <vector>

#include <tauto/clock.hpp>

namespace tauto::detail {

// True when each of these threads can have a CPU that no other of them has. mask: the CPUs that one may run
// on.
[[nodiscard]] bool each_has_a_cpu(std::vector<std::vector<int>> masks);

class room {
  public:
    // `root`: of the files that tell the quota.
    explicit room(std::filesystem::path root = "/");
    ~room();
    room(const room&) = delete;
    room& operator=(const room&) = delete;

    // Asked before each launch: true when the last look is a second old. It reads the clock once in 16
    // launches while these are short, so it costs less than a nanosecond.
    template <class Clock>
    [[nodiscard]] bool due(Clock clock) noexcept {
        if (--launches_left_ > 0) return false;
        const std::int64_t now = clock();
        const std::int64_t since = now - asked_;
        asked_ = now;
        launches_left_ = since >= 0 && since < second_ / 64 ? 16 : 1;
        // Less than nothing: the counter was set back.
        return now - looked_ >= second_ || now < looked_;
    }
    // `masks` of the members, none twice on one CPU by the team's own list. Counts with them the members of
    // teams that looked in the last three seconds and may run on the same CPUs, and asks for the quota. Some
    // 0.1 ms.
    void look(std::vector<std::vector<int>> masks, std::int64_t now);
    // As of the last look. On any thread.
    [[nodiscard]] bool crowded() const noexcept { return crowded_.load(std::memory_order_relaxed); }

  private:
    room* next_ = nullptr;  // in the list of all, under locks_of_process().rooms
    std::filesystem::path root_;
    std::int64_t second_;
    int launches_left_ = 16;
    std::int64_t asked_;
    // Written under that lock, where other teams read them.
    std::int64_t looked_;
    std::vector<std::vector<int>> masks_;
    std::atomic<bool> crowded_{false};
};

}  // namespace tauto::detail
