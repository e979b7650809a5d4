#include "balance/promptness.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>

namespace tauto::balance {

namespace {

bool set_policy(int policy, int priority) {
    const sched_param asked{priority};
    return sched_setscheduler(0, policy, &asked) == 0;
}

}  // namespace

void become_prompt() {
    prctl(PR_SET_TIMERSLACK, 1);
    setpriority(PRIO_PROCESS, 0, -20);  // a refusal does no harm on a quiet machine
    set_policy(SCHED_FIFO, 1);
}

patience::patience() : was_prompt_(sched_getscheduler(0) == SCHED_FIFO) {
    if (was_prompt_) set_policy(SCHED_OTHER, 0);
}

patience::~patience() {
    const int error = errno;
    if (was_prompt_) set_policy(SCHED_FIFO, 1);
    errno = error;
}

}  // namespace tauto::balance
