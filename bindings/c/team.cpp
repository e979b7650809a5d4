#include <string>
#include <utility>

#include "calls.hpp"

namespace tauto::c {
namespace {

std::optional<wait_policy> wait_of(const tauto_team_options& given) {
    switch (given.wait) {
        case TAUTO_WAIT_DEFAULT:
            return std::nullopt;
        case TAUTO_WAIT_ACTIVE:
            return wait_policy::active;
        case TAUTO_WAIT_BALANCED:
            return wait_policy::balanced;
        case TAUTO_WAIT_PASSIVE:
            return wait_policy::passive;
    }
    refuse("tauto_team_create got the wait " + std::to_string(given.wait) +
           "; there are TAUTO_WAIT_DEFAULT (0) to TAUTO_WAIT_PASSIVE (3)");
}

team_options team_options_of(const tauto_team_options& of_program) {
    const tauto_team_options given = whole_of<tauto_team_options>(
        "tauto_team_create", "tauto_team_options", "TAUTO_TEAM_OPTIONS", of_program, TAUTO_TEAM_OPTIONS);
    team_options options{.size = given.members,
                         .wait = wait_of(given),
                         .pin = given.pin != 0,
                         .stack_bytes = given.stack_bytes};
    if (given.cpu_count > 0) {
        need("tauto_team_create", "cpus", given.cpus);
        options.cpus.assign(given.cpus, given.cpus + given.cpu_count);
    } else if (given.cpus != nullptr) {
        refuse("tauto_team_create got a list of 0 CPUs; name one, or NULL for each usable one");
    }
    if (given.name != nullptr) options.name = given.name;
    if (given.on_start != nullptr)
        options.on_start = [call = given.on_start, context = given.context](int rank) {
            call(context, rank);
        };
    return options;
}

}  // namespace
}  // namespace tauto::c

using namespace tauto;
using namespace tauto::c;

tauto_status tauto_team_create(const tauto_team_options* options, tauto_team** made) {
    return guarded([&] {
        need("tauto_team_create", "team", made);
        // The team stands where it is made: it can be neither copied nor moved.
        *made = options == nullptr ? new tauto_team{team(team_options{})}
                                   : new tauto_team{team(team_options_of(*options))};
    });
}

void tauto_team_destroy(tauto_team* given) {
    delete given;
}

int tauto_team_size(const tauto_team* given) {
    return given != nullptr ? given->members.size() : 0;
}

int tauto_team_cpu(const tauto_team* given, int rank) {
    if (rank < 0 || rank >= tauto_team_size(given)) return -1;
    return detail::at(given->members.cpus(), rank);
}

tauto_status tauto_team_pinned(tauto_team* given, int* pinned) {
    return guarded([&] {
        const team& members = members_of("tauto_team_pinned", given);
        need("tauto_team_pinned", "pinned", pinned);
        *pinned = members.pinned() ? 1 : 0;
    });
}

int tauto_rank() {
    return detail::running_as.rank;
}
