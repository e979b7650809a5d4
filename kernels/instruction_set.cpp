#include "kernels/instruction_set.hpp"

namespace tauto {

namespace {

bool available([[maybe_unused]] instruction_set set) noexcept {
#ifdef TAUTO_X86_LANES
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (set == instruction_set::avx2) return avx2;
    if (set == instruction_set::avx512)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#endif
    return set == instruction_set::generic;
}

}  // namespace

std::vector<instruction_set> available_instruction_sets() {
    std::vector<instruction_set> sets;
    for (const auto set : {instruction_set::generic, instruction_set::avx2, instruction_set::avx512})
        if (available(set)) sets.push_back(set);
    return sets;
}

instruction_set best_instruction_set() noexcept {
    if (available(instruction_set::avx512)) return instruction_set::avx512;
    if (available(instruction_set::avx2)) return instruction_set::avx2;
    return instruction_set::generic;
}

std::string_view name_of(instruction_set set) noexcept {
    switch (set) {
        case instruction_set::avx512:
            return "avx512";
        case instruction_set::avx2:
            return "avx2";
        default:
            return "generic";
    }
}

}  // namespace tauto
