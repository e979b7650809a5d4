// The nbody study on tautochrone: one run of the team for a whole run of the particles.

#include <tauto/tauto.hpp>

#include "runners/nbody/member.hpp"
#include "runners/shared/tautochrone_team.hpp"

namespace {

using namespace tauto::runner;

class tautochrone_adapter {
  public:
    static constexpr std::string_view executable = "tauto-nbody-tautochrone";

    static description describe() {
        description tautochrone = tautochrone_description();
        tautochrone.schedules = member_schemes();
        return tautochrone;
    }

    explicit tautochrone_adapter(const nbody_request& asked)
        : fixed_{scheme_named(asked.schedule, asked.threads).has_value()}, team_{team_options_of(asked)} {}

    nbody_pass run(const nbody_start& start, const nbody_request& asked, work_account& account) {
        nbody_pass pass;
        team_.run([&](tauto::member& me) {
            nbody_pass mine = member_pass(me, start, asked, account);
            if (me.rank() == 0) pass = std::move(mine);
        });
        return pass;
    }

    // auto chooses by measured times, and its schemes add in different orders.
    bool repeats_bits() const { return fixed_; }

    std::string diagnosis() const { return diagnosis_of(team_); }

  private:
    bool fixed_;
    tauto::team team_;
};

}  // namespace

int main(int argc, char** argv) {
    return run_nbody<tautochrone_adapter>(argc, argv);
}
