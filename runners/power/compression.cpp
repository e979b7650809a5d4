// The power study's compression: zstd with its own worker threads.

#include "runners/power/compression_job.hpp"
#include "runners/shared/run_job.hpp"

int main(int argc, char** argv) {
    using namespace tauto::runner;
    return run_job<compression_job>(argc, argv, parse_compression);
}
