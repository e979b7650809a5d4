#include "runners/power_compression_job.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "kernels/fnv1a.hpp"
#include "runners/common/error.hpp"

namespace tauto::runner {

namespace {

// Of what one worker compresses at a time: small enough for many workers to have their share of a text. Jobs
// do not look back into the one before, or a part of the text would be read twice.
constexpr int job_bytes = 1 << 20;
constexpr int no_overlap = 1;
constexpr double least_share = 0.02;  // of the busiest thread's time: less is no work

std::size_t require(std::size_t result, const char* what) {
    if (ZSTD_isError(result))
        throw input_error("zstd could not " + std::string{what} + ": " + ZSTD_getErrorName(result));
    return result;
}

// Words of a made-up language, frequent ones more often (Zipf), so that it compresses like prose.
std::string text_of(std::size_t bytes) {
    constexpr std::size_t vocabulary = 4096;
    std::mt19937_64 random;  // default seed; its numbers are fixed by the standard
    std::vector<std::string> words(vocabulary);
    for (auto& word : words) {
        const std::size_t letters = 2 + random() % 8;
        for (std::size_t i = 0; i < letters; ++i) word += static_cast<char>('a' + random() % 26);
        word += ' ';
    }
    std::string text;
    text.reserve(bytes + 16);
    while (text.size() < bytes) {
        // Rank r with a frequency near 1 / r: the exponent is spread evenly.
        const double even = static_cast<double>(random() >> 11U) * 0x1p-53;
        text += words[static_cast<std::size_t>(std::exp2(12.0 * even)) - 1];
    }
    text.resize(bytes);
    return text;
}

// CPU seconds of every thread of this process.
std::map<int, double> thread_seconds() {
    std::map<int, double> found;
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        std::ifstream file{task.path() / "schedstat"};
        double nanoseconds = 0.0;
        if (file >> nanoseconds) found[std::stoi(task.path().filename().string())] = 1e-9 * nanoseconds;
    }
    return found;
}

// The CPU that a thread of this process ran on last: field 39 of its stat, behind a name that may have
// spaces.
int last_cpu_of(int thread) {
    std::ifstream file{"/proc/self/task/" + std::to_string(thread) + "/stat"};
    std::string text;
    std::getline(file, text);
    std::istringstream fields{text.substr(text.rfind(')') + 1)};
    for (int field = 3; field < 39; ++field) fields >> text;
    int cpu = -1;
    fields >> cpu;
    return cpu;
}

}  // namespace

bool zstd_has_workers() {
    const ZSTD_bounds bounds = ZSTD_cParam_getBounds(ZSTD_c_nbWorkers);
    return !ZSTD_isError(bounds.error) && bounds.upperBound > 1;
}

compression_job::compression_job(const compression_request& asked)
    : asked_{asked},
      text_{text_of(static_cast<std::size_t>(asked.bytes))},
      compressed_(ZSTD_compressBound(text_.size()), '\0'),
      context_{ZSTD_createCCtx()} {
    require(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, asked_.level), "take this level");
    require(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1), "keep a checksum");
    if (asked_.schedule == "serial") return;
    require(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_nbWorkers, asked_.threads), "start its workers");
    require(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_jobSize, job_bytes), "cut the text so small");
    require(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_overlapLog, no_overlap), "cut it cleanly");
}

void compression_job::repeat() {
    compressed_bytes_ = require(
        ZSTD_compress2(context_.get(), compressed_.data(), compressed_.size(), text_.data(), text_.size()),
        "compress");
}

void compression_job::forget_account() {
    before_ = thread_seconds();
}

std::vector<busy_worker> compression_job::workers() const {
    std::vector<busy_worker> found;
    double most = 0.0;
    for (auto [thread, seconds] : thread_seconds()) {
        // The caller of zstd's workers hands out the text and waits.
        if (asked_.schedule != "serial" && thread == ::getpid()) continue;
        if (const auto known = before_.find(thread); known != before_.end()) seconds -= known->second;
        found.push_back({static_cast<int>(found.size()), last_cpu_of(thread), "compresses", seconds});
        most = std::max(most, seconds);
    }
    std::erase_if(found, [&](const busy_worker& one) { return one.busy_seconds < least_share * most; });
    return found;
}

job_answer compression_job::check() {
    std::string plain(text_.size(), '\0');
    const std::size_t bytes =
        ZSTD_decompress(plain.data(), plain.size(), compressed_.data(), compressed_bytes_);
    job_answer found{!ZSTD_isError(bytes) && bytes == text_.size() && plain == text_,
                     fnv1a_text(fnv1a(plain)), ""};
    if (!found.passed) found.reason = "what was compressed does not decompress to the text";
    return found;
}

json compression_job::detail(double) const {
    return {{"bytes", asked_.bytes},
            {"level", asked_.level},
            {"compressed_bytes", compressed_bytes_},
            {"job_bytes", asked_.schedule == "serial" ? json{} : json(job_bytes)}};
}

}  // namespace tauto::runner
