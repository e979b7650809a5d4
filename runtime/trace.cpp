#include <tauto/trace.hpp>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <mutex>
#include <vector>

#include <tauto/error.hpp>
#include <tauto/signed.hpp>

#include "forks.hpp"
#include "own_file.hpp"

namespace tauto::trace {
namespace {

struct slice {
    const char* name;
    std::int64_t begin;
    std::int64_t end;
    range chunk;
    int cpu;
    int rank;
    bool stolen;
};

constexpr std::size_t most_slices = std::size_t{1} << 20;

// One thread's slices: written by that thread alone, read by stop() after recording was switched off and
// under the lock that every record takes too. Tracing is for looking, not for timing: the lock is
// uncontended.
struct buffer {
    std::mutex lock;
    std::vector<slice> slices;
    std::int64_t dropped = 0;
    unsigned generation = detail::current_fork_generation();  // of the process whose thread it is
};

struct recorder {
    std::mutex lock;
    std::deque<buffer> buffers;
    std::FILE* file = nullptr;
};

std::atomic<bool> recording{false};

recorder& the_recorder() {
    // Never destroyed: members may record while statics are torn down.
    static auto* one = new recorder;
    return *one;
}

buffer& own_buffer() {
    // The recorder's, which outlives every thread.
    thread_local constinit buffer* mine = nullptr;
    if (mine == nullptr || mine->generation != detail::current_fork_generation()) {
        recorder& all = the_recorder();
        const std::lock_guard guard(all.lock);
        mine = &all.buffers.emplace_back();
    }
    return *mine;
}

// A trace belongs to the process that started it: a child closes its copy of the file. The lock keeps a fork
// from coming while stop() writes.
const int fork_handler =
    pthread_atfork([] { the_recorder().lock.lock(); }, [] { the_recorder().lock.unlock(); },
                   [] {
                       recorder& all = the_recorder();
                       recording.store(false, std::memory_order_relaxed);
                       if (all.file != nullptr) std::fclose(all.file);
                       all.file = nullptr;
                       all.lock.unlock();
                   });

void write_name(std::FILE* file, const char* name) {
    for (const char* c = name; *c != '\0'; ++c) {
        if (*c == '"' || *c == '\\') std::fputc('\\', file);
        if (static_cast<unsigned char>(*c) >= 0x20) std::fputc(*c, file);
    }
}

void write_slice(std::FILE* file, const slice& one) {
    std::fputs(",\n{\"ph\":\"X\",\"pid\":1,\"tid\":", file);
    std::fprintf(file, "%d,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"%s\",\"name\":\"", one.cpu,
                 detail::as_double(one.begin) / 1e3, detail::as_double(one.end - one.begin) / 1e3,
                 one.stolen ? "stolen" : "chunk");
    write_name(file, one.name != nullptr ? one.name : "loop");
    std::fprintf(file, "%s\",\"args\":{\"begin\":%lld,\"end\":%lld,\"rank\":%d,\"stolen\":%s}}",
                 one.stolen ? " (stolen)" : "", static_cast<long long>(one.chunk.begin),
                 static_cast<long long>(one.chunk.end), one.rank, one.stolen ? "true" : "false");
}

// Starts what TAUTO_TRACE asks for when the library is loaded, and writes it when the program ends.
const bool started_from_environment = [] {
    const char* path = std::getenv("TAUTO_TRACE");
    if (path == nullptr || *path == '\0') return false;
    try {
        start(path);
    } catch (const error& problem) {
        std::fprintf(stderr, "tautochrone: %s\n", problem.what());
        return false;
    }
    std::atexit([] { stop(); });
    return true;
}();

}  // namespace

bool enabled() noexcept {
    return recording.load(std::memory_order_relaxed);
}

std::int64_t now_nanoseconds() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

void start(const std::string& path) {
    recorder& all = the_recorder();
    const std::lock_guard guard(all.lock);
    if (all.file != nullptr)
        throw error("a trace is being recorded already; stop it before starting another");
    const int opened = detail::open_own_file(path, O_WRONLY | O_CREAT | O_TRUNC);
    all.file = opened < 0 ? nullptr : fdopen(opened, "w");
    if (all.file == nullptr) {
        const int number = errno;
        if (opened >= 0) close(opened);
        throw error("the trace file '" + path +
                    "' cannot be written: " + detail::words_of_own_file(number, std::strerror(number)) +
                    "; set TAUTO_TRACE to a path that can");
    }
    recording.store(true, std::memory_order_relaxed);
}

std::int64_t stop() {
    recording.store(false, std::memory_order_relaxed);
    recorder& all = the_recorder();
    const std::lock_guard guard(all.lock);
    if (all.file == nullptr) return 0;
    std::fputs(
        "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
        "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"tautochrone\"}}",
        all.file);
    std::int64_t written = 0;
    std::int64_t dropped = 0;
    std::vector<bool> named;
    for (buffer& one : all.buffers) {
        // Those of threads of the parent may be locked for ever.
        if (one.generation != detail::current_fork_generation()) continue;
        const std::lock_guard own(one.lock);
        for (const slice& s : one.slices) {
            const auto cpu = detail::usize(s.cpu);
            if (cpu >= named.size()) named.resize(cpu + 1);
            if (!named[cpu]) {
                std::fprintf(all.file,
                             ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_name\",\"args\":{"
                             "\"name\":\"CPU %d\"}}",
                             s.cpu, s.cpu);
                named[cpu] = true;
            }
            write_slice(all.file, s);
            ++written;
        }
        dropped += one.dropped;
        one.slices.clear();
        one.dropped = 0;
    }
    std::fprintf(all.file, "\n],\"otherData\":{\"dropped_slices\":%lld}}\n", static_cast<long long>(dropped));
    if (std::fclose(all.file) != 0) {
        std::fprintf(stderr, "tautochrone: the trace is not whole: %s\n", std::strerror(errno));
    }
    all.file = nullptr;
    return written;
}

void record_chunk(const char* name, int rank, range chunk, bool stolen, std::int64_t begin_nanoseconds,
                  std::int64_t end_nanoseconds) noexcept {
    const int cpu = sched_getcpu();
    try {
        buffer& mine = own_buffer();
        const std::lock_guard guard(mine.lock);
        if (mine.slices.size() >= most_slices) {
            ++mine.dropped;
            return;
        }
        mine.slices.push_back({name, begin_nanoseconds, end_nanoseconds, chunk, cpu, rank, stolen});
    } catch (...) {
        // A trace that runs out of memory must not end the program that is traced.
        recording.store(false, std::memory_order_relaxed);
    }
}

}  // namespace tauto::trace
