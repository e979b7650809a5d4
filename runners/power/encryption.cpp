// The power study's encryption: OpenSSL on the members of a team.

#include "runners/power/encryption_job.hpp"
#include "runners/shared/run_job.hpp"

int main(int argc, char** argv) {
    using namespace tauto::runner;
    return run_job<encryption_job>(argc, argv, parse_encryption);
}
