#include "timer/offspring.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <system_error>

namespace tauto::timer {

namespace {

constexpr const char* shared_memory = "/dev/shm";
constexpr std::string_view of_libomp =
    "__KMP_REGISTERED_LIB_";  // and the number of the process; it is not mapped
constexpr std::array<std::string_view, 4> mapped{"vader_segment.", "sm_segment.", "mpich_shar_tmp",
                                                 "mpich_shm"};

std::string text_of_file(const std::string& path) {
    std::string text;
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return text;
    std::array<char, 4096> bytes;
    for (ssize_t got = 0; (got = read(file, bytes.data(), bytes.size())) > 0;)
        text.append(bytes.data(), static_cast<std::size_t>(got));
    close(file);
    return text;
}

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    DIR* const open = opendir(folder.c_str());
    if (open == nullptr) return names;
    while (const dirent* const entry = readdir(open)) names.emplace_back(entry->d_name);
    closedir(open);
    return names;
}

std::vector<pid_t> numbers_in(std::string_view text) {
    std::vector<pid_t> numbers;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        pid_t number = 0;
        if (std::from_chars(word.data(), word.data() + word.size(), number).ec == std::errc{})
            numbers.push_back(number);
        text.remove_prefix(std::min(text.size(), word.size() + 1));
    }
    return numbers;
}

std::string folder_of(pid_t pid) {
    return "/proc/" + std::to_string(pid);
}

struct state_and_parent {
    char state = 'X';
    pid_t parent = 0;
};

state_and_parent state_of(pid_t pid) {
    const std::string text = text_of_file(folder_of(pid) + "/stat");
    const std::size_t name_end = text.rfind(") ");  // the name may itself have brackets
    if (name_end == text.npos || text.size() < name_end + 5) return {};
    const std::vector<pid_t> numbers = numbers_in(std::string_view(text).substr(name_end + 4));
    return {text[name_end + 2], numbers.empty() ? 0 : numbers[0]};
}

std::vector<pid_t> children_by_parent(pid_t parent) {
    std::vector<pid_t> found;
    for (const std::string& name : names_in("/proc")) {
        const std::vector<pid_t> pid = numbers_in(name);
        if (!pid.empty() && state_of(pid[0]).parent == parent) found.push_back(pid[0]);
    }
    return found;
}

std::vector<pid_t> children_of(pid_t pid) {
    const std::string tasks = folder_of(pid) + "/task";
    // A kernel without such lists.
    if (access((folder_of(getpid()) + "/task/" + std::to_string(getpid()) + "/children").c_str(), F_OK) != 0)
        return children_by_parent(pid);
    std::vector<pid_t> found;
    for (const std::string& task : names_in(tasks)) {
        const std::vector<pid_t> more = numbers_in(text_of_file(tasks + "/" + task + "/children"));
        found.insert(found.end(), more.begin(), more.end());
    }
    return found;
}

}  // namespace

std::vector<pid_t> offspring() {
    return children_of(getpid());
}

std::vector<pid_t> family_of(pid_t process) {
    std::vector<pid_t> all{process};
    for (std::size_t place = 0; place < all.size(); ++place) {
        const std::vector<pid_t> more = children_of(all[place]);
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

std::vector<pid_t> whole_offspring() {
    std::vector<pid_t> all = family_of(getpid());
    all.erase(all.begin());
    return all;
}

std::vector<pid_t> threads_of(pid_t process) {
    std::vector<pid_t> found;
    for (const std::string& name : names_in(folder_of(process) + "/task")) {
        const std::vector<pid_t> thread = numbers_in(name);
        found.insert(found.end(), thread.begin(), thread.end());
    }
    return found;
}

pid_t process_of(pid_t thread) {
    constexpr std::string_view label = "\nTgid:\t";
    const std::string text = text_of_file(folder_of(thread) + "/status");
    const std::size_t at = text.find(label);
    const std::vector<pid_t> found = at == text.npos
                                         ? std::vector<pid_t>{}
                                         : numbers_in(std::string_view(text).substr(at + label.size(), 20));
    return found.empty() ? 0 : found[0];
}

pid_t last_born() {
    std::string text = text_of_file("/proc/loadavg");
    if (!text.empty() && text.back() == '\n') text.pop_back();
    const std::vector<pid_t> found = numbers_in(std::string_view(text).substr(text.rfind(' ') + 1));
    return found.empty() ? 0 : found[0];
}

std::string name_of(pid_t thread) {
    std::string name = text_of_file(folder_of(thread) + "/comm");
    if (!name.empty()) name.pop_back();
    return name;
}

std::set<std::string> names_at_work() {
    std::set<std::string> names;
    for (const pid_t pid : offspring()) {
        const char state = state_of(pid).state;
        const std::string name = name_of(pid);
        if (state == 'Z' || state == 'X' || name.empty()) continue;
        names.insert(name);
    }
    return names;
}

bool kill_offspring(pid_t group) {
    bool reached = false;
    for (const pid_t pid : offspring()) {
        // A child that was not waited for keeps its group's number from being another's.
        if (group > 0 && getpgid(pid) == group) kill(-group, SIGKILL);
        reached = kill(pid, SIGKILL) == 0 || reached;
    }
    return reached;
}

std::set<std::string> shared_memory_of(const std::vector<pid_t>& pids) {
    std::set<std::string> paths;
    const std::string folder = std::string(shared_memory) + "/";
    const std::vector<std::string> names = names_in(shared_memory);
    for (const pid_t pid : pids) {
        const std::string registered = std::string(of_libomp) + std::to_string(pid) + "_";
        for (const std::string& name : names)
            if (name.starts_with(registered)) paths.insert(folder + name);
        const std::string maps = text_of_file(folder_of(pid) + "/maps");
        for (std::size_t begin = 0; (begin = maps.find(folder, begin)) != maps.npos;) {
            const std::string path = maps.substr(begin, maps.find('\n', begin) - begin);
            begin += path.size();
            if (std::ranges::any_of(mapped, [&](std::string_view start) {
                    return std::string_view(path).substr(folder.size()).starts_with(start);
                }))
                paths.insert(path);
        }
    }
    return paths;
}

void remove_all(const std::set<std::string>& paths) {
    constexpr int open_folders = 16;
    const auto remove_one = [](const char* path, const struct stat*, int, FTW*) {
        remove(path);
        return 0;
    };
    // What is in a folder comes before it, and links are not followed.
    for (const std::string& path : paths) nftw(path.c_str(), remove_one, open_folders, FTW_DEPTH | FTW_PHYS);
}

}  // namespace tauto::timer
