#include "balance/waits/own_thread.hpp"

#include <signal.h>
#include <sys/prctl.h>

#include "balance/waits/marks.hpp"
#include "balance/waits/originals.hpp"

TAUTO_SYSTEM(pthread_create, nullptr);

namespace tauto::balance {

bool start_own_thread(pthread_t& thread, void* (*code)(void*), void* data) noexcept {
    const auto start =
        original<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(real_pthread_create);
    const slot* own = this_thread.own;
    if (own == nullptr || has_programs_mask(own->held.read().state))
        return start(&thread, nullptr, code, data) == 0;
    pthread_attr_t with_mask;
    if (pthread_attr_init(&with_mask) != 0) return false;
    const cpu_set_t& given = the_page()->given;
    const bool started = pthread_attr_setaffinity_np(&with_mask, sizeof given, &given) == 0 &&
                         start(&thread, &with_mask, code, data) == 0;
    pthread_attr_destroy(&with_mask);
    return started;
}

bool start_detached(void* (*code)(void*), void* data) {
    pthread_t thread{};
    return start_own_thread(thread, code, data) && pthread_detach(thread) == 0;
}

void be_idle() noexcept {
    prctl(PR_SET_NAME, name_of_idle_threads);
}

bool start_idle(void* (*code)(void*), void* data) noexcept {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = start_detached(code, data);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
}

}  // namespace tauto::balance
