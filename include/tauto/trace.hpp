#pragma once
// A timeline of every chunk, for ui.perfetto.dev: one track a CPU, one slice a chunk.
//
// TAUTO_TRACE=file.json in the environment switches it on for the whole program. Without it a chunk costs one
// predicted branch more.

#include <atomic>
#include <cstdint>
#include <string>

#include <tauto/range.hpp>

namespace tauto::trace {

// True while a trace is being recorded.
[[nodiscard]] bool enabled() noexcept;

// Starts recording into `path`, written when the program ends or stop() is called. Throws tauto::error when
// the file cannot be created. Called by the library for TAUTO_TRACE. A child of fork records nothing until it
// starts a trace of its own.
void start(const std::string& path);

// Writes what was recorded and stops. Returns the number of slices written.
std::int64_t stop();

// Nanoseconds of CLOCK_MONOTONIC.
[[nodiscard]] std::int64_t now_nanoseconds() noexcept;

// One chunk run by the calling thread; `stolen` chunks are coloured apart. `name` must be a literal or
// outlive the trace. At most 2^20 slices a thread are kept; the file says how many were dropped.
void record_chunk(const char* name, int rank, range chunk, bool stolen, std::int64_t begin_nanoseconds,
                  std::int64_t end_nanoseconds) noexcept;

}  // namespace tauto::trace
