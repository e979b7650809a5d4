#include "balance/preload.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string_view>

namespace tauto::balance {

namespace {

constexpr char library_name[] = "libtauto-waits.so";
// A program beside us that does nothing. It is linked as this system's are; we may be linked statically.
constexpr char usual_program[] = "tauto-nothing";
constexpr int most_interpreters = 4;  // of scripts, as many as the kernel follows

// A file's bytes; none where it cannot be read.
class mapped_file {
  public:
    explicit mapped_file(const std::string& path) {
        const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (file < 0) return;
        struct stat found {};
        if (fstat(file, &found) == 0 && S_ISREG(found.st_mode) && found.st_size > 0) {
            void* const memory =
                mmap(nullptr, static_cast<std::size_t>(found.st_size), PROT_READ, MAP_PRIVATE, file, 0);
            if (memory != MAP_FAILED)
                text_ = {static_cast<const char*>(memory), static_cast<std::size_t>(found.st_size)};
        }
        close(file);
    }
    ~mapped_file() {
        if (!text_.empty()) munmap(const_cast<char*>(text_.data()), text_.size());
    }
    mapped_file(const mapped_file&) = delete;
    mapped_file& operator=(const mapped_file&) = delete;
    std::string_view text() const { return text_; }

  private:
    std::string_view text_;
};

template <class Part>
std::span<const Part> parts_at(std::string_view text, std::size_t at, std::size_t count) {
    if (at % alignof(Part) != 0 || at > text.size() || (text.size() - at) / sizeof(Part) < count) return {};
    return {reinterpret_cast<const Part*>(text.data() + at), count};
}

std::string_view word_at(std::string_view text, std::size_t at) {
    if (at >= text.size()) return {};
    const std::string_view rest = text.substr(at);
    return rest.substr(0, rest.find('\0'));
}

// A program of this kind of machine; anything else has no headers.
std::span<const ElfW(Phdr)> headers_of(std::string_view text) {
    const auto head = parts_at<ElfW(Ehdr)>(text, 0, 1);
    const auto is_ours = [](const ElfW(Ehdr) & one) {
        constexpr unsigned char bits = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
        return memcmp(one.e_ident, ELFMAG, SELFMAG) == 0 && one.e_ident[EI_CLASS] == bits &&
               one.e_phentsize == sizeof(ElfW(Phdr));
    };
    if (head.empty() || !is_ours(head[0])) return {};
    return parts_at<ElfW(Phdr)>(text, head[0].e_phoff, head[0].e_phnum);
}

// The linker that a program names; empty: none.
std::string_view linker_of(std::string_view text, std::span<const ElfW(Phdr)> headers) {
    const auto found = std::ranges::find(headers, ElfW(Word){PT_INTERP}, &ElfW(Phdr)::p_type);
    return found == headers.end() ? std::string_view() : word_at(text, found->p_offset);
}

std::string linker_of(const std::string& program) {
    const mapped_file file(program);
    return std::string(linker_of(file.text(), headers_of(file.text())));
}

std::string beside_us(const char* name) {
    std::error_code none;
    return std::filesystem::read_symlink("/proc/self/exe", none).replace_filename(name);
}

// A system library that is older than our library needs lets no program start with it. A library that is none
// is named on standard error, and the program runs.
bool loads_here(const std::string& library) {
    int told[2];
    if (pipe2(told, O_CLOEXEC) != 0) return false;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, told[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, told[1], STDERR_FILENO);
    std::string program = beside_us(usual_program);
    std::string variable = "LD_PRELOAD=" + library;
    const std::array<char*, 2> words{program.data(), nullptr};
    const std::array<char*, 2> environment{variable.data(), nullptr};
    pid_t child = 0;
    const bool started =
        posix_spawn(&child, program.c_str(), &actions, nullptr, words.data(), environment.data()) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(told[1]);
    char first = 0;
    const bool is_silent = read(told[0], &first, 1) == 0;
    close(told[0]);
    int status = 0;
    return started && waitpid(child, &status, 0) == child && status == 0 && is_silent;
}

bool needs_one_of(std::string_view text, std::span<const ElfW(Phdr)> headers,
                  std::initializer_list<std::string_view> begins) {
    const auto place = std::ranges::find(headers, ElfW(Word){PT_DYNAMIC}, &ElfW(Phdr)::p_type);
    if (place == headers.end()) return false;
    const auto entries = parts_at<ElfW(Dyn)>(text, place->p_offset, place->p_filesz / sizeof(ElfW(Dyn)));
    const auto words = std::ranges::find(entries, ElfW(Sxword){DT_STRTAB}, &ElfW(Dyn)::d_tag);
    if (words == entries.end()) return false;
    for (const ElfW(Phdr) & part : headers) {
        if (part.p_type != PT_LOAD || words->d_un.d_ptr - part.p_vaddr >= part.p_filesz) continue;
        const std::size_t names = part.p_offset + (words->d_un.d_ptr - part.p_vaddr);
        return std::ranges::any_of(entries, [&](const ElfW(Dyn) & one) {
            const std::string_view name = one.d_tag == DT_NEEDED ? word_at(text, names + one.d_un.d_val) : "";
            return std::ranges::any_of(begins,
                                       [&](std::string_view begin) { return name.starts_with(begin); });
        });
    }
    return false;
}

// What runs a script: the first word behind "#!".
std::string interpreter_of(std::string_view text) {
    std::string_view line = text.substr(2, text.substr(0, 256).find('\n') - 2);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return std::string(line.substr(0, line.find_first_of(" \t")));
}

// What the user says comes behind: of options the last counts.
void put_before(const char* variable, std::string ours, char between) {
    const char* const others = std::getenv(variable);
    if (others != nullptr && *others != '\0') ours += between + std::string(others);
    setenv(variable, ours.c_str(), 1);
}

}  // namespace

std::string why_not_preloaded(const std::string& program) {
    std::string path = program;
    for (int k = 0; k <= most_interpreters; ++k) {
        struct stat found {};
        if (stat(path.c_str(), &found) == 0 && (found.st_mode & (S_ISUID | S_ISGID)) != 0)
            return path + " runs with more rights than its user";
        const mapped_file file(path);
        if (file.text().starts_with("#!")) {
            path = interpreter_of(file.text());
            continue;
        }
        const auto headers = headers_of(file.text());
        if (headers.empty()) return path + " cannot be read, or is no program of this kind of machine";
        const std::string_view linker = linker_of(file.text(), headers);
        if (linker.empty()) return path + " is linked statically";
        const std::string usual = beside_us(usual_program);
        const std::string ours = linker_of(usual);
        if (ours.empty()) return usual + " is missing: without it the system's library is not known";
        if (linker != ours) return path + " uses another system library (" + std::string(linker) + ")";
        if (needs_one_of(file.text(), headers, {"libasan.", "libtsan."}))
            return path + " was built with a sanitizer";
        return "";
    }
    return program + " is a script of a script, too deep";
}

bool needs_library(const std::string& program, std::string_view name) {
    const mapped_file file(program);
    return needs_one_of(file.text(), headers_of(file.text()), {name});
}

preloaded preload_marks(const std::string& program, const cpu_set_t& given) {
    if (std::string reason = why_not_preloaded(program); !reason.empty()) return {nullptr, reason};
    std::string library = beside_us(library_name);
    if (access(library.c_str(), R_OK) != 0) return {nullptr, library + ": " + strerror(errno)};
    if (library.find_first_of(": ") != library.npos)
        return {nullptr, library + " has a space or a colon, at which the system's linker divides names"};
    if (!loads_here(library)) return {nullptr, library + " does not load with this system's library"};
    int descriptor = -1;  // open until we end: processes may start until then
    page* const made = make_page(descriptor);
    if (made == nullptr) return {nullptr, std::string("no shared memory: ") + strerror(errno)};
    made->given = given;
    const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor);
    setenv(page_variable, path.c_str(), 1);
    put_before("LD_PRELOAD", library, ':');
    // A program of its own that the command starts may be built with a sanitizer, which refuses to come
    // second.
    put_before("ASAN_OPTIONS", "verify_asan_link_order=0", ':');
    return {made, ""};
}

}  // namespace tauto::balance
