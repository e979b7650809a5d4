#include "emulator/slowdown.hpp"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <sstream>
#include <system_error>
#include <tauto/error.hpp>
#include <utility>

#include "emulator/laboratory.hpp"
#include "emulator/witness.hpp"

namespace tauto::emulate {

namespace {

constexpr double drift_worth_a_warning = 0.10;
constexpr nanoseconds patience = 5'000'000'000;
constexpr int turns_of_a_look = 6;
constexpr int looks_to_begin = 3;  // what the calibration found may be another second's

double seconds(nanoseconds value) {
    return static_cast<double>(value) * 1e-9;
}

std::string text(double value, int digits = 3) {
    std::ostringstream stream;
    stream.precision(digits);
    stream << value;
    return stream.str();
}

nlohmann::json or_null(std::optional<double> value) {
    return value ? nlohmann::json(*value) : nlohmann::json();
}

int bind_claim(int cpu) {
    const int claim = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (claim < 0) return -1;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "tauto-emulate-cpu-" + std::to_string(cpu);
    name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (bind(claim, reinterpret_cast<const sockaddr*>(&address), length) == 0) return claim;
    const int reason = errno;
    close(claim);
    errno = reason;
    return -1;
}

std::string unmet(const slow_cpu& asked, const calibration& reached, nanoseconds asked_period) {
    std::string sentence = "CPU " + std::to_string(asked.cpu) + " cannot be made " + text(asked.factor) +
                           " times slower: reached " + text(reached.factor) + " with turns of " +
                           text(reached.turn_nanoseconds * 1e-3) + " µs";
    if (reached.turn_nanoseconds > static_cast<double>(longest_turn(asked_period)))
        return sentence + ", longer than the " + text(seconds(longest_turn(asked_period)) * 1e6) +
               " allowed, because a thief must take that much at once; ask for a larger factor, or allow it "
               "with "
               "--period-us " +
               text(std::ceil(reached.turn_nanoseconds * 1e-2) / 10.0 * 1.1, 4);
    if (reached.busy_fraction > largest_busy_fraction() - 0.02)
        return sentence +
               ", and with more of the CPU taken RT throttling would set in; ask for a smaller factor, or "
               "set /proc/sys/kernel/sched_rt_runtime_us to -1";
    return sentence + "; ask for a smaller factor, or try again when the machine is quiet";
}

}  // namespace

cpu_claim::cpu_claim(int cpu) {
    const nanoseconds deadline = monotonic_now() + patience;
    while ((socket_ = bind_claim(cpu)) < 0) {
        if (errno != EADDRINUSE) return;  // no such sockets here: continue without a claim
        if (monotonic_now() > deadline)
            throw error("CPU " + std::to_string(cpu) +
                        " is slowed by another tauto-emulate; wait for its end or choose another CPU");
        usleep(50'000);
    }
}

cpu_claim::~cpu_claim() {
    if (socket_ >= 0) close(socket_);
}

std::optional<std::string> why_no_thief(int cpu) {
    try {
        const thief candidate(cpu);
        return std::nullopt;
    } catch (const std::system_error& failure) {
        return explain_refusal(failure.code().value(), cpu);
    }
}

slowdown::slowdown(slow_cpu asked) : asked_(std::move(asked)) {
    if (wants_thief()) claim();
}

void slowdown::claim() {
    if (!claim_) claim_ = std::make_unique<cpu_claim>(asked_.cpu);
}

void slowdown::prepare(const calibration& found, nanoseconds asked_period) {
    if (!found.met) throw error(unmet(asked_, found, asked_period));
    calibration_ = found;
    try {
        thief_ = std::make_unique<thief>(asked_.cpu);
    } catch (const std::system_error& failure) {
        throw error(explain_refusal(failure.code().value(), asked_.cpu));
    }
    thief_->configure({found.period, asked_.factor, found.overhead_nanoseconds});
    watch_.emplace(calibration_, asked_.factor);
}

void slowdown::on(const time_window* window) {
    if (thief_) {
        claim();
        watch_->restart();
        thief_->start();
        for (int i = 0; i < looks_to_begin; ++i) look();
    }
    duties_.push_back({window ? std::optional(*window) : std::nullopt, monotonic_now(), 0});
}

void slowdown::off() {
    if (duties_.empty() || duties_.back().off != 0) return;
    duty& last = duties_.back();
    last.off = monotonic_now();
    if (!thief_) return;
    thief_->stop();
    const thief_tally tally = thief_->tally();
    last.on = tally.started;
    last.off = tally.stopped;
    watch_->count(tally);
}

// The program on the CPU gets nothing meanwhile: 0.3 ms of 100 with turns of 50 µs.
void slowdown::look() {
    const turns_seen turns{static_cast<nanoseconds>(calibration_.turn_nanoseconds), 1.0 / asked_.factor,
                           turns_of_a_look};
    if (const auto share = witnessed_share(asked_.cpu, turns)) thief_->adjust(watch_->look(*share));
}

void slowdown::check() {
    if (!thief_ || !thief_->on_duty()) return;
    look();
    watch_->count(thief_->tally());
}

std::optional<double> slowdown::factor_while_running() const {
    if (!thief_) return 1.0;
    if (!watch_ || !watch_->measured()) return std::nullopt;
    return watch_->factor();
}

nlohmann::json slowdown::report() const {
    nlohmann::json windows = nlohmann::json::array();
    for (const duty& one : duties_)
        windows.push_back(
            {{"on_seconds", one.window ? nlohmann::json(one.window->on_seconds) : nlohmann::json()},
             {"off_seconds", one.window ? nlohmann::json(one.window->off_seconds) : nlohmann::json()},
             {"on_monotonic_seconds", seconds(one.on)},
             {"off_monotonic_seconds", one.off ? nlohmann::json(seconds(one.off)) : nlohmann::json()}});
    const bool measured = watch_ && watch_->measured();
    return {
        {"cpu", asked_.cpu},
        {"factor_asked", asked_.factor},
        {"factor_calibrated", calibration_.factor},
        {"reading_factor", calibration_.reading_factor},
        {"factor_while_running", or_null(factor_while_running())},
        {"period_seconds", thief_ ? nlohmann::json(calibration_.turn_nanoseconds * 1e-9) : nlohmann::json()},
        {"overhead_seconds", calibration_.overhead_nanoseconds * 1e-9},
        {"busy_fraction", measured ? watch_->busy_fraction() : calibration_.busy_fraction},
        {"interruptions", watch_ ? watch_->interruptions() : 0},
        {"interrupted_seconds", watch_ ? watch_->interrupted_seconds() : 0.0},
        {"windows", windows}};
}

std::optional<std::string> slowdown::warning() const {
    const std::optional<double> factor = factor_while_running();
    if (!factor || std::abs(*factor / asked_.factor - 1.0) <= drift_worth_a_warning) return std::nullopt;
    return "CPU " + std::to_string(asked_.cpu) + " was " + text(*factor) +
           " times slower while the command ran, " + text(asked_.factor) +
           " was asked; run again on a quieter machine, or with longer turns (--period-us 100)";
}

}  // namespace tauto::emulate
