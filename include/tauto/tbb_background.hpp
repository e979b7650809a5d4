#pragma once
// Threads for what is enqueued in oneTBB's arenas, for programs that include tauto/tbb.hpp.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace tbb::detail {

// Functions that nobody waits for begin in their order, on at most so many threads, each of which calls
// `begin` first. The end waits for those that have begun; others are left out. An exception ends the program.
class background {
  public:
    background(std::size_t most, void (*begin)()) : most_(most), begin_(begin) {}
    background(const background&) = delete;
    background& operator=(const background&) = delete;
    ~background() {
        {
            const std::lock_guard lock(queue_);
            ends_ = true;
        }
        added_.notify_all();
        for (std::thread& one : threads_) one.join();
    }

    void add(std::function<void()> function) {
        const std::lock_guard lock(queue_);
        functions_.push_back(std::move(function));
        try {
            if (functions_.size() > idle_ && threads_.size() < most_)
                threads_.emplace_back([this] { serve(); });
        } catch (const std::system_error&) {  // there are no more threads
            if (!threads_.empty()) return;
            functions_.pop_back();
            throw;
        }
        added_.notify_one();
    }

  private:
    void serve() {
        begin_();
        std::unique_lock lock(queue_);
        for (;;) {
            ++idle_;
            added_.wait(lock, [this] { return ends_ || !functions_.empty(); });
            --idle_;
            if (ends_) return;
            std::function<void()> function = std::move(functions_.front());
            functions_.pop_front();
            lock.unlock();
            function();
            function = nullptr;  // what it holds may be the last of an arena
            lock.lock();
        }
    }

    std::size_t most_;
    void (*begin_)();
    std::mutex queue_;
    std::condition_variable added_;
    std::deque<std::function<void()>> functions_;
    std::vector<std::thread> threads_;
    std::size_t idle_ = 0;
    bool ends_ = false;
};

}  // namespace tbb::detail
