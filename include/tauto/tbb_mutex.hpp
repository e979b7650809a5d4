#pragma once
// oneTBB's mutexes, their scoped locks, and calls that happen once, for programs that include tauto/tbb.hpp.
// The mutexes are the standard's: who waits for one sleeps after a while.

#include <atomic>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace tbb {

class mutex : public std::mutex {
  public:
    class scoped_lock {
      public:
        scoped_lock() = default;
        explicit scoped_lock(mutex& of) { acquire(of); }
        void acquire(mutex& of) { held_ = std::unique_lock<std::mutex>(of); }
        [[nodiscard]] bool try_acquire(mutex& of) {
            std::unique_lock<std::mutex> tried(of, std::try_to_lock);
            if (tried.owns_lock()) held_ = std::move(tried);
            return held_.owns_lock();
        }
        void release() { held_ = {}; }

      private:
        std::unique_lock<std::mutex> held_;
    };
};
using spin_mutex = mutex;
using queuing_mutex = mutex;
using speculative_spin_mutex = mutex;

class rw_mutex : public std::shared_mutex {
  public:
    // Of a writer, unless it is said otherwise.
    class scoped_lock {
      public:
        scoped_lock() = default;
        explicit scoped_lock(rw_mutex& of, bool write = true) { acquire(of, write); }
        scoped_lock(const scoped_lock&) = delete;
        scoped_lock& operator=(const scoped_lock&) = delete;
        ~scoped_lock() { release(); }
        void acquire(rw_mutex& of, bool write = true) {
            if (write) {
                of.lock();
            } else {
                of.lock_shared();
            }
            held_ = &of;
            writes_ = write;
        }
        [[nodiscard]] bool try_acquire(rw_mutex& of, bool write = true) {
            if (!(write ? of.try_lock() : of.try_lock_shared())) return false;
            held_ = &of;
            writes_ = write;
            return true;
        }
        void release() {
            if (held_ == nullptr) return;
            if (writes_) {
                held_->unlock();
            } else {
                held_->unlock_shared();
            }
            held_ = nullptr;
        }
        // False: another writer may have had it in between.
        bool upgrade_to_writer() { return writes_ || change(true); }
        bool downgrade_to_reader() { return !writes_ || change(false); }
        [[nodiscard]] bool is_writer() const { return writes_; }

      private:
        bool change(bool write) {
            rw_mutex& of = *held_;
            release();
            acquire(of, write);
            return false;
        }
        rw_mutex* held_ = nullptr;
        bool writes_ = false;
    };
};
using spin_rw_mutex = rw_mutex;
using queuing_rw_mutex = rw_mutex;
using speculative_spin_rw_mutex = rw_mutex;

// They exclude nobody.
class null_mutex {
  public:
    class scoped_lock {
      public:
        scoped_lock() = default;
        explicit scoped_lock(null_mutex& /*of*/) {}
        void acquire(null_mutex& /*of*/) {}
        [[nodiscard]] bool try_acquire(null_mutex& /*of*/) { return true; }
        void release() {}
    };
    void lock() {}
    [[nodiscard]] bool try_lock() { return true; }
    void unlock() {}
};
class null_rw_mutex : public null_mutex {
  public:
    class scoped_lock {
      public:
        scoped_lock() = default;
        explicit scoped_lock(null_rw_mutex& /*of*/, bool write = true) : writes_(write) {}
        void acquire(null_rw_mutex& /*of*/, bool write = true) { writes_ = write; }
        [[nodiscard]] bool try_acquire(null_rw_mutex& /*of*/, bool write = true) {
            writes_ = write;
            return true;
        }
        void release() {}
        bool upgrade_to_writer() { return writes_ = true; }
        bool downgrade_to_reader() {
            writes_ = false;
            return true;
        }
        [[nodiscard]] bool is_writer() const { return writes_; }

      private:
        bool writes_ = false;
    };
    void lock_shared() {}
    [[nodiscard]] bool try_lock_shared() { return true; }
    void unlock_shared() {}
};

class collaborative_once_flag {
    template <class Function, class... Arguments>
    friend void collaborative_call_once(collaborative_once_flag&, Function&&, Arguments&&...);
    // Not std::once_flag: ThreadSanitizer waits for ever after an exception in it.
    std::mutex one_at_a_time_;
    std::atomic<bool> done_{false};
};
// The first call that does not throw counts. Loops in it are shared with members that are free; a member that
// waits for it waits.
template <class Function, class... Arguments>
void collaborative_call_once(collaborative_once_flag& flag, Function&& function, Arguments&&... arguments) {
    if (flag.done_.load(std::memory_order_acquire)) return;
    const std::lock_guard here(flag.one_at_a_time_);
    if (flag.done_.load(std::memory_order_relaxed)) return;
    std::invoke(std::forward<Function>(function), std::forward<Arguments>(arguments)...);
    flag.done_.store(true, std::memory_order_release);
}

}  // namespace tbb
