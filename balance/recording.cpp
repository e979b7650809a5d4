#include "balance/recording.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "balance/promptness.hpp"

namespace tauto::balance {

std::unique_ptr<recording> recording::begin(perf_event_attr what, pid_t thread,
                                            std::span<const std::size_t> pages_to_try) {
    const patience while_asking;
    const long file = syscall(SYS_perf_event_open, &what, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (file < 0) return nullptr;
    for (const std::size_t data : pages_to_try) {
        const std::size_t bytes = (1 + data) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        void* const pages =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(file), 0);
        if (pages != MAP_FAILED)
            return std::unique_ptr<recording>(new recording(static_cast<int>(file), pages, bytes));
    }
    close(static_cast<int>(file));
    return nullptr;
}

recording::~recording() {
    const patience while_asking;
    munmap(pages_, bytes_);
    close(file_);
}

perf_event_attr software_event(std::uint64_t which, std::uint64_t fields) {
    perf_event_attr what{};
    what.size = sizeof what;
    what.type = PERF_TYPE_SOFTWARE;
    what.config = which;
    what.exclude_kernel = 1;  // without it more rights are needed
    what.exclude_hv = 1;
    what.sample_type = fields;
    what.use_clockid = 1;
    what.clockid = CLOCK_MONOTONIC;
    what.watermark = 1;
    what.wakeup_watermark = ~0U;
    return what;
}

}  // namespace tauto::balance
