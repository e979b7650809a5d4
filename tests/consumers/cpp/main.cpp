#include <cmath>
#include <cstdio>
#include <tauto/senders.hpp>
#include <tauto/tauto.hpp>
#include <vector>

int main() {
    std::vector<double> roots(1'000'000);
    tauto::team team;
    tauto::parallel_for(team, static_cast<tauto::index>(roots.size()), [&](tauto::range r) {
        for (tauto::index i = r.begin; i < r.end; ++i) {
            roots[static_cast<std::size_t>(i)] = std::sqrt(static_cast<double>(i));
        }
    });
    for (std::size_t i = 0; i < roots.size(); ++i) {
        if (roots[i] != std::sqrt(static_cast<double>(i))) return 1;
    }
    // The installed headers have the bridges too.
    tauto::sender_context context(team);
    if (context.get_scheduler() != context.get_scheduler()) return 1;
    std::printf("%zu roots on %d members\n", roots.size(), team.size());
}
