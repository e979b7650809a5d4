// What the nbody runners share: options and their refusals, row, log.

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "runners/nbody/request.hpp"
#include "runners/nbody/row.hpp"
#include "tests/cpp/runner_testing.hpp"

namespace {

using namespace tauto::runner;

description a_runtime() {
    description runtime;
    runtime.runtime = "rival";
    runtime.schedules = {{"one", false}, {"other", false}};
    return runtime;
}

nbody_request parsed(std::vector<std::string> words, const description& runtime = a_runtime()) {
    return parsed_by(parse_nbody, std::move(words), "tauto-nbody-rival", runtime);
}

// Of processes, `ranks` of them started by a launcher; 0: not started yet.
description processes(int ranks) {
    description runtime = a_runtime();
    runtime.has_ranks = true;
    runtime.ranks = ranks;
    return runtime;
}

std::string refusal_of(const std::vector<std::string>& words) {
    try {
        auto asked = parsed(words);
        start_of(asked);
    } catch (const std::exception& refused) {
        return refused.what();
    }
    return "";
}

nbody_result two_blocks() {
    nbody_result seen;
    seen.timed.batch_seconds = {2.0};
    seen.timed.timed_seconds = 4.0;
    seen.timed.iterations = seen.timed.batch_iterations = 2;
    seen.before = {.kinetic = 0.25, .potential = -0.5, .momentum = {}, .angular_momentum = {}};
    seen.last.after = {
        .kinetic = 0.25, .potential = -0.5 - 1e-6, .momentum = {3e-9, 0.0, 4e-9}, .angular_momentum = {}};
    seen.last.blocks = {{0.125, 3, "j", 4, 1.0, 0.25, 1.5}, {0.25, 2, "i", 2, 3.0, 0.75, 0.0}};
    seen.last.seconds = 4.0;
    seen.last.state_hash = 0xabcU;
    seen.workers = {{0, 0, 2, 0}, {1, 1, 2, 0}};
    return seen;
}

nbody_request asked_for_two() {
    auto asked = asking<nbody_request>({0, 1}, 2);
    asked.particles = 100;
    asked.schedule = "one";
    return asked;
}

}  // namespace

TEST_CASE("options_of_the_nbody_study_are_taken_as_given") {
    const auto usual = parsed({});
    CHECK(usual.particles == 1024);
    CHECK(usual.hermite.order == 4);
    CHECK(usual.hermite.softening == 4.0 / 1024.0);
    CHECK(usual.schedule == "one");
    const auto asked =
        parsed({"--particles", "300", "--order",  "6", "--scheme",         "other", "--threads", "2",
                "--end-time",  "0.5", "--blocks", "7", "--softening",      "0",     "--eta",     "0.25",
                "--seed",      "9",   "--log",    "l", "--write-snapshot", "s"});
    CHECK(asked.particles == 300);
    CHECK(asked.hermite.order == 6);
    CHECK(asked.schedule == "other");
    CHECK(asked.end_time == 0.5);
    CHECK(asked.blocks == 7);
    CHECK(asked.hermite.softening == 0.0);
    CHECK(asked.hermite.accuracy == 0.25);
    CHECK(asked.seed == 9);
    CHECK(asked.log_file == "l");
    CHECK(asked.snapshot_to_write == "s");
}

TEST_CASE("what_no_run_can_do_is_refused_with_the_reason") {
    CHECK(mentions(refusal_of({"--particles", "0"}), "--particles is 0; it must be 1 or more"));
    CHECK(mentions(refusal_of({"--particles", "1", "--threads", "2"}), "1 particles for 2 threads"));
    CHECK(mentions(refusal_of({"--softening", "-0.5"}), "the softening is -0.5"));
    CHECK(mentions(refusal_of({"--softening", "nan"}), "it must be 0 or more"));
    CHECK(mentions(refusal_of({"--order", "5"}), "there are 4 and 6"));
    CHECK(mentions(refusal_of({"--eta", "-1"}), "eta"));
    CHECK(mentions(refusal_of({"--end-time", "0"}), "--end-time must be a number above 0"));
    CHECK(mentions(refusal_of({"--blocks", "0"}), "--blocks is 0"));
    CHECK(mentions(refusal_of({"--largest-step", "0.3"}), "power of two"));
    CHECK(mentions(refusal_of({"--scheme", "magic"}), "no schedule 'magic'"));
    CHECK(mentions(refusal_of({"--snapshot", "/nowhere/at/all"}), "cannot read the snapshot"));
    CHECK(mentions(refusal_of({"--particles", "900000000000"}), "particles on"));
}

