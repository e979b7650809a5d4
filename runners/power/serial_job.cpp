#include "runners/power/serial_job.hpp"

#include "runners/power/physics_job.hpp"
#include "runners/shared/error.hpp"
#ifdef TAUTO_OPENSSL
#include "runners/power/encryption_job.hpp"
#endif
#ifdef TAUTO_ZSTD
#include "runners/power/compression_job.hpp"
#endif
#ifdef TAUTO_X264
#include "runners/power/video_job.hpp"
#endif

namespace tauto::runner {

namespace {

template <class Job, class Request>
std::unique_ptr<job> alone(Request asked, const std::vector<int>& cpus) {
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
#ifdef TAUTO_X264
    names.emplace_back("video");
#endif
    names.emplace_back("physics");
    return names;
}

std::unique_ptr<job> serial_job(std::string_view name, const std::vector<int>& cpus) {
    if (name == "physics") return alone<physics_job>(physics_request{}, cpus);
#ifdef TAUTO_OPENSSL
    if (name == "encryption") return alone<encryption_job>(encryption_request{}, cpus);
#endif
#ifdef TAUTO_ZSTD
    if (name == "compression") return alone<compression_job>(compression_request{}, cpus);
#endif
#ifdef TAUTO_X264
    if (name == "video") return alone<video_job>(video_request{}, cpus);
#endif
    std::string known;
    for (const auto& job_name : jobs_here()) known += (known.empty() ? "" : ", ") + job_name;
    throw input_error("there is no job '" + std::string{name} + "' here; use " + known);
}

}  // namespace tauto::runner
