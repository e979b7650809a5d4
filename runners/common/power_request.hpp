#pragma once
// What the runners of the power study are asked: one request for each job.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/physics/world.hpp"
#include "runners/common/options.hpp"

namespace tauto::runner {

struct encryption_request : options {
    std::string cipher = "aes-256-gcm";
    std::int64_t bytes = 64'000'000;   ///< of all files together
    std::int64_t files = 16;           ///< of one size each
    std::int64_t block_bytes = 65536;  ///< that are sealed with one tag
};

struct compression_request : options {
    std::int64_t bytes = 16'000'000;
    int level = 3;
};

struct physics_request : options {
    kernels::physics::scene scene{.bodies = 12000};
    std::int64_t steps = 20;  ///< frames of one repetition
    std::int64_t width = 240;
    std::int64_t height = 180;
    double collide_passes = 1.0;  ///< how often contacts are looked for, to make that function dearer
    double draw_passes = 1.0;     ///< likewise
    bool free = false;            ///< threads are not pinned
    std::optional<std::string> animation_file;
};

/// Two jobs at once, each on one thread of a process of its own.
struct together_request : options {
    std::string first = "encryption";
    std::string second = "physics";
    std::int64_t first_repetitions = 10;
    std::int64_t second_repetitions = 10;
};

/// These parse, and check everything that can be known before a job starts. They throw input_error, print
/// the help text and exit the process with 0 on --help.
encryption_request parse_encryption(int argc, char** argv, std::string_view executable,
                                    const description& runtime);
compression_request parse_compression(int argc, char** argv, std::string_view executable,
                                      const description& runtime);
physics_request parse_physics(int argc, char** argv, std::string_view executable, const description& runtime);
together_request parse_together(int argc, char** argv, std::string_view executable,
                                const description& runtime);

}  // namespace tauto::runner