TEST_CASE("workers_of_processes_are_ranks_times_threads") {
    CHECK(parsed({}, processes(3)).threads == 3);
    CHECK(parsed({"--threads-per-rank", "4"}, processes(3)).threads == 12);
    CHECK(parsed({"--threads-per-rank", "4", "--threads", "8"}, processes(0)).threads == 8);
    CHECK(parsed({"--threads-per-rank", "4", "--cpus", "0"}, processes(0)).threads == 4);
    const auto refusal = [](std::vector<std::string> words, int ranks) {
        return message_of([&] { parsed(std::move(words), processes(ranks)); });
    };
    CHECK(mentions(refusal({"--threads", "2"}, 3), "leave --threads out, or give 3"));
    CHECK(mentions(refusal({"--threads", "3", "--threads-per-rank", "2"}, 0), "must be a multiple"));
    CHECK(mentions(refusal({"--threads-per-rank", "0"}, 0), "--threads-per-rank is 0"));
    CHECK(mentions(refusal_of({"--threads-per-rank", "2"}), "--threads-per-rank"));
}

TEST_CASE("row_has_the_classes_of_active_counts") {
    const json row = *nbody_row(a_runtime(), asked_for_two(), two_blocks());
    CHECK(row["schema"] == "tautochrone.runner/1");
    CHECK(row["seconds"] == 2.0);
    CHECK(row["scheme"] == "one");
    CHECK(row["blocks"] == 2);
    CHECK(row["mean_active"] == 2.5);
    CHECK(row["pairs_per_second"] == 125.0);
    CHECK(row["shared_share"] == 0.25);
    REQUIRE(row["classes"].size() == 1);
    const auto& one = row["classes"][0];
    CHECK(one["active_from"] == 2);
    CHECK(one["active_below"] == 4);
    CHECK(one["blocks"] == 2);
    CHECK(one["median_active"] == 2.5);
    CHECK(one["median_seconds"] == 2.0);
    CHECK(one["total_seconds"] == 4.0);
    CHECK(one["predicted_median_seconds"] == 1.5);
    CHECK(one["shared_share"] == 0.25);
    CHECK(one["schemes"] == json::parse(R"({"i":1,"j":1})"));
    CHECK(one["widths"] == json::parse(R"({"2":1,"4":1})"));
    const auto& check = row["check"];
    CHECK(check["passed"] == true);
    CHECK(check["energy_error"].get<double>() == doctest::Approx(4e-6));
    CHECK(check["momentum_change"].get<double>() == doctest::Approx(5e-9));
    CHECK(check["state_fnv1a"] == "0000000000000abc");
}

TEST_CASE("too_large_an_energy_error_or_different_bits_do_not_pass") {
    auto seen = two_blocks();
    CHECK(passed(asked_for_two(), seen));
    seen.different_runs = 1;
    CHECK_FALSE(passed(asked_for_two(), seen));
    seen.different_runs = 0;
    seen.last.after.potential = -0.51;
    CHECK_FALSE(passed(asked_for_two(), seen));
    seen.last.after.potential = NAN;
    CHECK_FALSE(passed(asked_for_two(), seen));
}

