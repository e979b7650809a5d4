#include "emulator/laboratory.hpp"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <tauto/error.hpp>
#include <thread>

namespace tauto::emulate {

namespace {

nlohmann::json calibrate_one(const slow_cpu& asked, nanoseconds period) {
    try {
        thief candidate(asked.cpu);
        return calibrate(candidate, asked.cpu, asked.factor, period);
    } catch (const std::system_error& failure) {
        return {{"error", "cannot slow CPU " + std::to_string(asked.cpu) + ": " +
                              explain_refusal(failure.code().value(), asked.cpu)}};
    }
}

[[noreturn]] void live_as_laboratory(const std::vector<slow_cpu>& asked, nanoseconds period, int answer) {
    setsid();
    std::ofstream("/proc/self/autogroup") << "-20";  // a refusal does no harm on a quiet machine
    std::vector<nlohmann::json> found(asked.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < asked.size(); ++i)
        threads.emplace_back([&, i] { found[i] = calibrate_one(asked[i], period); });
    for (std::thread& thread : threads) thread.join();
    const std::string text = nlohmann::json(found).dump();
    for (std::size_t written = 0; written < text.size();) {
        const ssize_t more = write(answer, text.data() + written, text.size() - written);
        if (more <= 0) break;
        written += static_cast<std::size_t>(more);
    }
    _exit(0);
}

// Reads everything until the other end closes.
std::string read_all(int file, const launch::process& self) {
    std::string text;
    for (;;) {
        pollfd events[] = {{file, POLLIN, 0}, {self.signals(), POLLIN, 0}};
        poll(events, 2, -1);
        // The laboratory ends with us, and nothing else is to be restored yet.
        while (const int signal = self.next_signal()) {
            if (launch::asks_to_leave(signal)) _exit(128 + signal);
            if (self.parent_gone()) _exit(128 + SIGKILL);
        }
        if (events[0].revents == 0) continue;
        char buffer[4096];
        const ssize_t got = read(file, buffer, sizeof buffer);
        if (got == 0 || (got < 0 && errno != EINTR)) return text;
        if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    }
}

std::vector<calibration> understand(const std::string& text) {
    const nlohmann::json found = nlohmann::json::parse(text, nullptr, false);
    if (!found.is_array())
        throw error("calibration ended early; see whether something killed it, and try again");
    for (const nlohmann::json& one : found)
        if (one.contains("error")) throw error(one["error"].get<std::string>());
    return found.get<std::vector<calibration>>();
}

}  // namespace

std::vector<calibration> calibrate_apart(const std::vector<slow_cpu>& asked, nanoseconds period,
                                         const launch::process& self) {
    if (asked.empty()) return {};
    int answer[2];
    if (pipe2(answer, O_CLOEXEC) != 0) throw error(std::string("cannot open a pipe: ") + strerror(errno));
    const pid_t parent = getpid();
    const pid_t laboratory = fork();
    if (laboratory < 0) throw error(std::string("cannot start a process: ") + strerror(errno));
    if (laboratory == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        close(answer[0]);
        live_as_laboratory(asked, period, answer[1]);
    }
    close(answer[1]);
    const std::string text = read_all(answer[0], self);
    close(answer[0]);
    while (waitpid(laboratory, nullptr, 0) < 0 && errno == EINTR) {
    }
    return understand(text);
}

std::string explain_refusal(int reason, int cpu) {
    if (reason == EPERM)
        return "SCHED_FIFO is not permitted for this process; run as root, or give the right to the program "
               "once (setcap "
               "cap_sys_nice+ep on tauto-emulate) or to the user (ulimit -r 99, limits.conf: rtprio); in a "
               "container "
               "add the capability SYS_NICE, in a cgroup set cpu.rt_runtime_us";
    return "a thread on CPU " + std::to_string(cpu) + " cannot be had: " + strerror(reason) +
           "; choose another CPU or widen the affinity mask or cpuset";
}

}  // namespace tauto::emulate
