// Static OpenMP loops with equal iterations, as others write them: they know nothing of unequal CPUs.
// tauto-bench-static-loop STEPS REGIONS [PHASES]: each region has PHASES loops (1) of STEPS steps in all,
// with a barrier behind each. Prints its seconds and a number that depends on all of the work.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int count, char** values) {
    if (count != 3 && count != 4) {
        std::fprintf(stderr, "usage: tauto-bench-static-loop STEPS REGIONS [PHASES]\n");
        return 2;
    }
    const long steps = std::atol(values[1]);
    const long regions = std::atol(values[2]);
    const long phases = count == 4 ? std::atol(values[3]) : 1;
    constexpr int iterations = 960;  // divided by all numbers of threads up to 6, and by 8, 10, 12 and 16
    const long each = steps / iterations;
    std::vector<std::uint64_t> numbers(iterations);
    for (int i = 0; i < iterations; ++i) numbers[static_cast<std::size_t>(i)] = static_cast<std::uint64_t>(i);
    const auto began = std::chrono::steady_clock::now();
    const auto iterate = [&](int i) {
        std::uint64_t value = numbers[static_cast<std::size_t>(i)];
        for (long step = 0; step < each; ++step) value = value * 6364136223846793005U + 1442695040888963407U;
        numbers[static_cast<std::size_t>(i)] = value;
    };
    for (long region = 0; region < regions; ++region) {
        if (phases == 1) {
#pragma omp parallel for schedule(static)
            for (int i = 0; i < iterations; ++i) iterate(i);
        } else {
#pragma omp parallel
            for (long phase = 0; phase < phases; ++phase) {
#pragma omp for schedule(static)
                for (int i = 0; i < iterations; ++i) iterate(i);
            }
        }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::uint64_t all = 0;
    for (const std::uint64_t number : numbers) all ^= number;
    std::printf("%.6f %016llx\n", took.count(), static_cast<unsigned long long>(all));
}
