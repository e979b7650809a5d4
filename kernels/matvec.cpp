#include "kernels/matvec.hpp"

#include "kernels/lanes.hpp"

namespace tauto {

namespace lanes {

const table& of([[maybe_unused]] instruction_set set) noexcept {
#ifdef TAUTO_X86_LANES
    if (set == instruction_set::avx512) return avx512;
    if (set == instruction_set::avx2) return avx2;
#endif
    return generic;
}

const table& best() noexcept {
    static const table& chosen = of(best_instruction_set());
    return chosen;
}

const table& of(kernel chosen) noexcept {
    return chosen == kernel::published ? chain : best();
}

}  // namespace lanes

namespace {

void call(const lanes::table& table, const dense_matrix& a, const aligned_floats& x, aligned_floats& y,
          std::size_t first, std::size_t last) noexcept {
    table.rows(a.row(first), a.pitch(), x.data(), y.data() + first, a.pitch(), last - first);
}

}  // namespace

void matvec_rows(const dense_matrix& a, const aligned_floats& x, aligned_floats& y, std::size_t first,
                 std::size_t last, kernel chosen) noexcept {
    call(lanes::of(chosen), a, x, y, first, last);
}

void matvec_rows(const dense_matrix& a, const aligned_floats& x, aligned_floats& y, std::size_t first,
                 std::size_t last, instruction_set set) noexcept {
    call(lanes::of(set), a, x, y, first, last);
}

}  // namespace tauto
