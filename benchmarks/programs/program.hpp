#pragma once
// What every program of the suite does: read its options, time in short batches, print one line of JSON that
// the lab reads like a runner's.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "options/option_parser.hpp"
#include "runners/shared/cpus.hpp"
#include "runners/shared/error.hpp"
#include "runners/shared/timing.hpp"

namespace tauto::bench {

using json = nlohmann::ordered_json;
using runner::input_error;

inline constexpr const char* schema = "tautochrone.benchmark/1";

/// Fewer threads took part than were asked for; what() says what the library saw.
struct missing_worker : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct options {
    std::string cpus_text = "0,1";
    std::vector<int> cpus;  ///< to pin to, one member each
    double warmup_seconds = 0.05;
    double min_seconds = 0.1;
    std::string wait = "default";
};

inline double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of one call of `work`, batch by batch, each batch of `calls` calls, after a warm-up. Short batches
/// on purpose: most are over before anybody interrupts, so that their median is one of undisturbed ones.
template <class Work>
std::vector<double> batch_seconds(const options& asked, int calls, Work&& work) {
    const double begun = seconds_now();
    while (seconds_now() - begun < asked.warmup_seconds) {
        for (int call = 0; call < calls; ++call) work();
    }
    std::vector<double> batches;
    batches.reserve(1 << 14);
    const double start = seconds_now();
    double now = start;
    while (now - start < asked.min_seconds || batches.size() < 9) {
        for (int call = 0; call < calls; ++call) work();
        const double end = seconds_now();
        batches.push_back((end - now) / calls);
        now = end;
    }
    return batches;
}

/// The fields of a timed program: the figure of merit is the median over batches.
json timed(const std::vector<double>& batches);

/// What adds options to the command line. Numbers outside least … most are refused.
class arguments {
  public:
    explicit arguments(option_parser& parser) : parser_(parser) {}
    /// The first word of the command line, which must be there.
    void work(std::string& value, std::vector<std::string> known);
    void flag(const char* name, bool& value, const char* help);
    void number(const char* name, int& value, const char* help, int least = 1, int most = 1'000'000'000);
    void number(const char* name, std::int64_t& value, const char* help, std::int64_t least = 1,
                std::int64_t most = 100'000'000);
    void number(const char* name, std::size_t& value, const char* help);
    void number(const char* name, double& value, const char* help);
    void word(const char* name, std::string& value, const char* help, std::vector<std::string> allowed = {});

  private:
    option_parser& parser_;
};

/// The main function: `add` adds options of the program's own, `body` runs it and returns what is printed.
int run_program(int argc, char** argv, const char* name, const char* what,
                const std::function<void(arguments&)>& add, const std::function<json(options&)>& body);

}  // namespace tauto::bench
