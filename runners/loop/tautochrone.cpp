// The loop study on tautochrone.

#include <tauto/tauto.hpp>

#include "runners/loop/run.hpp"
#include "runners/shared/signed.hpp"
#include "runners/shared/tautochrone_team.hpp"

namespace {

using namespace tauto::runner;

class tautochrone_adapter : public tautochrone_loops<tauto::loop_options> {
  public:
    static constexpr std::string_view executable = "tauto-loop-tautochrone";

    static description describe() {
        description tautochrone = tautochrone_description();
        tautochrone.schedules = {{"adaptive", false}, {"static", false}, {"static_chunk", true},
                                 {"dynamic", true},   {"guided", true},  {"weighted", false}};
        tautochrone.default_chunk = default_chunk_rows;
        return tautochrone;
    }

    using tautochrone_loops::tautochrone_loops;

    template <class Body>
    void for_rows(std::size_t n, Body&& body) {
        tauto::parallel_for(
            team_, static_cast<tauto::index>(n),
            [&body](tauto::range rows) { body(usize(rows.begin), usize(rows.end)); }, loop_);
        count_width();
    }
};

}  // namespace

int main(int argc, char** argv) {
    return run_loop<tautochrone_adapter>(argc, argv);
}
