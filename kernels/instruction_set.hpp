#pragma once
// Which vector instructions the kernels use.

#include <string_view>
#include <vector>

namespace tauto {

enum class instruction_set { generic, avx2, avx512 };

/// The fastest of them that this CPU and this build have.
instruction_set best_instruction_set() noexcept;

/// All that this CPU and this build have, slowest first.
std::vector<instruction_set> available_instruction_sets();

std::string_view name_of(instruction_set set) noexcept;

}  // namespace tauto
