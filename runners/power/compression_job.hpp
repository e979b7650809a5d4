#pragma once
// Compression as a job: zstd on a text, by itself or with worker threads of its own.

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runners/shared/job.hpp"

namespace tauto::runner {

struct compression_request : options {
    std::int64_t bytes = 16'000'000;
    int level = 3;
};

/// Checks everything that can be known before the job starts; see command_line.
compression_request parse_compression(int argc, char** argv, std::string_view executable,
                                      const description& runtime);

/// Was this zstd built with threads?
bool zstd_has_workers();

class compression_job : public job {
  public:
    static constexpr std::string_view executable = "tauto-power-compression";
    static description describe();

    explicit compression_job(const compression_request& asked);

    void repeat() override;
    std::vector<busy_worker> workers() const override;
    job_answer check() override;
    json detail(double repetitions) const override;
    // The library pins nothing: two threads may have been on one CPU last.
    bool may_drop_workers() const override { return true; }
    std::string diagnosis() const override { return "zstd starts its own worker threads"; }

  private:
    struct release {
        void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    };

    compression_request asked_;
    std::string text_;
    std::string compressed_;
    std::size_t compressed_bytes_ = 0;
    std::unique_ptr<ZSTD_CCtx, release> context_;
};

}  // namespace tauto::runner
