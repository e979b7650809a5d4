#pragma once
// The physics as a job: a scene from its start through some steps, each drawn.
//
// Two ways to share a step. By the data: each member takes an equal part of the bodies and of the frame's
// rows. By the functions: member 0 finds the contacts and what they do to velocities while member 1 draws;
// then member 1 moves the bodies. All have the same bits as one thread alone.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tauto/tauto.hpp>

#include "kernels/physics/frame.hpp"
#include "kernels/physics/world.hpp"
#include "runners/shared/job.hpp"

namespace tauto::runner {

struct physics_request : options {
    kernels::physics::scene scene{.bodies = 12000};
    std::int64_t steps = 20;  ///< frames of one repetition
    std::int64_t width = 240;
    std::int64_t height = 180;
    double collide_passes = 1.0;  ///< how often contacts are looked for, to make that function more expensive
    double draw_passes = 1.0;     ///< likewise
    bool free = false;            ///< threads are not pinned
    std::optional<std::string> animation_file;
};

/// Checks everything that can be known before the job starts; see command_line.
physics_request parse_physics(int argc, char** argv, std::string_view executable, const description& runtime);

class physics_job : public job {
  public:
    static constexpr std::string_view executable = "tauto-power-physics";
    static description describe();

    explicit physics_job(const physics_request& asked);

    void repeat() override;
    void forget_account() override;
    std::vector<busy_worker> workers() const override;
    job_answer check() override;
    json detail(double repetitions) const override;
    bool may_drop_workers() const override { return asked_.free; }
    std::string diagnosis() const override;

  private:
    enum function { colliding, drawing, moving, functions };
    struct alignas(128) account {
        double seconds[functions] = {};
        double mark = 0.0;
        int cpu = 0;
        bool right = true;  // the last repetition's end, of this member's bodies

        void begin() { mark = thread_cpu_seconds(); }
        // What went by since the last mark was this function.
        void end(function one) {
            const double now = thread_cpu_seconds();
            seconds[one] += now - mark;
            mark = now;
        }
        double all() const { return seconds[colliding] + seconds[drawing] + seconds[moving]; }
    };
    using part = kernels::physics::part;

    template <class Member>
    void steps(Member& me);
    template <class Member>
    void step_by_data(Member& me, account& mine);
    template <class Member>
    void step_by_function(Member& me, account& mine);
    void collide(part bodies, int rank);
    void draw(part rows);
    std::uint64_t answer() const;
    void write_animation();

    physics_request asked_;
    kernels::physics::world start_;
    kernels::physics::world now_;
    kernels::physics::world right_end_;  // by one thread
    kernels::physics::frame picture_;
    // What members found, by rank, and the same again of passes that are not needed.
    std::vector<kernels::physics::contact_list> found_;
    std::vector<kernels::physics::contact_list> again_;
    std::vector<const kernels::physics::contact_list*> lists_;
    std::vector<account> accounts_;
    std::optional<tauto::team> team_;
    std::uint64_t right_answer_ = 0;  // of the bodies and the last frame
    std::int64_t wrong_repetitions_ = 0;
};

}  // namespace tauto::runner
