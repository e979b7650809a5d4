// The power study's encryption: OpenSSL on the members of a team.

#include "runners/common/run_power.hpp"
#include "runners/power_encryption_job.hpp"
#include "runners/tautochrone_team.hpp"

namespace {

using namespace tauto::runner;

struct encryption_adapter {
    static constexpr std::string_view executable = "tauto-power-encryption";

    static description describe() {
        description encryption = tautochrone_description();
        encryption.schedules = {{"serial", false}, {"blocks", false}, {"files", false}};
        return encryption;
    }
};

}  // namespace

int main(int argc, char** argv) {
    return run_power<encryption_adapter, encryption_job>(argc, argv, parse_encryption);
}
