// The kernels of the published program of the study of hybrid CPUs: each sum is one chain of scalar
// additions, in the order of the elements, as a compiler must leave it that may not reorder sums.
// CMakeLists.txt keeps it from being vectorised or fused.

#include "kernels/lanes.hpp"

namespace tauto::lanes {

namespace {

void rows(const float* a, std::size_t pitch, const float* x, float* y, std::size_t length,
          std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        float sum = 0.0F;
        for (std::size_t j = 0; j < length; ++j) sum += a[i * pitch + j] * x[j];
        y[i] = sum;
    }
}

float dot(const float* x, const float* y, std::size_t length) {
    float sum = 0.0F;
    for (std::size_t j = 0; j < length; ++j) sum += x[j] * y[j];
    return sum;
}

float advance(float* x, float* r, const float* p, const float* ap, float alpha, std::size_t length) {
    float sum = 0.0F;
    for (std::size_t j = 0; j < length; ++j) {
        x[j] += alpha * p[j];
        r[j] -= alpha * ap[j];
        sum += r[j] * r[j];
    }
    return sum;
}

void redirect(float* p, const float* r, float beta, std::size_t length) {
    for (std::size_t j = 0; j < length; ++j) p[j] = r[j] + beta * p[j];
}

}  // namespace

const table chain = {rows, dot, advance, redirect};

}  // namespace tauto::lanes
