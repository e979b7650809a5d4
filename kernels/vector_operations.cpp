#include "kernels/vector_operations.hpp"

#include "kernels/lanes.hpp"

namespace tauto {

float dot(const aligned_floats& x, const aligned_floats& y, kernel chosen) noexcept {
    return lanes::of(chosen).dot(x.data(), y.data(), padded_length(x.size()));
}

float advance_solution(aligned_floats& x, aligned_floats& r, const aligned_floats& p,
                       const aligned_floats& ap, float alpha, kernel chosen) noexcept {
    return lanes::of(chosen).advance(x.data(), r.data(), p.data(), ap.data(), alpha, padded_length(x.size()));
}

void update_direction(aligned_floats& p, const aligned_floats& r, float beta, kernel chosen) noexcept {
    lanes::of(chosen).redirect(p.data(), r.data(), beta, padded_length(p.size()));
}

}  // namespace tauto
