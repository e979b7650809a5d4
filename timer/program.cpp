#include "timer/program.hpp"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string_view>

namespace tauto::timer {

namespace {

constexpr std::size_t child_stack_bytes = 64 << 10;

// What the child reads, and where it says why it failed. It runs on a stack of its own in the parent's
// memory, while the parent waits.
struct launch {
    const char* file;
    char* const* arguments;
    char* const* environment;
    const char* folder;
    const std::vector<unsigned long>* cpus;
    bool sets_priority;
    int priority;
    streams to;
    pid_t parent;
    started* result;
};

#define TAUTO_NOT_SANITIZED \
    __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

[[noreturn]] TAUTO_NOT_SANITIZED void fail(const launch& to, const char* what) {
    to.result->error = errno;
    to.result->failed = what;
    _exit(127);
}

// System calls only.
TAUTO_NOT_SANITIZED int become_program(void* given) {
    const launch& to = *static_cast<const launch*>(given);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != to.parent) _exit(127);
    dup2(to.to.input, STDIN_FILENO);
    dup2(to.to.output, STDOUT_FILENO);
    dup2(to.to.errors, STDERR_FILENO);
    if (to.folder != nullptr && chdir(to.folder) != 0) fail(to, "folder");
    if (!to.cpus->empty() &&
        syscall(SYS_sched_setaffinity, 0, to.cpus->size() * sizeof(unsigned long), to.cpus->data()) < 0)
        fail(to, "cpus");
    if (to.sets_priority && setpriority(PRIO_PROCESS, 0, to.priority) != 0) fail(to, "nice");
    // The dispositions are the default ones already; see guard.hpp.
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execve(to.file, to.arguments, to.environment);
    fail(to, "command");
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<unsigned long> as_bits(const std::vector<unsigned>& cpus) {
    constexpr std::size_t word_bits = std::numeric_limits<unsigned long>::digits;
    std::vector<unsigned long> bits;
    for (const unsigned cpu : cpus) {
        if (bits.size() <= cpu / word_bits) bits.resize(cpu / word_bits + 1);
        bits[cpu / word_bits] |= 1UL << (cpu % word_bits);
    }
    return bits;
}

const char* value_in(const std::vector<std::string>& environment, std::string_view name) {
    for (const std::string& variable : environment)
        if (variable.size() > name.size() && variable.starts_with(name) && variable[name.size()] == '=')
            return variable.c_str() + name.size() + 1;
    return nullptr;
}

std::string beside(const std::string& folder, const std::string& path) {
    return folder.empty() || path.starts_with('/') ? path : folder + "/" + path;
}

}  // namespace

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::optional<std::string>>>& variables) {
    std::vector<std::string> all;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
        all.emplace_back(*variable);
    for (const auto& [name, value] : variables) {
        const std::string begin = name + "=";
        std::erase_if(all, [&](const std::string& one) { return one.starts_with(begin); });
        if (value) all.push_back(begin + *value);
    }
    return all;
}

std::string found_program(const std::string& word, const char* path, const std::string& folder, int& error) {
    error = ENOENT;
    if (word.empty()) return {};
    if (word.find('/') != word.npos) return word;
    const std::string folders = path != nullptr ? path : "/bin:/usr/bin";
    for (std::size_t begin = 0; begin <= folders.size();) {
        const std::size_t end = std::min(folders.find(':', begin), folders.size());
        const std::string one = folders.substr(begin, end - begin);
        const std::string file = (one.empty() ? "." : one) + "/" + word;
        const std::string there = beside(folder, file);
        struct stat found {};
        if (stat(there.c_str(), &found) == 0) {
            if (S_ISREG(found.st_mode) && access(there.c_str(), X_OK) == 0) return file;
            error = EACCES;
        }
        begin = end + 1;
    }
    return {};
}

program::program(const request& asked)
    : words_(asked.command),
      variables_(environment_with(asked.variables)),
      arguments_(pointers_to(words_)),
      environment_(pointers_to(variables_)),
      cpus_(as_bits(asked.cpus)),
      folder_(asked.folder.value_or("")),
      nice_(asked.nice) {
    file_ = found_program(words_[0], value_in(variables_, "PATH"), folder_, not_found_);
    if (nice_ != 0) priority_ = getpriority(PRIO_PROCESS, 0) + nice_;
}

started program::start(const streams& to) const {
    alignas(std::max_align_t) static std::array<std::byte, child_stack_bytes> stack;
    if (file_.empty()) return {0, not_found_, "command"};
    started result;
    launch how{file_.c_str(),
               arguments_.data(),
               environment_.data(),
               folder_.empty() ? nullptr : folder_.c_str(),
               &cpus_,
               nice_ != 0,
               priority_,
               to,
               getpid(),
               &result};
    const pid_t pid =
        clone(become_program, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, &how);
    if (pid < 0) return {0, errno, "command"};
    if (result.error == 0) return {pid, 0, nullptr};
    waitpid(pid, nullptr, 0);
    return {0, result.error, result.failed};
}

}  // namespace tauto::timer
