#include "runners/common/power_request.hpp"

#include <cmath>

#include "runners/common/command_line.hpp"
#include "runners/common/error.hpp"
#include "runners/common/memory.hpp"

namespace tauto::runner {

namespace {

constexpr double most_passes = 1000.0;

// The plain data, what is made of it, and a copy to check against.
constexpr double copies = 3.0;

void require_memory_for(std::int64_t bytes) {
    require_memory(copies * static_cast<double>(bytes), std::to_string(bytes) + " bytes of data",
                   [](double there) { return "use --bytes up to about " + whole_number(there / copies); });
}

void require_passes(const char* option, double passes) {
    if (!(passes >= 1.0) || passes > most_passes)
        throw input_error(std::string{option} + " must be a number from 1 to 1000");
}

// One thread alone, or as many as were asked for: a split takes what it is made for.
void require_threads(const options& asked) {
    if (asked.schedule == "serial" && asked.threads != 1)
        throw input_error("schedule 'serial' takes one thread, and --threads is " +
                          std::to_string(asked.threads) + "; use --threads 1");
    if (asked.schedule == "functional" && asked.threads != 2)
        throw input_error("schedule 'functional' has two functions, and --threads is " +
                          std::to_string(asked.threads) + "; use --threads 2");
}

}  // namespace

encryption_request parse_encryption(int argc, char** argv, std::string_view executable,
                                    const description& runtime) {
    encryption_request chosen;
    command_line line{"Files that are encrypted and signed block by block", "Blocks", executable, runtime,
                      chosen};
    line.app()
        .add_option("--cipher", chosen.cipher, "aes-256-gcm or chacha20-poly1305")
        ->capture_default_str();
    line.app().add_option("--bytes", chosen.bytes, "Bytes of all files together")->capture_default_str();
    line.app().add_option("--files", chosen.files, "Files")->capture_default_str();
    line.app().add_option("--block-bytes", chosen.block_bytes, "Bytes of a block")->capture_default_str();
    line.parse(argc, argv);
    if (chosen.describe) return chosen;
    if (chosen.cipher != "aes-256-gcm" && chosen.cipher != "chacha20-poly1305")
        throw input_error("there is no cipher '" + chosen.cipher +
                          "' here; use aes-256-gcm or chacha20-poly1305");
    require_from_one("--files", chosen.files);
    require_from_one("--block-bytes", chosen.block_bytes);
    if (chosen.block_bytes > 1 << 30)
        throw input_error("--block-bytes is " + std::to_string(chosen.block_bytes) +
                          "; it must be 1073741824 or less");
    if (chosen.bytes < chosen.files)
        throw input_error("--bytes is " + std::to_string(chosen.bytes) + " for " +
                          std::to_string(chosen.files) + " files; each has 1 or more");
    line.check();
    require_threads(chosen);
    require_memory_for(chosen.bytes);
    return chosen;
}

compression_request parse_compression(int argc, char** argv, std::string_view executable,
                                      const description& runtime) {
    compression_request chosen;
    command_line line{"Text that is compressed", "Jobs", executable, runtime, chosen};
    line.app().add_option("--bytes", chosen.bytes, "Bytes of the text")->capture_default_str();
    line.app().add_option("--level", chosen.level, "Of zstd, 1 to 19")->capture_default_str();
    line.parse(argc, argv);
    if (chosen.describe) return chosen;
    require_from_one("--bytes", chosen.bytes);
    if (chosen.level < 1 || chosen.level > 19)
        throw input_error("--level is " + std::to_string(chosen.level) + "; it lies between 1 and 19");
    line.check();
    require_threads(chosen);
    require_memory_for(chosen.bytes);
    return chosen;
}

physics_request parse_physics(int argc, char** argv, std::string_view executable,
                              const description& runtime) {
    physics_request chosen;
    command_line line{"Rigid discs and boxes in a box, moved and drawn", "Bodies", executable, runtime,
                      chosen};
    auto& app = line.app();
    app.add_option("--bodies", chosen.scene.bodies, "Discs and boxes")->capture_default_str();
    app.add_option("--steps", chosen.steps, "Steps, and frames, of one repetition")->capture_default_str();
    app.add_option("--width", chosen.width, "Pixels of a frame's row")->capture_default_str();
    app.add_option("--height", chosen.height, "Rows of a frame")->capture_default_str();
    app.add_option("--restitution", chosen.scene.restitution, "Speed that a collision leaves, 0 to 1")
        ->capture_default_str();
    app.add_option("--gravity", chosen.scene.gravity.y, "Acceleration upwards")->capture_default_str();
    app.add_option("--passes", chosen.scene.passes, "In which contacts are resolved; more for heaps")
        ->capture_default_str();
    app.add_option("--seed", chosen.scene.seed, "Of places and velocities")->capture_default_str();
    app.add_option("--collide-passes", chosen.collide_passes, "How often contacts are looked for, 1 or more")
        ->capture_default_str();
    app.add_option("--draw-passes", chosen.draw_passes, "How often a frame is drawn, 1 or more")
        ->capture_default_str();
    app.add_flag("--free", chosen.free, "Leave the threads to the system: do not pin them");
    app.add_option("--animation", chosen.animation_file, "Write the frames to this file (.y4m)");
    line.parse(argc, argv);
    if (chosen.describe) return chosen;
    require_from_one("--steps", chosen.steps);
    require_from_one("--width", chosen.width);
    require_from_one("--height", chosen.height);
    require_passes("--collide-passes", chosen.collide_passes);
    require_passes("--draw-passes", chosen.draw_passes);
    line.check();
    require_threads(chosen);
    return chosen;
}

together_request parse_together(int argc, char** argv, std::string_view executable,
                                const description& runtime) {
    together_request chosen;
    command_line line{"Two programs at once", "Jobs", executable, runtime, chosen};
    auto& app = line.app();
    app.add_option("--first", chosen.first, "encryption, compression or physics")->capture_default_str();
    app.add_option("--second", chosen.second, "Likewise")->capture_default_str();
    app.add_option("--first-repetitions", chosen.first_repetitions, "Of the first one, each time")
        ->capture_default_str();
    app.add_option("--second-repetitions", chosen.second_repetitions, "Of the second one")
        ->capture_default_str();
    line.parse(argc, argv);
    if (chosen.describe) return chosen;
    require_from_one("--first-repetitions", chosen.first_repetitions);
    require_from_one("--second-repetitions", chosen.second_repetitions);
    line.check();
    if (chosen.cpus.size() < 2)
        throw input_error("two programs at once need two CPUs to be pinned apart, and " +
                          std::to_string(chosen.cpus.size()) + " may be used; name two with --cpus");
    return chosen;
}

}  // namespace tauto::runner
