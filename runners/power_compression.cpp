// The power study's compression: zstd with its own worker threads.

#include "runners/common/run_power.hpp"
#include "runners/power_compression_job.hpp"

namespace {

using namespace tauto::runner;

struct compression_adapter {
    static constexpr std::string_view executable = "tauto-power-compression";

    static description describe() {
        description compression;
        compression.runtime = compression.library = "zstd";
        compression.library_version = ZSTD_versionString();
        compression.schedules = {{"serial", false}};
        if (zstd_has_workers()) compression.schedules.push_back({"workers", false});
        return compression;
    }

    static environment_changes environment(const options&) { return {}; }

    static compression_request parse(int argc, char** argv, std::string_view name,
                                     const description& runtime) {
        return parse_compression(argc, argv, name, runtime);
    }

    static std::unique_ptr<power_job> make(const compression_request& asked) {
        return std::make_unique<compression_job>(asked);
    }
};

}  // namespace

int main(int argc, char** argv) {
    return run_power<compression_adapter>(argc, argv);
}
