#include "launch/process.hpp"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

namespace tauto::launch {

namespace {

// A separate signal reports the parent's end. PR_SET_PDEATHSIG also fires when only the thread that started
// us ends; then getppid() is unchanged and we continue.
int parent_gone_signal() {
    return SIGRTMIN + 3;
}

}  // namespace

bool asks_to_leave(int signal) {
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

process::process() : parent_(getppid()) {
    sigset_t caught;
    sigemptyset(&caught);
    for (const int signal :
         {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGTTOU, SIGPIPE, parent_gone_signal()})
        sigaddset(&caught, signal);
    sigprocmask(SIG_BLOCK, &caught, &original_.signals);
    sched_getaffinity(0, sizeof original_.cpus, &original_.cpus);
    signals_ = signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ < 0) throw error(std::string("cannot receive signals: ") + strerror(errno));
    prctl(PR_SET_PDEATHSIG, parent_gone_signal());
    if (parent_gone()) throw leave{128 + SIGKILL};
}

process::~process() {
    close(signals_);
}

bool process::parent_gone() const {
    return getppid() != parent_;
}

bool process::parent_stopped() const {
    std::ifstream file("/proc/" + std::to_string(parent_) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto name_end = text.rfind(") ");  // the name may itself have brackets
    return name_end != std::string::npos && (text[name_end + 2] == 'T' || text[name_end + 2] == 't');
}

int process::next_signal() const {
    signalfd_siginfo facts{};
    const ssize_t got = read(signals_, &facts, sizeof facts);
    return got == static_cast<ssize_t>(sizeof facts) ? static_cast<int>(facts.ssi_signo) : 0;
}

void process::avoid(const std::vector<int>& cpus) const {
    cpu_set_t rest = original_.cpus;
    for (const int cpu : cpus) CPU_CLR(static_cast<unsigned>(cpu), &rest);
    if (CPU_COUNT(&rest) > 0) sched_setaffinity(0, sizeof rest, &rest);
}

}  // namespace tauto::launch