TEST_CASE("a log whose writer was killed loses the part of a line at its end, and nothing else") {
    const std::string file = "nbody_log_of_another.csv";
    const auto after = [&](const std::string& text, bool written_since) {
        std::filesystem::remove(file);
        std::ofstream{file} << "old\npart";
        std::filesystem::last_write_time(
            file, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
        const log_of_another log{file};
        if (written_since) std::ofstream{file} << text;
        log.end_at_last_line();
        std::ostringstream left;
        left << std::ifstream{file}.rdbuf();
        return left.str();
    };
    CHECK(after("a\nb\nc", true) == "a\nb\n");
    CHECK(after("a\nb\n", true) == "a\nb\n");
    CHECK(after("a,b,c", true).empty());
    CHECK(after("", true).empty());
    CHECK(after("", false) == "old\npart");
    std::filesystem::remove(file);
    log_of_another{file}.end_at_last_line();
    log_of_another{std::nullopt}.end_at_last_line();
    CHECK(!std::filesystem::exists(file));
}

namespace {

// So many blocks with numbers of all lengths.
std::vector<block_sample> many_blocks(std::size_t count) {
    std::vector<block_sample> blocks;
    for (std::size_t k = 0; k < count; ++k) {
        const double seconds = std::sqrt(static_cast<double>(k)) * (k % 3 == 0 ? 0.25 : 1e-6);
        blocks.push_back({0x1p-10 * static_cast<double>(k), k % 97, k % 2 == 0 ? "i" : "4x12",
                          static_cast<int>(k % 17), seconds, k % 5 == 0 ? 0.0 : seconds / 3.0, seconds});
    }
    return blocks;
}

std::string content_of(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream{file, std::ios::binary}.rdbuf();
    return text.str();
}

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream stream{line};
    std::vector<std::string> words;
    for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
    return words;
}

}  // namespace

TEST_CASE("no_line_of_a_log_lies_on_two_pages_and_all_numbers_are_as_they_were") {
    const std::string file = "nbody_pages.csv";
    const auto blocks = many_blocks(2000);
    std::ofstream{file} << "what another run left";
    block_file log{file};
    for (std::size_t k = 0; k < blocks.size(); k += 40) log.append(std::span{blocks}.subspan(k, 40));
    const std::string text = content_of(file);
    CHECK(text == block_log(blocks));
    for (std::size_t page = 4096; page < text.size(); page += 4096) REQUIRE(text[page - 1] == '\n');
    CHECK(text.size() > 20 * 4096);
    std::istringstream lines{text};
    std::string line;
    std::getline(lines, line);
    for (const auto& block : blocks) {
        REQUIRE(std::getline(lines, line));
        const auto words = words_of(line);
        REQUIRE(words.size() == 7);
        CHECK(std::stod(words[0]) == block.time);
        CHECK(std::stod(words[5]) == block.seconds);
        CHECK(std::stod(words[6]) == block.shared_seconds);
    }
    std::filesystem::remove(file);
}

TEST_CASE("a_log_whose_writer_is_killed_at_any_time_has_whole_lines") {
    const std::string file = "nbody_killed.csv";
    const auto blocks = many_blocks(500);
    for (int kill = 0; kill < 40; ++kill) {
        std::filesystem::remove(file);
        const ::pid_t writer = ::fork();
        if (writer == 0)
            for (block_file log{file};;) log.append(blocks);
        while (!std::filesystem::exists(file) || std::filesystem::file_size(file) == 0) {
        }
        // At another place each time.
        std::this_thread::sleep_for(std::chrono::microseconds(137 * kill));
        ::kill(writer, SIGKILL);
        ::waitpid(writer, nullptr, 0);
        const std::string text = content_of(file);
        CAPTURE(text.size());
        REQUIRE_FALSE(text.empty());
        CHECK(text.back() == '\n');
        std::istringstream lines{text};
        for (std::string line; std::getline(lines, line);) REQUIRE(std::ranges::count(line, ',') == 6);
    }
    std::filesystem::remove(file);
}

TEST_CASE("a_log_for_which_there_is_no_room_is_refused_by_name") {
    CHECK(mentions(message_of([] { block_file{"/nowhere/at/all.csv"}.append(many_blocks(1)); }),
                   "cannot write the log to '/nowhere/at/all.csv'"));
    CHECK(
        mentions(message_of([] { block_file{"/dev/full"}.append(many_blocks(1)); }), "cannot write the log"));
}

TEST_CASE("log_has_a_line_a_block_with_predicted_and_measured_time") {
    CHECK(block_log(two_blocks().last.blocks) ==
          "time,active,scheme,width,predicted_seconds,seconds,shared_seconds\n"
          "0.125,3,j,4,1.5,1,0.25\n"
          "0.25,2,i,2,,3,0.75\n");
}
