#pragma once
// The one line of JSON that an nbody runner prints, and the log of its blocks.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/nbody/invariants.hpp"
#include "runners/common/nbody_request.hpp"
#include "runners/common/row.hpp"
#include "runners/common/timing.hpp"
#include "runners/common/work_account.hpp"

namespace tauto::runner {

/// One block of a run.
struct block_sample {
    double time;
    std::size_t active;
    std::string scheme;
    int width;  ///< members that shared the work
    double seconds;
    double shared_seconds;     ///< of it in collectives, or in starting, joining and waiting for threads
    double predicted_seconds;  ///< 0: nothing was predicted
};

/// A run from the start to the end.
struct nbody_pass {
    std::vector<block_sample> blocks;
    double start_seconds = 0.0;  ///< forces at the start, model
    double seconds = 0.0;        ///< of all blocks
    kernels::nbody::invariants after{};
    std::uint64_t state_hash = 0;  ///< of positions and velocities
    bool logged = false;           ///< its blocks are in the log already
    json model;                    ///< the constants that the predictions were made of; null without
};

struct nbody_result {
    timing timed;  ///< an iteration is a block, a batch is a run
    kernels::nbody::invariants before{};
    nbody_pass last;
    std::int64_t different_runs = 0;  ///< runs of a fixed scheme that ended with other bits than the first
    std::vector<worker_share> workers;
};

/// Largest relative error of the energy that passes: steps of eta cost about eta^order.
double energy_tolerance(const nbody_request& asked);

bool passed(const nbody_request& asked, const nbody_result& seen);

json nbody_row(const description& runtime, const nbody_request& asked, const nbody_result& seen);

/// CSV with a header: time, active, scheme, width, predicted_seconds (empty where nothing was predicted),
/// seconds, shared_seconds.
std::string block_log(std::span<const block_sample> blocks);

/// The log as a file, begun anew by the first blocks that are appended. Each line is whole whenever the
/// writer is killed: a process that is killed inside write(2) leaves what the kernel had copied by then, and
/// it copies page by page; so no line lies on two pages. The last number of the last line on a page gets
/// zeros in front for that.
class block_file {
  public:
    explicit block_file(std::string file) : file_{std::move(file)} {}

    /// One write(2). Throws input_error, and leaves the file as it was, where there is no room.
    void append(std::span<const block_sample> blocks);

  private:
    std::string file_;
    std::size_t size_ = 0;
};

/// A log that grows while its run goes on, some lines a second: a run that is killed leaves what it did until
/// then. Nothing is written of a run that is shorter than a second.
class growing_log {
  public:
    explicit growing_log(const std::optional<std::string>& file) {
        if (file) file_.emplace(*file);
    }

    /// `blocks` are done by now; samples_from(first) gives those from `first` on. Throws input_error.
    template <class SamplesFrom>
    void grow(std::size_t blocks, SamplesFrom&& samples_from) {
        if (file_ && monotonic_seconds() - written_at_ > 1.0) write(blocks, samples_from);
    }
    /// The run is over. Returns whether the log has all of it.
    template <class SamplesFrom>
    bool end(std::size_t blocks, SamplesFrom&& samples_from) {
        if (written_ > 0) write(blocks, samples_from);
        return written_ > 0;
    }

  private:
    template <class SamplesFrom>
    void write(std::size_t blocks, SamplesFrom&& samples_from) {
        file_->append(samples_from(written_));
        written_ = blocks;
        written_at_ = monotonic_seconds();
    }

    std::optional<block_file> file_;
    std::size_t written_ = 0;
    double written_at_ = monotonic_seconds();
};

/// Whoever started the process that wrote `file`, and saw it killed, cuts the part of a line at its end, if
/// there is one: not every file system copies page by page. A file that nobody has written to since this was
/// made is left alone. O(the part).
class log_of_another {
  public:
    explicit log_of_another(std::optional<std::string> file);
    void end_at_last_line() const noexcept;

  private:
    std::optional<std::string> file_;
    std::filesystem::file_time_type before_;
};

}  // namespace tauto::runner
