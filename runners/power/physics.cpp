// The power study's physics.

#include "runners/power/physics_job.hpp"
#include "runners/shared/run_job.hpp"

int main(int argc, char** argv) {
    using namespace tauto::runner;
    return run_job<physics_job>(argc, argv, parse_physics);
}
