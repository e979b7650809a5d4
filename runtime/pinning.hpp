#pragma once
// Which CPU each member is pinned to, and what the calling thread had before.

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tauto/machine.hpp>

#include "cpu_mask.hpp"

namespace tauto::detail {

struct thread_pins;

// No other thread has it, also once this one has ended; in the child of a fork the forking thread keeps its.
[[nodiscard]] std::uint64_t identity_of_this_thread() noexcept;

class pinning {
  public:
    // The CPU of each member, by rank. Not `wanted`: no thread is pinned. Not `maker_too`: the workers are.
    pinning(std::vector<int> cpus, bool wanted, bool maker_too);
    ~pinning();
    pinning(const pinning&) = delete;
    pinning& operator=(const pinning&) = delete;
    // If the calling thread has made the team, and for the first time: to member 0's CPU. The destructor of
    // the team undoes it by restore_caller. Not before the team is used, because threads that it starts
    // inherit it.
    void pin_maker();
    // Pins the thread that was pinned for its newest team that is left, or gives it the CPUs that it had
    // before its first team. Does nothing if it has ended or belongs to another process. On any thread.
    void restore_caller() noexcept;
    // A thread made with these attributes begins on that member's CPU, where the system allows that.
    void begin_on_cpu_of(int rank, pthread_attr_t& attributes) const noexcept;
    // Of the calling thread, which is the worker `rank`.
    void pin_worker(int rank) noexcept;
    // Threads that the pinned maker has started have its one CPU. Gives each, once, the CPUs that the maker
    // would have: who pins itself later keeps its CPU, and so does who is pinned by a setting of OpenMP. On
    // any thread, now and then. Some 4 us a thread of the process. Not `surely`: it looks where the number of
    // threads has changed, and else each fifth time.
    void widen_started(bool surely) const noexcept;

    [[nodiscard]] const std::vector<int>& cpus() const noexcept { return cpus_; }
    // Where a team has pinned this worker; -1: it is none. With locks_of_process().pins held.
    [[nodiscard]] static int cpu_of_worker(pid_t thread) noexcept;
    // False when the system refused to pin a member; notes() says which and why.
    [[nodiscard]] bool pinned() const noexcept { return pinned_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::vector<std::string> notes() const;

  private:
    // Where the maker is pinned now; -1: nowhere. With that lock held.
    [[nodiscard]] int maker_cpu() const noexcept;
    [[nodiscard]] int cpu_to_look_on(bool surely) const noexcept;
    // Of the calling thread to this member's CPU; false, with a note, where the system refuses.
    bool pin_to_cpu_of(int rank) noexcept;
    void note_refusal(int rank, const char* why) noexcept;

    friend struct thread_pins;
    pinning* next_ = nullptr;  // in the list of all, under locks_of_process().pins
    std::vector<int> cpus_;
    bool wanted_;
    bool maker_too_;
    std::uint64_t maker_ = identity_of_this_thread();
    bool maker_asked_ = false;    // to be pinned; on that thread
    std::vector<pid_t> workers_;  // by rank, as far as they have begun; under locks_of_process().pins
    std::atomic<bool> pinned_{true};
    std::vector<std::string> notes_;
    cpu_mask first_;                 // member 0's CPU
    thread_pins* caller_ = nullptr;  // likewise under that lock: the maker's, once it is pinned
    std::int64_t began_ = 0;         // in the ticks in which the system counts a thread's birth
};

// The machine as this thread would see it if no team had pinned it.
machine_record machine_without_pinning();

// The same for the calling thread, at its first call: it may have been started by any member.
void widen_caller() noexcept;

// The CPUs that this thread could use if no team had pinned it, nor the thread that started it.
std::vector<int> cpus_without_pinning();

// Around a fork, with locks_of_process().pins held from before it: in the child, the pins of the thread that
// forked become those of its copy.
void note_forking_thread() noexcept;
void take_pins_into_child() noexcept;

}  // namespace tauto::detail
