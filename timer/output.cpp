#include "timer/output.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <system_error>

namespace tauto::timer {

namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);
constexpr std::int64_t much = 16 << 20;
constexpr mode_t for_the_owner = 0600;

int checked(int descriptor, const char* what) {
    if (descriptor < 0) throw std::system_error(errno, std::generic_category(), what);
    return descriptor;
}

int opened_memory() {
    const int descriptor = checked(memfd_create("tauto-output", MFD_CLOEXEC), "memory for output");
    // So that a file that was made empty is written from its beginning.
    fcntl(descriptor, F_SETFL, O_APPEND);
    return descriptor;
}

int opened_file(const std::string& path) {
    int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY;
    // A file without a name, which only a link there leads to.
    if (!path.starts_with("/proc/")) flags |= O_NOFOLLOW;
    int descriptor = open(path.c_str(), flags, for_the_owner);
    // A device or a pipe that can only be written; one without a reader is not waited for.
    if (descriptor < 0 && errno == EACCES) {
        descriptor = open(path.c_str(), (flags & ~O_ACCMODE) | O_WRONLY | O_NONBLOCK, for_the_owner);
        if (descriptor >= 0) fcntl(descriptor, F_SETFL, O_APPEND);
    }
    return checked(descriptor, "output");
}

}  // namespace

void stream_hash::take(std::uint64_t word) {
    constexpr std::uint64_t odd = 0xd6e8feb86659fd93U;
    state_ = (state_ ^ word) * odd;
    state_ ^= state_ >> 32U;
}

void stream_hash::add(std::string_view bytes) {
    const auto add_byte = [this](char one) {
        const std::uint64_t place = bytes_ % word_bytes;
        word_ |= std::uint64_t{static_cast<unsigned char>(one)} << (8U * place);
        ++bytes_;
        if (place + 1 == word_bytes) {
            take(word_);
            word_ = 0;
        }
    };
    while (bytes_ % word_bytes != 0 && !bytes.empty()) {
        add_byte(bytes[0]);
        bytes.remove_prefix(1);
    }
    for (; bytes.size() >= word_bytes; bytes.remove_prefix(word_bytes)) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), word_bytes);
        take(word);
        bytes_ += word_bytes;
    }
    for (const char one : bytes) add_byte(one);
}

std::uint64_t stream_hash::value() const {
    stream_hash end = *this;
    end.take(word_);
    end.take(bytes_);
    end.take(bytes_);  // the last words have been mixed only once
    return end.state_;
}

output_file::output_file(std::size_t kept, bool hashed)
    : descriptor_(opened_memory()), kept_(kept), hashes_(hashed), in_memory_(true) {}

output_file::output_file(const std::string& path, std::size_t kept, bool hashed)
    : descriptor_(opened_file(path)), kept_(kept), hashes_(hashed), in_memory_(false) {
    clear();
}

output_file::~output_file() {
    close(descriptor_);
}

void output_file::clear() {
    if (size() > 0) checked(ftruncate(descriptor_, 0), "output");
    hash_ = {};
    taken_ = freed_ = 0;
}

void output_file::drain() {
    const std::int64_t there = size();
    if (!in_memory_ || there - freed_ < much) return;
    if (hashes_) hash_until(there);
    const std::int64_t end = there - static_cast<std::int64_t>(kept_);
    if (fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, end) == 0) freed_ = end;
}

printed output_file::read() {
    printed found;
    found.bytes = size();
    if (found.bytes == 0) {
        found.hash = hash_.value();
        return found;
    }
    if (hashes_) hash_until(found.bytes);
    found.hash = hash_.value();
    found.end.resize(std::min(kept_, static_cast<std::size_t>(found.bytes)));
    const std::int64_t begin = found.bytes - static_cast<std::int64_t>(found.end.size());
    const ssize_t got = pread(descriptor_, found.end.data(), found.end.size(), begin);
    found.end.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return found;
}

std::int64_t output_file::size() const {
    struct stat found {};
    return fstat(descriptor_, &found) == 0 && S_ISREG(found.st_mode) ? found.st_size : 0;
}

void output_file::hash_until(std::int64_t end) {
    std::array<char, 16 << 10> bytes;
    while (taken_ < end) {
        const auto wanted = std::min<std::int64_t>(end - taken_, bytes.size());
        const ssize_t got = pread(descriptor_, bytes.data(), static_cast<std::size_t>(wanted), taken_);
        if (got <= 0) break;
        hash_.add({bytes.data(), static_cast<std::size_t>(got)});
        taken_ += got;
    }
}

}  // namespace tauto::timer
