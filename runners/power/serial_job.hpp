#pragma once
// The jobs of the power study by their names.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runners/shared/job.hpp"

namespace tauto::runner {

/// A job by its name, on one thread, for running beside another. Throws input_error for an unknown name, and
/// for a job whose library was not there when this was built.
std::unique_ptr<job> serial_job(std::string_view name, const std::vector<int>& cpus);

/// The names that serial_job knows here.
std::vector<std::string> jobs_here();

}  // namespace tauto::runner
