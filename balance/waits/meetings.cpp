#include "balance/waits/meetings.hpp"

#include <array>
#include <atomic>

#include "balance/waits/steps.hpp"

namespace tauto::balance {

namespace {

constexpr std::size_t most_counts = 256;

std::array<std::atomic<std::uint32_t>, most_counts> counts;

// How often all that waited at this address were woken. Addresses may share a count: it is a hint.
std::atomic<std::uint32_t>& count_of(const void* where) noexcept {
    constexpr std::uint64_t golden = 0x9e37'79b9'7f4a'7c15;
    const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(where));
    return counts[(address * golden) >> 56];
}

}  // namespace

void note_meeting(const void* where) noexcept {
    if (the_page() == nullptr) return;
    count_of(where).fetch_add(1, std::memory_order_relaxed);
    slot* own = this_thread.own != nullptr ? this_thread.own : take_slot();
    if (own != nullptr && own->waits().depth == 0) note_progress(own, false);
}

void meeting_wait_mark::begin() noexcept {
    is_outermost_ = true;
    before_ = count_of(where_).load(std::memory_order_relaxed);
    if (begun_->held.read(std::memory_order_relaxed).state != is_own)
        lend_cpu(*begun_, static_cast<std::uint64_t>(timer::now()));
    else
        hand_over_while_waiting(*begun_);
}

void meeting_wait_mark::end() noexcept {
    if (begun_ != this_thread.own) return;
    if (count_of(where_).load(std::memory_order_relaxed) != before_) note_progress(begun_, false);
    take_cpu_back();
}

}  // namespace tauto::balance
