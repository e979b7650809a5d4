// The jobs of the power study: the same result however they are shared, and a wrong one is seen.

#include <doctest/doctest.h>

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
}

}  // namespace
