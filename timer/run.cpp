#include "timer/run.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <system_error>

#include "timer/offspring.hpp"
#include "timer/surroundings.hpp"

namespace tauto::timer {

namespace {

constexpr std::size_t output_kept = 64 << 10;
constexpr std::size_t errors_kept = 4 << 10;
constexpr nanoseconds between_drains = 100'000'000;
// A helper may end a moment after the program; what takes longer has work left.
constexpr nanoseconds left_least = 1'000'000;
constexpr nanoseconds left_most = 50'000'000;
constexpr nanoseconds left_share = 50;  // of the time of the run, its fiftieth

class descriptor {
  public:
    explicit descriptor(int opened) : opened_(opened) {}
    ~descriptor() {
        if (opened_ >= 0) close(opened_);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    [[nodiscard]] int get() const { return opened_; }

  private:
    int opened_;
};

// A pipe without a writer is not waited for.
int opened_input(const std::string& path) {
    const int opened = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (opened >= 0) fcntl(opened, F_SETFL, 0);
    return opened;
}

bool wants_the_terminal(int status) {
    return WIFSTOPPED(status) && (WSTOPSIG(status) == SIGTTIN || WSTOPSIG(status) == SIGTTOU);
}

// To the program's group; if it has left that, to the program.
void send(pid_t program, int number) {
    kill(getpgid(program) == program ? -program : program, number);
}

void note_failure(answer& said, int error, const char* what) {
    said.start_error = error;
    said.start_error_of = what;
}

}  // namespace

struct run_executor::child {
    pid_t pid = 0;
    nanoseconds started = 0;
    nanoseconds ended = 0;
    nanoseconds stop_at = never;
    nanoseconds kill_at = never;
    const char* stopped_for = nullptr;
    int terminal_signal = 0;  // that stopped it
    int status = 0;
    rusage used{};
    std::set<std::string> shared;  // files in shared memory that it would leave if it was killed
};

run_executor::run_executor(inbox& from, int signals)
    : inbox_(from), signals_(signals), errors_(errors_kept, false) {}

answer run_executor::run(const request& asked) {
    answer said;
    said.number = asked.number;
    cancelled_ = false;
    said.load_before = load();
    said.bridge_seconds = bridge();
    const std::optional<machine_times> before = read_machine_times();
    const double own_before = own_cpu_seconds();
    const counters::totals counted = counters_.read();
    run_repeatedly(asked, said);
    said.counters = counters_.between(counted, counters_.read());
    said.counters_scope = said.counters.empty() ? nullptr : counters_.scope();
    said.counters_reason = counters_.reason();
    const std::optional<machine_times> after = read_machine_times();
    if (before && after) {
        const double own = said.used.user_seconds + said.used.system_seconds + own_cpu_seconds() - own_before;
        said.others_cpu_seconds = std::max(0.0, after->busy - before->busy - own);
        said.steal_seconds = after->stolen - before->stolen;
    }
    return said;
}

void run_executor::run_repeatedly(const request& asked, answer& said) {
    const program what(asked);
    const descriptor input(opened_input(asked.input));
    if (input.get() < 0) return note_failure(said, errno, "input");
    std::unique_ptr<output_file> output;
    try {
        if (asked.output == output_to::memory) output = std::make_unique<output_file>(output_kept, true);
        if (asked.output == output_to::file)
            output = std::make_unique<output_file>(asked.output_file, output_kept, true);
    } catch (const std::system_error& error) {
        return note_failure(said, error.code().value(), "output");
    }
    const descriptor nowhere(output ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC));
    const streams to{input.get(), output ? output->descriptor() : nowhere.get(), errors_.descriptor()};
    const nanoseconds end = after(now(), asked.window.value_or(never));
    std::int64_t runs = 0;
    do {
        if (!run_once(asked, what, to, output.get(), said)) break;
        ++runs;
        if (said.exit_codes.back() != 0 && !asked.after_failure) break;
    } while (said.stopped_for == nullptr && runs < asked.most_runs && now() < end);
    said.errors = errors_.read().end;
}

bool run_executor::run_once(const request& asked, const program& what, const streams& to, output_file* output,
                            answer& said) {
    lseek(to.input, 0, SEEK_SET);
    errors_.clear();
    if (output != nullptr) output->clear();
    child running;
    running.started = now();
    const started begun = what.start(to);
    if (begun.error != 0) {
        note_failure(said, begun.error, begun.failed);
        return false;
    }
    running.pid = begun.pid;
    running.stop_at = after(running.started, asked.time_limit);
    watch(running, output);
    said.elapsed.push_back(to_seconds(running.ended - running.started));
    said.used.add(running.used);
    end_the_rest(running, asked, said);
    remove_all(running.shared);
    said.stopped_for = running.stopped_for;
    if (said.stopped_for == nullptr && asked_to_stop()) said.stopped_for = "cancelled";
    said.reads_terminal = running.terminal_signal != 0;
    said.exit_codes.push_back(said.reads_terminal         ? -running.terminal_signal
                              : WIFEXITED(running.status) ? WEXITSTATUS(running.status)
                                                          : -WTERMSIG(running.status));
    if (output != nullptr) {
        printed found = output->read();
        if (said.output && (said.output->hash != found.hash || said.output->bytes != found.bytes))
            said.outputs_differ = true;
        said.output = std::move(found);
    }
    return true;
}

void run_executor::watch(child& running, output_file* output) {
    nanoseconds drain_at = after(running.started, between_drains);
    for (;;) {
        const nanoseconds seen = wait_until(std::min({running.stop_at, running.kill_at, drain_at}));
        read_signals();
        const pid_t got = wait4(running.pid, &running.status, WNOHANG | WUNTRACED, &running.used);
        if (got == running.pid && !WIFSTOPPED(running.status)) {
            running.ended = seen;
            return;
        }
        if (got == running.pid && wants_the_terminal(running.status) && running.stopped_for == nullptr) {
            running.terminal_signal = WSTOPSIG(running.status);
            running.kill_at = seen;
        }
        if (asked_to_stop()) stop(running, "cancelled");
        if (seen >= running.stop_at) stop(running, "timeout");
        if (seen >= running.kill_at) {
            running.kill_at = never;
            send(running.pid, SIGKILL);
        }
        if (seen >= drain_at) {
            errors_.drain();
            if (output != nullptr) output->drain();
            drain_at = now() + between_drains;
        }
    }
}

void run_executor::stop(child& running, const char* why) {
    running.stop_at = never;
    if (running.stopped_for != nullptr) return;
    running.stopped_for = why;
    running.kill_at = now() + grace;
    running.shared = shared_memory_of(whole_offspring());
    send(running.pid, SIGTERM);
    send(running.pid, SIGCONT);  // or it would not see the first
}

void run_executor::end_the_rest(const child& ended, const request& asked, answer& said) {
    const nanoseconds patience = asked.alive_after.value_or(
        std::clamp((ended.ended - ended.started) / left_share, left_least, left_most));
    const nanoseconds until = ended.stopped_for != nullptr ? 0 : after(now(), patience);
    rusage used{};
    std::set<std::string> shared;
    for (bool killing = false;;) {
        const pid_t got = wait4(-1, nullptr, WNOHANG, &used);
        if (got < 0) break;
        if (got > 0) {
            said.used.add(used);
        } else if (!killing && now() < until && !asked_to_stop()) {
            wait_until(until);
            read_signals();
        } else {
            if (!killing && ended.stopped_for == nullptr) {
                said.left_running.merge(names_at_work());
                shared = shared_memory_of(whole_offspring());
            }
            killing = true;
            if (!kill_offspring(ended.pid)) break;
            if (wait4(-1, nullptr, 0, &used) > 0) said.used.add(used);
        }
    }
    remove_all(shared);
}

nanoseconds run_executor::wait_until(nanoseconds moment) {
    std::array<pollfd, 2> watched{{{signals_, POLLIN, 0}, {inbox_.descriptor(), POLLIN, 0}}};
    const nfds_t count = inbox_.ended() ? 1 : 2;
    const nanoseconds wait = std::max<nanoseconds>(0, moment - now());
    const timespec span{static_cast<time_t>(wait / 1'000'000'000), static_cast<long>(wait % 1'000'000'000)};
    ppoll(watched.data(), count, moment == never ? nullptr : &span, nullptr);
    const nanoseconds seen = now();
    if (watched[1].revents != 0) inbox_.take();
    return seen;
}

void run_executor::read_signals() {
    std::array<signalfd_siginfo, 4> read_ones;
    for (;;) {
        const ssize_t got = read(signals_, read_ones.data(), sizeof read_ones);
        if (got <= 0) return;
        const std::size_t count = static_cast<std::size_t>(got) / sizeof(signalfd_siginfo);
        for (std::size_t place = 0; place < count; ++place)
            told_to_end_ = told_to_end_ || read_ones[place].ssi_signo != SIGCHLD;
        if (count < read_ones.size()) return;
    }
}

bool run_executor::asked_to_stop() {
    cancelled_ = inbox_.cancelled() || cancelled_;
    return told_to_end_ || inbox_.ended() || cancelled_;
}

void run_executor::wait_for_input() {
    wait_until(never);
    read_signals();
}

}  // namespace tauto::timer
