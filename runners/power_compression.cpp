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
};

}  // namespace

int main(int argc, char** argv) {
    return run_power<compression_adapter, compression_job>(argc, argv, parse_compression);
}
