// A plugin with a copy of the library of its own, none of whose symbols but these is visible
// (copies_test.cpp).

#include <memory>
#include <vector>

#include <tauto/tauto.hpp>

namespace {

std::unique_ptr<tauto::team> held;

}  // namespace

extern "C" {

// Makes the plugin's team, of all CPUs (-1) or of this one: its size, or -1.
[[gnu::visibility("default")]] int make_team(int cpu) {
    try {
        held.reset();
        held = std::make_unique<tauto::team>(
            tauto::team_options{.cpus = cpu < 0 ? std::vector<int>{} : std::vector<int>{cpu}});
        (void)held->pinned();  // starts the members and pins its maker
        return held->size();
    } catch (const tauto::error&) {
        return -1;
    }
}

[[gnu::visibility("default")]] bool works() {
    const auto same = [](tauto::index i) { return i; };
    return tauto::parallel_reduce(*held, 1000, tauto::index{0}, same, std::plus<>{}) == 499'500;
}

[[gnu::visibility("default")]] void end_team() {
    held.reset();
}
}
