#pragma once
// The collective study's operations on any engine of the concept tauto::spmd_member.

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>

#include "runners/collective/run.hpp"
#include "runners/shared/start_runner.hpp"

namespace tauto::runner {

template <class Member>
class member_engine {
  public:
    explicit member_engine(Member& me) : me_{me} {}

    static bool offers(collective operation) {
        return operation != collective::reduce_broadcast && operation != collective::gather_broadcast;
    }
    bool in_place(collective operation) const { return operation == collective::all_reduce; }

    void perform(collective operation, const rank_data& data) {
        const std::span<const double> mine{data.mine};
        switch (operation) {
            case collective::barrier:
                return me_.barrier();
            case collective::broadcast:
                return me_.broadcast(data.result);
            case collective::all_reduce:
                return me_.all_reduce(data.result, std::plus<>{});
            case collective::all_gather:
                return me_.all_gather(mine, data.result);
            case collective::reduce_scatter:
                return me_.reduce_scatter(mine, data.result, std::plus<>{});
            case collective::reduce_broadcast:
            case collective::gather_broadcast:
                return;
        }
    }

  protected:
    Member& me() { return me_; }

  private:
    Member& me_;
};

/// Memory for a start_line between threads.
class shared_zeros {
  public:
    explicit shared_zeros(std::size_t bytes)
        : memory_{static_cast<std::byte*>(::operator new (bytes, std::align_val_t{128}))} {
        std::fill_n(memory_.get(), bytes, std::byte{0});
    }
    void* data() { return memory_.get(); }

  private:
    struct release {
        void operator()(std::byte* memory) const noexcept {
            ::operator delete (memory, std::align_val_t{128});
        }
    };
    std::unique_ptr<std::byte, release> memory_;
};

/// Prints the row of what rank 0 saw. Returns the exit code.
template <class Adapter>
int report_collective(const description& runtime, const collective_request& asked, collective_result& seen) {
    if (const std::string reason = without_times(seen); !reason.empty()) {
        complain<Adapter>(reason);
        return exit_missing_worker;
    }
    std::optional<std::string> wrong;
    if (seen.wrong_repetitions > 0)
        wrong = std::to_string(seen.wrong_repetitions) +
                " repetitions ended with another result than the ranks' data give";
    return finish(Adapter{}, collective_row(runtime, asked, seen), wrong);
}

}  // namespace tauto::runner
