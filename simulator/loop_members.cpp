#include "loop_members.hpp"

#include <algorithm>

namespace tauto::sim {

nanoseconds loop_member::window() const {
    const nanoseconds turn = kind->stolen_turn;
    return turn - static_cast<nanoseconds>(static_cast<double>(turn) * kind->stolen_share + 0.5);
}

nanoseconds loop_member::finish(nanoseconds at, nanoseconds work) const {
    const nanoseconds turn = kind->stolen_turn;
    if (turn == 0) return ticks->finish(number, at, work);
    const nanoseconds own = window();
    const nanoseconds stolen = turn - own;
    const nanoseconds place = at % turn;
    const nanoseconds begin = at - place;
    // Counted from the current window or, outside a window, from the next.
    const nanoseconds done = std::max<nanoseconds>(0, place - stolen) + work;
    const nanoseconds turns = done > own ? (done - 1) / own : 0;
    return begin + turns * turn + stolen + (done - turns * own);
}

nanoseconds loop_member::served(nanoseconds from, nanoseconds to) const {
    const nanoseconds turn = kind->stolen_turn;
    if (turn == 0) return ticks->served(number, from, to);
    const nanoseconds own = window();
    const auto until = [&](nanoseconds at) {
        return at / turn * own + std::max<nanoseconds>(0, at % turn - (turn - own));
    };
    return until(to) - until(from);
}

std::vector<loop_member> place_members(const machine& on, const std::string& placement, bool alone) {
    std::vector<hardware_thread> chosen = select(on, placement);
    if (alone) chosen.resize(1);
    // In the order of the cores: the threads of one core are neighbours.
    std::stable_sort(chosen.begin(), chosen.end(), [](const hardware_thread& a, const hardware_thread& b) {
        return a.core != b.core ? a.core < b.core : a.thread < b.thread;
    });
    std::vector<int> sharers(on.cores(), 0);
    std::vector<int> awake(on.kinds.size(), 0);
    for (const hardware_thread& where : chosen) {
        if (sharers[where.core]++ == 0) ++awake[where.kind];
    }
    std::vector<loop_member> members;
    for (const hardware_thread& where : chosen) {
        const core_kind& kind = on.kinds[where.kind];
        const double hertz = kind.turbo(awake[where.kind]) * kind.spread(where.core_of_kind);
        members.push_back({where, &kind, sharers[where.core], hertz, &on.ticks, cpu_number(on, where)});
    }
    return members;
}

}  // namespace tauto::sim
