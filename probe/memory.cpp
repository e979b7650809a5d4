#include "probe/memory.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include <tauto/error.hpp>

namespace tauto::probe {

untouched_memory::untouched_memory(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    start_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start_ == MAP_FAILED) {
        throw error("the memory probe asked for " + std::to_string(bytes / mebibyte) + " MiB and got none (" +
                    std::strerror(errno) + "); free memory or use --measure none");
    }
    // Without huge pages the probe would measure the translation of addresses.
    madvise(start_, bytes_, MADV_HUGEPAGE);
}

untouched_memory::~untouched_memory() {
    munmap(start_, bytes_);
}

}  // namespace tauto::probe
