// The power study's video encoding: x264 with its own threads, or a clip for each member of a team.

#include "runners/power/video_job.hpp"
#include "runners/shared/run_job.hpp"

int main(int argc, char** argv) {
    using namespace tauto::runner;
    return run_job<video_job>(argc, argv, parse_video);
}
