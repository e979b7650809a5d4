#pragma once
// team::run: one body on every member at once.

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>

#include <tauto/team.hpp>

#include "launcher.hpp"

namespace tauto::detail {

// Runs the body on the calling thread, as the only member.
void run_alone(const run_call& call, const std::stop_token* stop);

class body_runner {
  public:
    body_runner(launcher& members, wait_policy wait) : members_(members), wait_(wait) {}
    // Rethrows the exception of the lowest rank.
    void run(const run_call& call, const char* name, const std::stop_token* stop);
    // Done by the first run too.
    void prepare();
    // How the members wait for each other: known after prepare(). On any thread.
    [[nodiscard]] barrier_shape shape() const noexcept { return shape_.load(std::memory_order_relaxed); }
    // All members gone (after a fork): as new.
    void reset() noexcept;

  private:
    void run_on_all(const run_call& call, const char* name);
    void choose_shape();
    std::int64_t barrier_ticks();

    launcher& members_;
    wait_policy wait_;
    std::unique_ptr<collectives> meetings_;
    std::atomic<barrier_shape> shape_{barrier_shape::rows};
};

}  // namespace tauto::detail
