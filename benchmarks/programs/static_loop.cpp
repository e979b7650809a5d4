// A static OpenMP loop with equal iterations, as others write it: it knows nothing of unequal CPUs.
// tauto-bench-static-loop STEPS REGIONS: each region has STEPS steps in all. Prints its seconds and a number
// that depends on all of the work.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int count, char** values) {
    if (count != 3) {
        std::fprintf(stderr, "usage: tauto-bench-static-loop STEPS REGIONS\n");
        return 2;
    }
    const long steps = std::atol(values[1]);
    const long regions = std::atol(values[2]);
    constexpr int iterations = 960;  // divided by all numbers of threads up to 6, and by 8, 10, 12 and 16
    const long each = steps / iterations;
    std::vector<std::uint64_t> numbers(iterations);
    for (int i = 0; i < iterations; ++i) numbers[static_cast<std::size_t>(i)] = static_cast<std::uint64_t>(i);
    const auto began = std::chrono::steady_clock::now();
    for (long region = 0; region < regions; ++region) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < iterations; ++i) {
            std::uint64_t value = numbers[static_cast<std::size_t>(i)];
            for (long step = 0; step < each; ++step)
                value = value * 6364136223846793005U + 1442695040888963407U;
            numbers[static_cast<std::size_t>(i)] = value;
        }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::uint64_t all = 0;
    for (const std::uint64_t number : numbers) all ^= number;
    std::printf("%.6f %016llx\n", took.count(), static_cast<unsigned long long>(all));
}
