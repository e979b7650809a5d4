#include "runners/mapreduce/timeline.hpp"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runners/shared/signed.hpp"

namespace tauto::runner {

namespace {

constexpr double shortest_wait_seconds = 1e-7;

using json = nlohmann::json;

// The lines of a trace. Times are microseconds since `origin`.
class trace_writer {
  public:
    trace_writer(std::int64_t origin, double tick_seconds)
        : origin_{origin}, tick_microseconds_{tick_seconds * 1e6} {
        text_ << std::fixed << std::setprecision(3) << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    }

    void name_process(const std::string& title) {
        begin_event() << R"("name":"process_name","ph":"M","pid":1,"args":{"name":)" << json(title).dump()
                      << "}}";
    }

    void name_thread(int thread) {
        begin_event() << R"("name":"thread_name","ph":"M","pid":1,"tid":)" << thread
                      << R"(,"args":{"name":"thread )" << thread << "\"}}";
    }

    void slice(int thread, const std::string& name, interval time) {
        begin_event() << R"("name":")" << name << R"(","ph":"X","pid":1,"tid":)" << thread << R"(,"ts":)"
                      << microseconds(time.begin - origin_) << R"(,"dur":)"
                      << microseconds(time.end - time.begin) << '}';
    }

    std::string finished() { return text_.str() + "\n]}\n"; }

  private:
    std::ostream& begin_event() {
        text_ << (first_ ? "\n{" : ",\n{");
        first_ = false;
        return text_;
    }
    double microseconds(std::int64_t ticks) const { return as_double(ticks) * tick_microseconds_; }

    std::ostringstream text_;
    std::int64_t origin_;
    double tick_microseconds_;
    bool first_ = true;
};

}  // namespace

std::vector<interval> gaps_of(const std::vector<task_slice>& slices, interval whole, std::int64_t shortest) {
    std::vector<interval> gaps;
    std::int64_t free_since = whole.begin;
    const auto add_gap_until = [&](std::int64_t end) {
        if (end - free_since >= shortest) gaps.push_back({free_since, end});
    };
    const auto first = std::ranges::partition_point(
        slices, [&](const task_slice& slice) { return slice.time.begin < whole.begin; });
    for (auto slice = first; slice != slices.end() && slice->time.begin < whole.end; ++slice) {
        add_gap_until(slice->time.begin);
        free_since = slice->time.end;
    }
    add_gap_until(whole.end);
    return gaps;
}

void timeline::add(std::int64_t task, interval time) {
    const int worker = this_worker();
    if (worker < max_workers) at(tracks_, worker).slices.push_back({task, time});
}

void timeline::clear() {
    for (int worker = 0; worker < max_workers; ++worker) at(tracks_, worker).slices.clear();
    repetitions_.clear();
}

std::vector<interval> timeline::waits_of(const track& of_thread, double tick_seconds) const {
    const auto shortest = static_cast<std::int64_t>(shortest_wait_seconds / tick_seconds);
    std::vector<interval> waits;
    for (const interval repetition : repetitions_) {
        const auto gaps = gaps_of(of_thread.slices, repetition, shortest);
        waits.insert(waits.end(), gaps.begin(), gaps.end());
    }
    return waits;
}

std::string timeline::chrome_trace(const std::string& title, double tick_seconds,
                                   std::set<int> threads) const {
    for (int worker = 0; worker < max_workers; ++worker)
        if (!at(tracks_, worker).slices.empty()) threads.insert(worker);
    trace_writer writer{repetitions_.empty() ? 0 : repetitions_.front().begin, tick_seconds};
    writer.name_process(title);
    for (const int thread : threads) {
        const track& of_thread = at(tracks_, thread);
        writer.name_thread(thread);
        for (const auto& [task, time] : of_thread.slices)
            writer.slice(thread, "task " + std::to_string(task), time);
        for (const interval wait : waits_of(of_thread, tick_seconds)) writer.slice(thread, "waiting", wait);
    }
    return writer.finished();
}

}  // namespace tauto::runner
