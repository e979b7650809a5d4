#pragma once
// The machine as JSON, schema tautochrone.machine/1. Missing values are null, never 0.

#include <optional>

#include <nlohmann/json_fwd.hpp>
#include <tauto/machine.hpp>

#include "probe/host.hpp"
#include "probe/measured.hpp"

namespace tauto::probe {

nlohmann::ordered_json to_json(const machine_record& machine, const host_record& host,
                               const std::optional<measurements>& measured);

}  // namespace tauto::probe
