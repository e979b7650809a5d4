#pragma once
// The work of the mapreduce study: tasks that each hash a part of one buffer.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tauto::runner {

/// The tasks share one buffer of at most this many bytes: a buffer for each would measure the memory.
inline constexpr std::size_t max_buffer_bytes = 8'000'000;

struct hash_task {
    std::int64_t number;
    std::size_t offset;  ///< of its first byte in the buffer; behind the buffer's end it goes on at its begin
};

class hash_tasks {
  public:
    /// `tasks` parts of `bytes` bytes each of a pseudo-random buffer, the same one in every process.
    hash_tasks(std::int64_t tasks, std::int64_t bytes);

    const std::vector<hash_task>& list() const { return list_; }

    /// FNV-1a of the task's bytes. Compiled once, so that every runtime runs the same instructions.
    std::uint64_t hash(const hash_task& task) const;

    /// Sum of all hashes modulo 2^64. Addition is free of order, so every runtime gets the same bits.
    std::uint64_t sum() const;

    static double memory_bytes(std::int64_t tasks, std::int64_t bytes);

  private:
    std::size_t bytes_;
    std::string buffer_;
    std::vector<hash_task> list_;
};

}  // namespace tauto::runner
