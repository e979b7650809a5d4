#include <iostream>
#include <numeric>
#include <tauto/compare.hpp>
#include <vector>

int main() {
    const std::vector<int> numbers(1000, 3);
    const auto sum = [&] { return std::accumulate(numbers.begin(), numbers.end(), 0); };
    const auto found = tauto::compare({.rounds = 20}, "once", sum, "four times", [&](tauto::block& block) {
        for (auto call : block) {
            for (int i = 0; i < 4; ++i) tauto::do_not_optimize(sum());
        }
    });
    std::cout << found;
    return found.sides[1].ratio.ratio > 1 ? 0 : 1;
}
