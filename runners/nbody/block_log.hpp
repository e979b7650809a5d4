#pragma once
// The blocks of a run, and their log: a file with a line for each.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "runners/shared/timing.hpp"

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

/// For the process that started the writer of `file` and saw it killed: cuts off an incomplete last line, if
/// there is one, because not every file system copies page by page. Leaves a file alone that was not written
/// to since this was made. O(the last line).
class log_of_another {
  public:
    explicit log_of_another(std::optional<std::string> file);
    void end_at_last_line() const noexcept;

  private:
    std::optional<std::string> file_;
    std::filesystem::file_time_type before_;
};

}  // namespace tauto::runner
