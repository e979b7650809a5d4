#pragma once
// A block of calls that are timed together, and the meter that times it.

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <iterator>

namespace tauto {

namespace detail {

// What the process has used so far, all its threads together.
struct used {
    double cpu_seconds = 0;
    std::int64_t switches = 0;  // of its threads, for any reason
    std::int64_t forced = 0;    // of these: something else was given the CPU
};

// Where times come from. Tests have one of their own.
class meter {
  public:
    virtual std::int64_t nanoseconds() noexcept = 0;
    virtual used usage() noexcept = 0;

  protected:
    ~meter() = default;
};

class system_meter final : public meter {
  public:
    std::int64_t nanoseconds() noexcept override {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    }

    used usage() noexcept override {
        rusage now{};
        getrusage(RUSAGE_SELF, &now);
        const auto seconds = [](const timeval& time) {
            return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
        };
        return {seconds(now.ru_utime) + seconds(now.ru_stime), now.ru_nvcsw + now.ru_nivcsw, now.ru_nivcsw};
    }
};

}  // namespace detail

// Handed to a callable that sets up its own work: the loop over the block is what is timed.
//
//     [&](tauto::block& block) {
//         std::vector<int> copy = data;                // not timed
//         for (auto call : block) use(copy);           // block.calls() times
//     }
//
// The body must run this loop once, to its end.
class block {
  public:
    block(detail::meter& meter, std::int64_t calls) noexcept : meter_(meter), calls_(calls) {}
    block(const block&) = delete;
    block& operator=(const block&) = delete;

    // How often the loop will go round.
    [[nodiscard]] std::int64_t calls() const noexcept { return calls_; }

    // Inside the loop: what follows is not timed, until resume(). Each pause costs two readings of the clock,
    // about one of which is timed. CPU time and context switches count on.
    void pause() noexcept {
        nanoseconds_ += meter_.nanoseconds() - begun_;
        paused_ = true;
        ++pauses_;
    }
    void resume() noexcept {
        paused_ = false;
        begun_ = meter_.nanoseconds();
    }

    // The block took so long, whatever the clock says: for times that a device has measured.
    void took(std::chrono::nanoseconds time) noexcept {
        told_ += time.count();
        is_told_ = true;
    }

    struct [[maybe_unused]] call {};

    class turns {
      public:
        explicit turns(block& owner) noexcept : owner_(owner), left_(owner.calls_) {}
        [[nodiscard]] call operator*() const noexcept { return {}; }
        turns& operator++() noexcept {
            --left_;
            return *this;
        }
        [[nodiscard]] bool operator!=(std::default_sentinel_t) noexcept {
            if (left_ != 0) [[likely]]
                return true;
            owner_.finish();
            return false;
        }

      private:
        block& owner_;
        std::int64_t left_;
    };

    [[nodiscard]] turns begin() noexcept {
        ++loops_;
        before_ = meter_.usage();
        begun_ = meter_.nanoseconds();
        return turns(*this);
    }
    [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

    // For those who run blocks: after the body.
    [[nodiscard]] bool complete() const noexcept { return finished_ && loops_ == 1 && !paused_; }
    [[nodiscard]] std::int64_t nanoseconds() const noexcept { return is_told_ ? told_ : nanoseconds_; }
    [[nodiscard]] std::int64_t pauses() const noexcept { return pauses_; }
    [[nodiscard]] detail::used usage() const noexcept { return usage_; }

  private:
    void finish() noexcept {
        if (!paused_) nanoseconds_ += meter_.nanoseconds() - begun_;
        const detail::used after = meter_.usage();
        usage_ = {after.cpu_seconds - before_.cpu_seconds, after.switches - before_.switches,
                  after.forced - before_.forced};
        finished_ = true;
    }

    detail::meter& meter_;
    std::int64_t calls_;
    std::int64_t begun_ = 0;
    std::int64_t nanoseconds_ = 0;
    std::int64_t told_ = 0;
    std::int64_t pauses_ = 0;
    detail::used before_;
    detail::used usage_;
    int loops_ = 0;
    bool is_told_ = false;
    bool paused_ = false;
    bool finished_ = false;
};

}  // namespace tauto
