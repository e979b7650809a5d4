#include "runners/power/compression_job.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "kernels/fnv1a.hpp"
#include "runners/power/request.hpp"
#include "runners/shared/command_line.hpp"
#include "runners/shared/error.hpp"
#include "runners/shared/signed.hpp"

namespace tauto::runner {

namespace {

// Of what one worker compresses at a time: small enough for many workers to have their share of a text. Jobs
// do not look back into the one before, or a part of the text would be read twice.
constexpr int job_bytes = 1 << 20;
constexpr int no_overlap = 1;

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
        const double even = as_double(random() >> 11U) * 0x1p-53;
        text += words[static_cast<std::size_t>(std::exp2(12.0 * even)) - 1];
    }
    text.resize(bytes);
    return text;
}

}  // namespace

bool zstd_has_workers() {
    const ZSTD_bounds bounds = ZSTD_cParam_getBounds(ZSTD_c_nbWorkers);
    return !ZSTD_isError(bounds.error) && bounds.upperBound > 1;
}

compression_request parse_compression(int argc, char** argv, std::string_view executable,
                                      const description& runtime) {
    compression_request chosen;
    command_line line{"Text that is compressed", "Jobs", executable, runtime, chosen};
    line.add("--bytes", chosen.bytes, "Bytes of the text");
    line.add("--level", chosen.level, "Of zstd, 1 to 19");
    if (!line.parse(argc, argv)) return chosen;
    require_from_one("--bytes", chosen.bytes);
    if (chosen.level < 1 || chosen.level > 19)
        throw input_error("--level is " + std::to_string(chosen.level) + "; it lies between 1 and 19");
    line.check();
    require_threads(chosen);
    require_memory_for(chosen.bytes);
    return chosen;
}

description compression_job::describe() {
    description compression;
    compression.runtime = compression.library = "zstd";
    compression.library_version = ZSTD_versionString();
    compression.schedules = {{"serial", false}};
    if (zstd_has_workers()) compression.schedules.push_back({"workers", false});
    return compression;
}

compression_job::compression_job(const compression_request& asked)
    : asked_{asked},
      text_{text_of(usize(asked.bytes))},
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

std::vector<busy_worker> compression_job::workers() const {
    // The caller of zstd's workers hands out the text and waits.
    return threads_.workers("compresses", asked_.schedule == "serial");
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
