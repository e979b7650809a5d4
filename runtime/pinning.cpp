#include "pinning.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <tauto/signed.hpp>

namespace tauto::detail {
namespace {

// The mask that this thread had before its outermost team pinned it.
thread_local std::optional<cpu_set_t> mask_before_pinning;

cpu_set_t mask_of_this_thread() noexcept {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    sched_getaffinity(0, sizeof mask, &mask);
    return mask;
}

cpu_set_t mask_without_pinning() noexcept {
    return mask_before_pinning ? *mask_before_pinning : mask_of_this_thread();
}

// 0, or -1 with errno.
int set_mask(pid_t thread, const cpu_set_t& mask) noexcept {
    return sched_setaffinity(thread, sizeof mask, &mask);
}

pid_t this_thread() noexcept {
    return static_cast<pid_t>(syscall(SYS_gettid));
}

}  // namespace

machine_record machine_without_pinning() {
    if (!mask_before_pinning) return read_machine();
    const cpu_set_t pinned = mask_of_this_thread();
    set_mask(0, *mask_before_pinning);
    machine_record record = read_machine();
    set_mask(0, pinned);
    return record;
}

std::vector<int> cpus_without_pinning() {
    const cpu_set_t mask = mask_without_pinning();
    std::vector<int> list;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(usize(cpu), &mask)) list.push_back(cpu);
    }
    return list;
}

void pinning::pin_caller() {
    if (!wanted_) return;
    caller_thread_ = this_thread();
    const cpu_set_t before = mask_without_pinning();
    if (!pin_to_cpu_of(0)) return;
    if (!mask_before_pinning) {
        mask_before_pinning = before;
        caller_mask_ = before;
    }
}

void pinning::restore_caller() noexcept {
    // Only the outermost team of a thread gives the CPUs back; a thread that has ended needs none.
    if (!caller_mask_) return;
    set_mask(caller_thread_, *caller_mask_);
    if (this_thread() == caller_thread_) mask_before_pinning.reset();
}

void pinning::pin_worker(int rank) {
    if (wanted_) pin_to_cpu_of(rank);
}

std::vector<std::string> pinning::notes() const {
    const std::lock_guard lock(notes_mutex_);
    return notes_;
}

bool pinning::pin_to_cpu_of(int rank) {
    const int cpu = at(cpus_, rank);
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(usize(cpu), &mask);
    if (set_mask(0, mask) == 0) return true;
    const int failure = errno;
    pinned_.store(false, std::memory_order_relaxed);
    const std::lock_guard lock(notes_mutex_);
    notes_.push_back("member " + std::to_string(rank) + " could not be pinned to CPU " + std::to_string(cpu) +
                     ": " + std::strerror(failure) + "; it runs where the system puts it");
    return false;
}

}  // namespace tauto::detail
