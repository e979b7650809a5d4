#include "runners/power/physics_job.hpp"

#include <sched.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/fnv1a.hpp"
#include "runners/power/request.hpp"
#include "runners/shared/command_line.hpp"
#include "runners/shared/error.hpp"
#include "runners/shared/row.hpp"
#include "runners/shared/signed.hpp"
#include "runners/shared/tautochrone_team.hpp"

namespace tauto::runner {

namespace {

using kernels::physics::part;

part share_of(std::size_t count, int members, int rank) {
    const range share = equal_share(static_cast<index>(count), members, rank);
    return {usize(share.begin), usize(share.end)};
}

part bodies_of(const kernels::physics::world& all, int members, int rank) {
    constexpr std::size_t grain = kernels::physics::world::grain;
    const std::size_t count = all.bodies().size();
    const part grains = share_of((count + grain - 1) / grain, members, rank);
    return {std::min(count, grain * grains.begin), std::min(count, grain * grains.end)};
}

void require_passes(const char* option, double passes) {
    if (!(passes >= 1.0) || passes > 1000.0)
        throw input_error(std::string{option} + " must be a number from 1 to 1000");
}

// Calls `pass` with the whole part once, and again for what `passes` has beyond 1: whole, then a fraction.
template <class Pass>
void repeat_passes(double passes, part all, Pass&& pass) {
    pass(all, true);
    for (double left = passes - 1.0; left > 0.0; left -= 1.0) {
        const double share = std::min(1.0, left) * as_double(all.end - all.begin);
        pass({all.begin, all.begin + usize(std::lround(share))}, false);
    }
}

}  // namespace

physics_request parse_physics(int argc, char** argv, std::string_view executable,
                              const description& runtime) {
    physics_request chosen;
    command_line line{"Rigid discs and boxes in a box, moved and drawn", "Bodies", executable, runtime,
                      chosen};
    line.add("--bodies", chosen.scene.bodies, "Discs and boxes");
    line.add("--steps", chosen.steps, "Steps, and frames, of one repetition");
    line.add("--width", chosen.width, "Pixels of a frame's row");
    line.add("--height", chosen.height, "Rows of a frame");
    line.add("--restitution", chosen.scene.restitution, "Speed that a collision leaves, 0 to 1");
    line.add("--gravity", chosen.scene.gravity.y, "Acceleration upwards");
    line.add("--passes", chosen.scene.passes, "In which contacts are resolved; more for heaps");
    line.add("--seed", chosen.scene.seed, "Of places and velocities");
    line.add("--collide-passes", chosen.collide_passes, "How often contacts are looked for, 1 or more");
    line.add("--draw-passes", chosen.draw_passes, "How often a frame is drawn, 1 or more");
    line.add("--free", chosen.free, "Leave the threads to the system: do not pin them");
    line.add("--animation", chosen.animation_file, "Write the frames to this file (.y4m)");
    if (!line.parse(argc, argv)) return chosen;
    require_from_one("--steps", chosen.steps);
    require_from_one("--width", chosen.width);
    require_from_one("--height", chosen.height);
    require_passes("--collide-passes", chosen.collide_passes);
    require_passes("--draw-passes", chosen.draw_passes);
    line.check();
    require_threads(chosen);
    return chosen;
}

description physics_job::describe() {
    description physics = tautochrone_description();
    physics.schedules = {{"serial", false}, {"domain", false}, {"functional", false}};
    return physics;
}

physics_job::physics_job(const physics_request& asked)
    : asked_{asked},
      start_{asked.scene},
      now_{start_},
      right_end_{start_},
      picture_{usize(asked.width), usize(asked.height)} {
    const auto members = usize(asked_.threads);
    found_.resize(members);
    again_.resize(members);
    accounts_.resize(members);
    // The right answer, by one thread and without what makes a function more expensive.
    kernels::physics::world alone{start_};
    for (std::int64_t step = 0; step < asked_.steps; ++step) {
        if (step + 1 == asked_.steps) picture_.draw(alone, {0, picture_.height()});
        alone.advance();
    }
    std::swap(now_, alone);
    right_end_ = now_;
    right_answer_ = answer();
    const std::size_t lists = asked_.schedule == "functional" ? 1 : members;
    for (std::size_t rank = 0; rank < lists; ++rank) lists_.push_back(&found_[rank]);
    if (asked_.schedule == "serial") return;
    tauto::team_options options = team_options_of(asked_);
    options.pin = !asked_.free;
    team_.emplace(options);
}

void physics_job::repeat() {
    if (team_) {
        team_->run([this](tauto::member& me) { steps(me); });
    } else {
        tauto::solo me;
        steps(me);
    }
    bool right = true;
    for (const account& one : accounts_) right = right && one.right;
    wrong_repetitions_ += !right;
}

template <class Member>
void physics_job::steps(Member& me) {
    account& mine = at(accounts_, me.rank());
    const part bodies = bodies_of(now_, me.size(), me.rank());
    now_.take(start_, bodies);
    me.barrier();
    for (std::int64_t step = 0; step < asked_.steps; ++step) {
        if (asked_.schedule == "functional")
            step_by_function(me, mine);
        else
            step_by_data(me, mine);
    }
    // A hash would take one thread as long as a third of a step; the picture is looked at in the end.
    mine.right = now_.moves_like(right_end_, bodies);
    mine.cpu = sched_getcpu();
}

void physics_job::collide(part bodies, int rank) {
    const auto mine = usize(rank);
    repeat_passes(asked_.collide_passes, bodies,
                  [&](part some, bool first) { now_.collide(some, first ? found_[mine] : again_[mine]); });
}

void physics_job::draw(part rows) {
    repeat_passes(asked_.draw_passes, rows, [&](part some, bool) { picture_.draw(now_, some); });
}

template <class Member>
void physics_job::step_by_data(Member& me, account& mine) {
    const part bodies = bodies_of(now_, me.size(), me.rank());
    const auto meet = [&](function done) {
        mine.end(done);
        me.barrier();
        mine.begin();
    };
    mine.begin();
    now_.place(bodies);
    meet(colliding);
    now_.fill(share_of(now_.cells(), me.size(), me.rank()));
    meet(colliding);
    collide(bodies, me.rank());
    mine.end(colliding);
    // Bodies are numbered upwards at the start, rows downwards: so a member draws mostly its own.
    draw(share_of(picture_.height(), me.size(), me.size() - 1 - me.rank()));
    meet(drawing);
    now_.count(bodies, lists_);
    meet(colliding);
    for (int pass = 0; pass < now_.passes(); ++pass) {
        now_.resolve(at(found_, me.rank()).all);
        meet(colliding);
        now_.rebound(bodies, lists_);
        if (pass + 1 < now_.passes()) meet(colliding);
    }
    mine.end(colliding);
    now_.move(bodies, lists_);
    meet(moving);
}

template <class Member>
void physics_job::step_by_function(Member& me, account& mine) {
    const part bodies{0, now_.bodies().size()};
    mine.begin();
    if (me.rank() == 0) {
        now_.place(bodies);
        now_.fill({0, now_.cells()});
        collide(bodies, 0);
        now_.count(bodies, lists_);
        for (int pass = 0; pass < now_.passes(); ++pass) {
            now_.resolve(found_[0].all);
            now_.rebound(bodies, lists_);
        }
        mine.end(colliding);
    } else {
        draw({0, picture_.height()});
        mine.end(drawing);
    }
    me.barrier();
    mine.begin();
    if (me.rank() == 1) {
        now_.move(bodies, lists_);
        mine.end(moving);
    }
    me.barrier();
}

std::uint64_t physics_job::answer() const {
    const std::string both = fnv1a_text(now_.hash()) + fnv1a_text(picture_.hash());
    return fnv1a(both);
}

void physics_job::forget_account() {
    for (account& one : accounts_) one = {};
}

std::vector<busy_worker> physics_job::workers() const {
    std::vector<busy_worker> found;
    for (std::size_t rank = 0; rank < accounts_.size(); ++rank) {
        const char* does = "works on its part of the bodies";
        if (asked_.schedule == "serial") does = "does all";
        if (asked_.schedule == "functional") does = rank == 0 ? "collides" : "moves and draws";
        found.push_back({static_cast<int>(rank), accounts_[rank].cpu, does, accounts_[rank].all()});
    }
    return found;
}

job_answer physics_job::check() {
    if (asked_.animation_file) write_animation();
    const auto before = start_.conserved_now();
    const auto after = now_.conserved_now();
    // Pushing overlapping bodies apart may lift them.
    const bool has_grown =
        dot(asked_.scene.gravity, asked_.scene.gravity) == 0.0 && after.energy > before.energy * (1.0 + 1e-9);
    const std::uint64_t seen = answer();
    job_answer found{wrong_repetitions_ == 0 && !has_grown && seen == right_answer_, fnv1a_text(seen), ""};
    if (seen != right_answer_) found.reason = "the last frame differs from that of one thread alone";
    if (has_grown) found.reason = "the bodies have more energy than at the start";
    if (wrong_repetitions_ > 0)
        found.reason =
            std::to_string(wrong_repetitions_) + " repetitions ended in another state than one thread alone";
    return found;
}

json physics_job::detail(double repetitions) const {
    double seconds[functions] = {};
    for (const account& one : accounts_)
        for (int i = 0; i < functions; ++i) seconds[i] += one.seconds[i] / repetitions;
    return {{"bodies", now_.bodies().size()},
            {"steps", asked_.steps},
            {"collide_passes", asked_.collide_passes},
            {"draw_passes", asked_.draw_passes},
            {"collide_seconds", seconds[colliding]},
            {"draw_seconds", seconds[drawing]},
            {"move_seconds", seconds[moving]},
            {"energy_left", now_.conserved_now().energy / start_.conserved_now().energy}};
}

std::string physics_job::diagnosis() const {
    return team_ ? diagnosis_of(*team_) : "it has the calling thread only";
}

void physics_job::write_animation() {
    std::ostringstream stream;
    kernels::physics::animation film{stream, picture_.width(), picture_.height()};
    kernels::physics::world scene{start_};
    kernels::physics::frame picture{picture_.width(), picture_.height()};
    for (std::int64_t step = 0; step < asked_.steps; ++step) {
        picture.draw(scene, {0, picture.height()});
        film.add(picture);
        scene.advance();
    }
    write_file("the animation", *asked_.animation_file, stream.view());
}

}  // namespace tauto::runner
