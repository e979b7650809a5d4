// The jobs of the power study: the same result however they are shared, and a wrong one is seen.

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runner_testing.hpp"
#include "runners/power/physics_job.hpp"
#include "runners/power/serial_job.hpp"
#include "runners/shared/cpus.hpp"
#include "sanitized.hpp"
#ifdef TAUTO_OPENSSL
#include "runners/power/encryption_job.hpp"
#endif
#ifdef TAUTO_ZSTD
#include "runners/power/compression_job.hpp"
#endif
#ifdef TAUTO_X264
#include "runners/power/video_job.hpp"
#endif

namespace {

using namespace tauto::runner;

// Team members may share CPUs: here only the answer counts.
template <class Request>
Request shared(const std::string& schedule, int threads) {
    Request asked = asking<Request>(cpus_at_start(), threads);
    asked.schedule = schedule;
    return asked;
}

template <class Job, class Request>
job_answer answer_of(const Request& asked, int repetitions = 2) {
    Job job{asked};
    for (int i = 0; i < repetitions; ++i) job.repeat();
    CHECK_FALSE(job.workers().empty());
    return job.check();
}

physics_request small_physics(const std::string& schedule, int threads) {
    auto asked = shared<physics_request>(schedule, threads);
    asked.scene.bodies = 150;
    asked.scene.passes = 2;
    asked.steps = 12;
    asked.width = 64;
    asked.height = 48;
    return asked;
}

TEST_CASE("physics_ends_in_the_same_state_however_it_is_shared") {
    const job_answer alone = answer_of<physics_job>(small_physics("serial", 1));
    CHECK(alone.passed);
    for (const int threads : {2, 3}) {
        const job_answer split = answer_of<physics_job>(small_physics("domain", threads));
        CHECK(split.passed);
        CHECK(split.answer == alone.answer);
    }
    // By the functions, balanced or not, pinned or not, and with either function dearer.
    for (const bool free : {false, true})
        for (const double passes : {1.0, 2.5}) {
            physics_request asked = small_physics("functional", 2);
            asked.free = free;
            asked.collide_passes = passes;
            asked.draw_passes = 3.5 - passes;
            const job_answer split = answer_of<physics_job>(asked);
            CHECK(split.passed);
            CHECK(split.answer == alone.answer);
        }
}

TEST_CASE("work_of_each_function_is_accounted_for") {
    physics_request asked = small_physics("functional", 2);
    asked.collide_passes = 30;
    physics_job job{asked};
    job.repeat();
    job.forget_account();
    job.repeat();
    const auto workers = job.workers();
    REQUIRE(workers.size() == 2);
    CHECK(workers[0].does == "collides");
    CHECK(workers[1].does == "moves and draws");
    CHECK(workers[0].busy_seconds > workers[1].busy_seconds);  // contacts are looked for thirty times
    CHECK(job.detail(1.0)["collide_seconds"].get<double>() == doctest::Approx(workers[0].busy_seconds));
}

TEST_CASE("imbalance_is_the_most_over_the_mean") {
    CHECK(imbalance_of({{0, 0, "", 4.0}, {1, 1, "", 1.0}}) == doctest::Approx(1.6));
    CHECK(imbalance_of({{0, 0, "", 2.0}, {1, 1, "", 2.0}}) == 1.0);
    CHECK(imbalance_of({}) == 1.0);
}

#ifdef TAUTO_OPENSSL
encryption_request small_encryption(const std::string& schedule, int threads) {
    auto asked = shared<encryption_request>(schedule, threads);
    asked.bytes = 100'001;
    asked.files = 5;
    asked.block_bytes = 4096;
    return asked;
}

TEST_CASE("encryption_gives_the_same_tags_by_blocks_and_by_files") {
    for (const char* cipher : {"aes-256-gcm", "chacha20-poly1305"}) {
        const auto answer = [&](const char* schedule, int threads) {
            encryption_request asked = small_encryption(schedule, threads);
            asked.cipher = cipher;
            return answer_of<encryption_job>(asked);
        };
        const job_answer alone = answer("serial", 1);
        CHECK(alone.passed);
        for (const char* schedule : {"blocks", "files"})
            for (const int threads : {2, 3}) {
                const job_answer split = answer(schedule, threads);
                CHECK(split.passed);
                CHECK(split.answer == alone.answer);
            }
    }
}

TEST_CASE("what_was_never_encrypted_is_no_answer") {
    encryption_job job{small_encryption("serial", 1)};
    const job_answer untouched = job.check();
    CHECK_FALSE(untouched.passed);
    CHECK(mentions(untouched.reason, "block 0 of file 0"));
}

TEST_CASE("a_changed_block_a_changed_tag_and_another_place_do_not_open") {
    for (const char* cipher : {"aes-256-gcm", "chacha20-poly1305"}) {
        sealer one{cipher};
        const std::string plain = "thirty-one bytes of plain text.";
        std::string sealed(plain.size(), '\0');
        std::string opened(plain.size(), '\0');
        std::string tag(sealer::tag_bytes, '\0');
        one.seal(1, 2, plain.data(), plain.size(), sealed.data(), tag.data());
        const auto opens = [&](std::uint32_t file, std::uint64_t block) {
            return one.open(file, block, sealed.data(), sealed.size(), opened.data(), tag.data());
        };
        CHECK(sealed != plain);
        CHECK(opens(1, 2));
        CHECK(opened == plain);
        CHECK_FALSE(opens(1, 3));
        CHECK_FALSE(opens(2, 2));
        sealed[7] = static_cast<char>(sealed[7] ^ 1);
        CHECK_FALSE(opens(1, 2));
        sealed[7] = static_cast<char>(sealed[7] ^ 1);
        tag[0] = static_cast<char>(tag[0] ^ 1);
        CHECK_FALSE(opens(1, 2));
    }
}
#endif

#ifdef TAUTO_ZSTD
TEST_CASE("compression_gives_the_text_back_with_and_without_workers") {
    auto asked = shared<compression_request>("serial", 1);
    asked.bytes = 3'000'000;
    const job_answer alone = answer_of<compression_job>(asked);
    CHECK(alone.passed);
    if (!zstd_has_workers()) return;
    asked.schedule = "workers";
    asked.threads = 2;
    const job_answer split = answer_of<compression_job>(asked);
    CHECK(split.passed);
    compression_job job{asked};
    job.repeat();
    CHECK(job.detail(1.0)["compressed_bytes"].get<std::int64_t>() < asked.bytes / 2);
    compression_job never{asked};
    CHECK_FALSE(never.check().passed);
}
#endif

#ifdef TAUTO_X264
video_request small_video(const std::string& schedule, int threads) {
    auto asked = shared<video_request>(schedule, threads);
    asked.width = 160;
    asked.height = 144;  // nine rows of blocks: two slices
    asked.clips = 3;
    asked.clip_frames = 4;
    return asked;
}

film_stream encoded(const film& shown, film_encoding how) {
    how.frames_of_clip = 4;
    return film_encoder{shown, how}.encode(0, shown.frames());
}

TEST_CASE("video_shows_the_film_however_it_is_shared") {
    const job_answer alone = answer_of<video_job>(small_video("serial", 1));
    CHECK_MESSAGE(alone.passed, alone.reason);
    for (const char* schedule : {"frames", "slices", "clips"})
        for (const int threads : {2, 3}) {
            const job_answer split = answer_of<video_job>(small_video(schedule, threads));
            CHECK_MESSAGE(split.passed, schedule, " on ", threads, ": ", split.reason);
            CHECK(split.answer == alone.answer);
        }
}

TEST_CASE("threads_of_the_encoder_are_accounted_for") {
    for (const char* schedule : {"frames", "slices"}) {
        video_job job{small_video(schedule, 2)};
        job.repeat();
        job.forget_account();
        job.repeat();
        const auto workers = job.workers();
        // A sanitizer's own thread may be seen too.
        REQUIRE(workers.size() >= 2);
        CHECK(workers[1].does == "encodes");
        CHECK(job.detail(1.0)["encoder_threads"].get<int>() == 2);
    }
    video_request low = small_video("slices", 2);
    low.height = 64;  // too few rows for two
    video_job job{low};
    job.repeat();
    CHECK(job.workers().size() == 1);
    CHECK(job.detail(1.0)["encoder_threads"].get<int>() == 1);
    CHECK(job.check().passed);
}

TEST_CASE("frames_encoded_at_once_and_clips_give_the_frames_of_one_thread") {
    const film shown{160, 144, 12};
    const film_stream alone = encoded(shown, {.is_looked_at = true});
    CHECK(frames_in(alone.bytes) == 12);
    CHECK(encoded(shown, {}).bytes == alone.bytes);
    for (const int threads : {2, 3}) CHECK(encoded(shown, {.threads = threads}).bytes == alone.bytes);
    const film_stream sliced = encoded(shown, {.threads = 2, .sliced = true, .is_looked_at = true});
    CHECK(frames_in(sliced.bytes) == 12);
    CHECK(sliced.bytes != alone.bytes);
    film_stream clips;
    for (const std::size_t first : {0U, 4U, 8U})
        clips.add(film_encoder{shown, {.frames_of_clip = 4, .is_looked_at = true}}.encode(first, first + 4));
    CHECK(frames_in(clips.bytes) == 12);
    CHECK(clips.squared_error == alone.squared_error);
}

TEST_CASE("a_film_moves_and_is_the_same_each_time") {
    const film one{64, 48, 3};
    CHECK(one.bytes() == film{64, 48, 3}.bytes());
    CHECK(one.bytes().size() == 3 * 64 * 48 * 3 / 2);
    CHECK_FALSE(std::ranges::equal(one.frame(0), one.frame(1)));
}

TEST_CASE("a_stream_that_lacks_frames_or_shows_another_film_is_seen") {
    const film shown{160, 144, 8};
    const film_stream right = encoded(shown, {.is_looked_at = true});
    CHECK(decibels_of(shown, right.squared_error) > 35.0);
    CHECK(fault_of(shown, right, right, 1).empty());

    film_stream wrong = right;
    wrong.bytes.resize(wrong.bytes.size() / 2);
    CHECK(mentions(fault_of(shown, wrong, right, 1), "of 8 frames"));
    wrong = right;
    wrong.squared_error = right.squared_error * 5 / 4;  // 0.97 dB
    CHECK(mentions(fault_of(shown, wrong, right, 1), "dB against the film"));
    wrong.squared_error = right.squared_error * 10;
    CHECK(mentions(fault_of(shown, wrong, wrong, 1), "35.0 are expected"));
    wrong = right;
    wrong.bytes += std::string(wrong.bytes.size() / 4, '\1');
    CHECK(mentions(fault_of(shown, wrong, right, 1), "of one thread has"));
    CHECK(fault_of(shown, wrong, right, 16).empty());

    video_job never{small_video("serial", 1)};
    CHECK_FALSE(never.check().passed);
}
#endif

TEST_CASE("jobs_are_found_by_name") {
    for (const auto& name : jobs_here()) {
        // The others make many megabytes of text, which takes a sanitizer long.
        if (!tauto::testing::sanitized || name == "physics") CHECK_NOTHROW(serial_job(name, {0}));
    }
    CHECK(mentions(message_of([] { serial_job("baking", {0}); }), "physics"));
}

description described(std::vector<std::string> schedules) {
    description runtime;
    runtime.runtime = "test";
    for (auto& name : schedules) runtime.schedules.push_back({name, false});
    return runtime;
}

template <class Parse>
std::string refusal(Parse&& parse, const std::vector<std::string>& words,
                    const std::vector<std::string>& schedules) {
    return message_of([&] { parsed_by(parse, words, "test", described(schedules)); });
}

TEST_CASE("requests_that_cannot_be_met_are_refused") {
    const auto physics = [&](std::vector<std::string> words) {
        return refusal(parse_physics, std::move(words), {"serial", "domain", "functional"});
    };
    CHECK(mentions(physics({"--schedule", "functional", "--threads", "3"}), "use --threads 2"));
    CHECK(mentions(physics({"--schedule", "serial", "--threads", "2"}), "use --threads 1"));
    CHECK(mentions(physics({"--collide-passes", "0.5"}), "from 1 to 1000"));
    CHECK(mentions(physics({"--steps", "0"}), "--steps is 0"));
#ifdef TAUTO_OPENSSL
    const auto encryption = [&](std::vector<std::string> words) {
        return refusal(parse_encryption, std::move(words), {"serial", "blocks", "files"});
    };
    CHECK(mentions(encryption({"--threads", "1", "--cipher", "rot13"}), "no cipher 'rot13'"));
    CHECK(mentions(encryption({"--threads", "1", "--bytes", "3"}), "3 for 16 files"));
    CHECK(mentions(encryption({"--threads", "1", "--bytes", "9000000000000000"}), "use --bytes up to"));
#endif
#ifdef TAUTO_ZSTD
    const auto compression = [&](std::vector<std::string> words) {
        return refusal(parse_compression, std::move(words), {"serial", "workers"});
    };
    CHECK(mentions(compression({"--threads", "1", "--level", "20"}), "between 1 and 19"));
#endif
#ifdef TAUTO_X264
    const auto video = [&](std::vector<std::string> words) {
        return refusal(parse_video, std::move(words), {"serial", "frames", "slices", "clips"});
    };
    CHECK(mentions(video({"--threads", "1", "--width", "641"}), "an even number from 32 to 8192"));
    CHECK(mentions(video({"--threads", "1", "--clips", "0"}), "--clips is 0"));
    CHECK(mentions(video({"--threads", "1", "--clips", "100000", "--clip-frames", "100000"}),
                   "use --clips up to"));
#endif
}

}  // namespace
