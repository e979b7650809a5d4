#pragma once
// The machine as JSON, schema tautochrone.machine/1. What is absent is null, never 0.

#include <optional>

#include <nlohmann/json_fwd.hpp>
#include <tauto/machine.hpp>

#include "probe_measured.hpp"

namespace tauto::probe {

nlohmann::ordered_json to_json(const machine_record& machine, const std::optional<measurements>& measured);

}  // namespace tauto::probe
