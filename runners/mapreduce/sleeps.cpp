#include "runners/mapreduce/sleeps.hpp"

#include <cxxabi.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <span>

namespace tauto::runner {

namespace {

constexpr std::chrono::microseconds between_looks{1000};
constexpr std::size_t words_of_stack = 512;

std::vector<pid_t> threads_beside(pid_t own) {
    std::vector<pid_t> found;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder{opendir("/proc/self/task"), closedir};
    if (!folder) return found;
    while (const dirent* entry = readdir(folder.get())) {
        const pid_t thread = std::atoi(entry->d_name);
        if (thread > 0 && thread != own) found.push_back(thread);
    }
    return found;
}

std::string line_of(pid_t thread) {
    const std::string path = "/proc/self/task/" + std::to_string(thread) + "/syscall";
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    std::array<char, 256> text{};
    const ssize_t count = read(file, text.data(), text.size());
    close(file);
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

bool follows_a_call(std::uintptr_t address) {
#if defined(__x86_64__)
    const auto* code = reinterpret_cast<const unsigned char*>(address);
    return code[-5] == 0xe8 || code[-2] == 0xff || code[-3] == 0xff || code[-6] == 0xff || code[-7] == 0xff;
#else
    return address != 0;
#endif
}

// The code of a library, as it is loaded.
struct code_range {
    std::uintptr_t begin;
    std::uintptr_t end;
};

std::vector<code_range> loaded_code() {
    std::vector<code_range> found;
    dl_iterate_phdr(
        [](dl_phdr_info* library, std::size_t, void* into) {
            for (const auto& part : std::span(library->dlpi_phdr, library->dlpi_phnum)) {
                if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
                const std::uintptr_t begin = library->dlpi_addr + part.p_vaddr;
                static_cast<std::vector<code_range>*>(into)->push_back({begin, begin + part.p_memsz});
            }
            return 0;
        },
        &found);
    return found;
}

std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

std::string readable(const char* symbol) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text{abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                      std::free};
    return status == 0 && text ? text.get() : symbol;
}

// The innermost function outside of the C library that a return address on the stack belongs to.
std::string caller_on(std::uintptr_t stack, std::span<const code_range> code) {
    static const pid_t process = getpid();
    std::array<std::uintptr_t, words_of_stack> words{};
    const iovec here{words.data(), sizeof words};
    const iovec there{reinterpret_cast<void*>(stack), sizeof words};
    const ssize_t bytes = process_vm_readv(process, &here, 1, &there, 1, 0);
    const std::size_t count = bytes > 0 ? static_cast<std::size_t>(bytes) / sizeof words[0] : 0;
    for (const std::uintptr_t word : std::span(words).first(count)) {
        const bool is_code = std::ranges::any_of(
            code, [&](const code_range& range) { return word >= range.begin + 8 && word < range.end; });
        if (!is_code || !follows_a_call(word)) continue;
        Dl_info info{};
        void* entry = nullptr;
        if (dladdr1(reinterpret_cast<void*>(word), &info, &entry, RTLD_DL_SYMENT) == 0 || !info.dli_fname)
            continue;
        const std::string_view library = file_name(info.dli_fname);
        if (library.starts_with("libc.so") || library.starts_with("ld-linux")) continue;
        const auto* symbol = static_cast<const ElfW(Sym)*>(entry);
        const bool is_inside = info.dli_sname && symbol &&
                               word - reinterpret_cast<std::uintptr_t>(info.dli_saddr) <= symbol->st_size;
        return is_inside ? readable(info.dli_sname) : std::string{library};
    }
    return "unknown";
}

}  // namespace

std::optional<futex_wait> futex_wait::parse(std::string_view line) {
    std::array<std::uintptr_t, 9> words{};  // the call, six arguments, stack, code
    for (std::size_t i = 0; i < words.size(); ++i) {
        while (line.starts_with(' ')) line.remove_prefix(1);
        const bool is_hex = line.starts_with("0x");
        if (is_hex) line.remove_prefix(2);
        const auto read = std::from_chars(line.data(), line.data() + line.size(), words[i], is_hex ? 16 : 10);
        if (read.ec != std::errc{}) return {};  // "running", or a thread outside of any call (-1)
        line.remove_prefix(static_cast<std::size_t>(read.ptr - line.data()));
    }
    if (words[0] != SYS_futex) return {};
    return futex_wait{words[1], words[7]};
}

sleep_sampler::sleep_sampler() {
    thread_ = std::thread([this] {
        const auto own = static_cast<pid_t>(syscall(SYS_gettid));
        auto next = std::chrono::steady_clock::now();
        while (!end_.load(std::memory_order_relaxed)) {
            sample(own);
            next = std::max(next + between_looks, std::chrono::steady_clock::now());
            std::this_thread::sleep_until(next);
        }
    });
}

void sleep_sampler::sample(pid_t own) {
    static const std::vector<code_range> code = loaded_code();
    ++looks_;
    for (const pid_t thread : threads_beside(own)) {
        const auto wait = futex_wait::parse(line_of(thread));
        if (!wait) continue;
        place& seen = places_[caller_on(wait->stack, code)];
        ++seen.seen;
        seen.addresses.insert(wait->address);
    }
}

void sleep_sampler::end() {
    end_.store(true, std::memory_order_relaxed);
    if (thread_.joinable()) thread_.join();
}

std::vector<sleeping_place> sleep_sampler::places() {
    end();
    std::vector<sleeping_place> found;
    for (const auto& [name, seen] : places_) {
        const double threads =
            static_cast<double>(seen.seen) / static_cast<double>(std::max<std::int64_t>(looks_, 1));
        found.push_back({name, threads, seen.addresses.size()});
    }
    std::ranges::stable_sort(found, std::ranges::greater{}, &sleeping_place::threads);
    return found;
}

}  // namespace tauto::runner
