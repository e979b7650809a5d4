#include "runners/power_job.hpp"

#include <algorithm>

#include "runners/common/error.hpp"
#include "runners/power_physics_job.hpp"
#ifdef TAUTO_OPENSSL
#include "runners/power_encryption_job.hpp"
#endif
#ifdef TAUTO_ZSTD
#include "runners/power_compression_job.hpp"
#endif

namespace tauto::runner {

namespace {

template <class Job, class Request>
std::unique_ptr<power_job> alone(Request asked, const std::vector<int>& cpus) {
    asked.schedule = "serial";
    asked.threads = 1;
    asked.cpus = cpus;
    return std::make_unique<Job>(asked);
}

}  // namespace

std::vector<std::string> jobs_here() {
    std::vector<std::string> names;
#ifdef TAUTO_OPENSSL
    names.emplace_back("encryption");
#endif
#ifdef TAUTO_ZSTD
    names.emplace_back("compression");
#endif
    names.emplace_back("physics");
    return names;
}

std::unique_ptr<power_job> serial_job(std::string_view name, const std::vector<int>& cpus) {
    if (name == "physics") return alone<physics_job>(physics_request{}, cpus);
#ifdef TAUTO_OPENSSL
    if (name == "encryption") return alone<encryption_job>(encryption_request{}, cpus);
#endif
#ifdef TAUTO_ZSTD
    if (name == "compression") return alone<compression_job>(compression_request{}, cpus);
#endif
    std::string known;
    for (const auto& one : jobs_here()) known += (known.empty() ? "" : ", ") + one;
    throw input_error("there is no job '" + std::string{name} + "' here; use " + known);
}

}  // namespace tauto::runner
