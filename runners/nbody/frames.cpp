// Frames of a cluster for a picture: where the particles are, and how often each of them moved since the
// frame before. One thread; prints one line of JSON.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "runners/nbody/request.hpp"
#include "runners/shared/one_thread.hpp"
#include "runners/shared/row.hpp"
#include "runners/shared/start_runner.hpp"

namespace {

using namespace tauto::runner;
namespace nbody = tauto::kernels::nbody;

struct adapter : one_thread {
    static constexpr std::string_view executable = "tauto-nbody-frames";
};

constexpr int frames_of_a_run = 256;

json rounded(std::span<const double> values) {
    json list = json::array();
    for (const double value : values) list.push_back(std::round(value * 1e4) / 1e4);
    return list;
}

json frame_of(const nbody::hermite& system, const std::vector<std::int64_t>& steps) {
    return {{"time", system.start() + system.time()},
            {"x", rounded(system.sources()[1])},
            {"y", rounded(system.sources()[2])},
            {"steps", steps}};
}

int write_frames(nbody_request asked) {
    const nbody_start start = start_of(asked);
    nbody::hermite system{start.bodies, asked.hermite, start.time};
    nbody::serial_integrator run{system};
    run.start();
    std::vector<std::int64_t> steps(system.size(), 0);
    json frames = json::array({frame_of(system, steps)});
    std::int64_t blocks = 0;
    for (int frame = 1; frame <= frames_of_a_run; ++frame) {
        std::ranges::fill(steps, 0);
        for (const double until = asked.end_time * frame / frames_of_a_run; system.time() < until; ++blocks) {
            run.step();
            const auto moved = system.bodies().state()[nbody::time_of];
            for (std::size_t i = 0; i < steps.size(); ++i) steps[i] += moved[i] == system.time() ? 1 : 0;
        }
        frames.push_back(frame_of(system, steps));
    }
    std::cout << json{{"schema", "tautochrone.frames/1"},
                      {"particles", system.size()},
                      {"blocks", blocks},
                      {"frames", frames}}
                     .dump()
              << std::endl;
    return exit_ok;
}

}  // namespace

int main(int argc, char** argv) {
    return start_runner<adapter>(argc, argv, parse_nbody, write_frames);
}
