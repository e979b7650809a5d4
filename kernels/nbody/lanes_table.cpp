#include "kernels/instruction_set.hpp"
#include "kernels/nbody/lanes.hpp"

namespace tauto::kernels::nbody::lanes {

const table& of([[maybe_unused]] instruction_set set) noexcept {
#ifdef TAUTO_X86_LANES
    if (set == instruction_set::avx512) return avx512;
    if (set == instruction_set::avx2) return avx2;
#endif
    return generic;
}

}  // namespace tauto::kernels::nbody::lanes
