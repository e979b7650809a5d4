#include "balance/samples.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "balance/recording.hpp"

namespace tauto::balance {

namespace {

// 32 bytes a sample: one each millisecond fills a page in an eighth of a second.
constexpr std::array<std::size_t, 2> pages_of_samples{2, 1};

struct record_of_sample {
    std::uint64_t address;
    std::uint64_t time;
    std::uint32_t cpu, reserved;
};

class recorded : public samples {
  public:
    explicit recorded(std::unique_ptr<recording> from) : from_(std::move(from)) {}

    void read(std::vector<sample>& into) override {
        from_->read([&](const perf_event_header& header, const std::byte* record) {
            if (header.type != PERF_RECORD_SAMPLE) return;
            record_of_sample found{};
            std::memcpy(&found, record, sizeof found);
            into.push_back(
                {static_cast<nanoseconds>(found.time), found.address, static_cast<int>(found.cpu)});
        });
    }

  private:
    std::unique_ptr<recording> from_;
};

}  // namespace

std::unique_ptr<samples> sample_thread(pid_t thread, nanoseconds period) {
    perf_event_attr what =
        software_event(PERF_COUNT_SW_TASK_CLOCK, PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU);
    what.sample_period = static_cast<std::uint64_t>(period);
    auto from = recording::begin(what, thread, pages_of_samples);
    return from ? std::make_unique<recorded>(std::move(from)) : nullptr;
}

}  // namespace tauto::balance
