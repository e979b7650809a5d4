#pragma once
// The account of time and energy: integer nanoseconds and integer picojoules, so that both add up exactly, up
// to 9.2 MJ; more is refused. check() compares the sum over the members with the energy of the whole machine.

#include <array>
#include <cstdint>
#include <vector>

#include "machine.hpp"

namespace tauto::sim {

enum class activity : std::uint8_t { idle, working, waiting };  // waiting: awake without work

inline constexpr std::array<const char*, 3> activity_names = {"idle", "working", "waiting"};

struct slice {
    actor_id member = 0;
    activity what = activity::idle;
    nanoseconds begin = 0;
    nanoseconds end = 0;
    std::int64_t milliwatts = 0;
};

class ledger {
  public:
    // `members` accounts, all idle at time 0 without power; `base`: the constant power of the rest.
    ledger(std::size_t members, std::int64_t base_milliwatts, bool keep_slices)
        : accounts_(members), base_(base_milliwatts), drawn_(base_milliwatts), keep_slices_(keep_slices) {}

    // From `at` on the member does `what` and draws this power.
    void enter(actor_id member, activity what, std::int64_t milliwatts, nanoseconds at);
    // Sets the power of the rest of the machine from `at` on.
    void set_base(std::int64_t milliwatts, nanoseconds at);
    // Closes all accounts at the end of the run.
    void close(nanoseconds at);

    [[nodiscard]] activity doing(actor_id member) const noexcept { return accounts_[member].what; }
    [[nodiscard]] nanoseconds time(actor_id member, activity what) const noexcept {
        return accounts_[member].spent[static_cast<std::size_t>(what)];
    }
    [[nodiscard]] std::int64_t picojoules(actor_id member) const noexcept {
        return accounts_[member].picojoules;
    }
    [[nodiscard]] std::int64_t total_picojoules() const noexcept { return total_; }
    // The energy of the machine until `at`, which must not be before the last change.
    [[nodiscard]] std::int64_t energy_until(nanoseconds at) const;
    [[nodiscard]] std::int64_t base_picojoules() const noexcept { return base_energy_; }
    [[nodiscard]] nanoseconds end() const noexcept { return now_; }
    [[nodiscard]] nanoseconds total(activity what) const noexcept;
    [[nodiscard]] std::size_t members() const noexcept { return accounts_.size(); }
    [[nodiscard]] const std::vector<slice>& slices() const noexcept { return slices_; }

    // Checks after close() that each member's times add up to the whole run, and that all energies add up to
    // the machine's, to the nanosecond and picojoule. Throws std::logic_error if they do not.
    void check() const;

  private:
    struct account {
        activity what = activity::idle;
        nanoseconds since = 0;
        std::int64_t milliwatts = 0;
        std::int64_t picojoules = 0;
        std::array<nanoseconds, 3> spent{};
    };
    void advance(nanoseconds at);
    void settle(actor_id member, nanoseconds at);

    static constexpr std::size_t most_slices = 20'000;
    std::vector<account> accounts_;
    std::vector<slice> slices_;
    std::int64_t base_;
    std::int64_t drawn_;            // by all together, now
    std::int64_t total_ = 0;        // integrated from drawn_, independently of the accounts
    std::int64_t base_energy_ = 0;  // the base's part of it
    nanoseconds base_since_ = 0;
    nanoseconds now_ = 0;
    bool keep_slices_;
};

}  // namespace tauto::sim
