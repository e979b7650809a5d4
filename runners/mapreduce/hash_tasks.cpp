#include "runners/mapreduce/hash_tasks.hpp"

#include <algorithm>
#include <string_view>

#include "kernels/fnv1a.hpp"
#include "runners/shared/random_bytes.hpp"
#include "runners/shared/signed.hpp"

namespace tauto::runner {

namespace {

double buffer_bytes(std::int64_t tasks, std::int64_t bytes) {
    return std::min(as_double(max_buffer_bytes), as_double(tasks) * as_double(bytes));
}

}  // namespace

hash_tasks::hash_tasks(std::int64_t tasks, std::int64_t bytes)
    : bytes_{usize(bytes)}, buffer_{random_bytes(static_cast<std::size_t>(buffer_bytes(tasks, bytes)))} {
    list_.reserve(usize(tasks));
    // As i * bytes modulo the size, without a product that could overflow.
    std::size_t offset = 0;
    for (std::int64_t i = 0; i < tasks; ++i) {
        list_.push_back({i, offset});
        offset = (offset + bytes_ % buffer_.size()) % buffer_.size();
    }
}

std::uint64_t hash_tasks::hash(const hash_task& task) const {
    const std::string_view buffer{buffer_};
    std::uint64_t hash = fnv1a_offset_basis;
    std::size_t offset = task.offset;
    for (std::size_t left = bytes_; left > 0;) {
        const std::string_view part = buffer.substr(offset, left);
        hash = fnv1a(part, hash);
        left -= part.size();
        offset = 0;
    }
    return hash;
}

std::uint64_t hash_tasks::sum() const {
    std::uint64_t sum = 0;
    for (const auto& task : list_) sum += hash(task);
    return sum;
}

double hash_tasks::memory_bytes(std::int64_t tasks, std::int64_t bytes) {
    return as_double(tasks) * sizeof(hash_task) + buffer_bytes(tasks, bytes);
}

}  // namespace tauto::runner
