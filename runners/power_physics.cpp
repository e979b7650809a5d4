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
};

}  // namespace

int main(int argc, char** argv) {
    return run_power<physics_adapter, physics_job>(argc, argv, parse_physics);
}
