#pragma once
// Compression as a job: zstd on a text, by itself or with worker threads of its own.

#include <zstd.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runners/common/power_request.hpp"
#include "runners/power_job.hpp"

namespace tauto::runner {

/// Was this zstd built with threads?
bool zstd_has_workers();

class compression_job : public power_job {
  public:
    explicit compression_job(const compression_request& asked);

    void repeat() override;
    void forget_account() override;
    std::vector<busy_worker> workers() const override;
    job_answer check() override;
    json detail(double repetitions) const override;
    // The library pins nothing: two threads may have been on one CPU last.
    bool may_miss_workers() const override { return true; }
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
    std::map<int, double> before_;  // CPU seconds of each thread when the account was cleared
};

}  // namespace tauto::runner
