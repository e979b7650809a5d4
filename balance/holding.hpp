#pragma once
// Threads that stay on CPUs of our choice for a while: where rounds are too short to move threads in them.

#include <sched.h>

#include <map>
#include <span>
#include <vector>

#include "balance/moves.hpp"
#include "balance/page.hpp"
#include "balance/speeds.hpp"
#include "balance/team.hpp"

namespace tauto::balance {

class holding {
  public:
    // Only threads with a slot in the page are held, since they give themselves their own mask again before
    // they start another thread or program. `shared`: may be null.
    holding(const cpu_set_t& given, moves& mover, page* shared)
        : given_(given), mover_(mover), shared_(shared) {}

    // Whether these can be held.
    bool can_hold(std::span<member* const> members) const;
    // Whether a program shares loops out by the speeds that are published.
    bool loops_are_shared_out() const;
    // How many threads were newly put somewhere.
    // Each on a CPU by itself, the fastest first; who is left over, where it gets most. Publishes the speeds
    // if each has its own. Helpers are on the CPUs that they help.
    int seat(std::span<member* const> members, std::span<const team::helper> helpers, const speeds& cpus);
    // Nobody has a seat: who ends hands its CPU over to one on a slower CPU.
    void let_ends_hand_over(const speeds& cpus);
    // After a window on seats: what each CPU is worth, by how long its threads were busy.
    void learn(std::span<member* const> members);
    // All on the CPUs that are as fast as the fastest; on others when these have been faster for some looks.
    int gather(std::span<member* const> members, const speeds& cpus);
    // All have their own masks again, and are where Linux had them: it would leave them together for a while.
    void end();
    // Waits of GCC's OpenMP sleep soon, or spin for milliseconds as they do by themselves.
    void let_waits_sleep(bool on);

  private:
    // `seat`: 1 + the CPU, or 0 where there are several.
    int hold(member& one, const cpu_set_t& on, std::uint16_t seat);
    int seat_helper(const team::helper& one);
    static void seat_forker(std::span<member* const> members, std::vector<std::size_t>& seats,
                            std::span<const double> worth);
    double shared_out_on(int cpu);
    std::vector<double> learned(const speeds& cpus) const;
    bool changed(const std::vector<std::size_t>& wanted, const speeds& cpus, std::span<const double> worth);
    void publish(const speeds& cpus);
    // Who waits on a seat may take others onto it.
    void allow_lending(const speeds& cpus, std::span<const double> worth);
    void tell_paces(const speeds& cpus, std::span<const double> worth);

    cpu_set_t given_;
    moves& mover_;
    page* shared_;
    struct one_held {
        pid_t process;
        pid_t thread;
        int came_from;
        slot* marks;
    };
    std::vector<one_held> held_;
    std::map<pid_t, int> seats_;  // the CPU of each thread
    cpu_set_t gathered_{};        // where all are
    int others_wanted_ = 0;       // looks in a row
    std::vector<double> published_;
    std::map<int, std::uint64_t> shared_out_;  // as the page told it last
    std::uint64_t lent_ = 0;                   // the number of guests, as it told it
    std::map<int, double> learned_;  // what each CPU gets of all speeds together, as shares showed it
};

}  // namespace tauto::balance
