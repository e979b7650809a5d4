// The power study's physics.

#include "runners/common/run_power.hpp"
#include "runners/power_physics_job.hpp"
#include "runners/tautochrone_team.hpp"

namespace {

using namespace tauto::runner;

struct physics_adapter {
    static constexpr std::string_view executable = "tauto-power-physics";

    static description describe() {
        description physics = tautochrone_description();
        physics.schedules = {{"serial", false}, {"domain", false}, {"functional", false}};
        return physics;
    }

    static environment_changes environment(const options&) { return {}; }

    static physics_request parse(int argc, char** argv, std::string_view name, const description& runtime) {
        return parse_physics(argc, argv, name, runtime);
    }

    static std::unique_ptr<power_job> make(const physics_request& asked) {
        return std::make_unique<physics_job>(asked);
    }
};

}  // namespace

int main(int argc, char** argv) {
    return run_power<physics_adapter>(argc, argv);
}
