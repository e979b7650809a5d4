#include "runners/power/control_group.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

#include "runners/shared/error.hpp"
#include "runtime/machine_groups.hpp"

namespace tauto::runner {

namespace {

constexpr const char* remedy =
    "; start it under sudo systemd-run --scope -p Delegate=yes, or under systemd-run --user --scope -p "
    "Delegate=yes where the user's manager may share out CPU time";
constexpr int most_looks = 10;  // at a group whose processes start others while they are moved

bool has_word(const std::string& file, const std::string& word) {
    std::ifstream words{file};
    for (std::string one; words >> one;)
        if (one == word) return true;
    return false;
}

bool write(const std::string& file, const std::string& text) {
    std::ofstream stream{file, std::ios::app};
    stream << text << std::endl;
    return stream.good();
}

bool make_group(const std::string& path) {
    std::error_code failed;
    std::filesystem::create_directory(path, failed);
    return !failed;
}

// A group has only files of the kernel's own, which go with its folder. What still holds a process stays.
void remove_group(const std::string& path) {
    rmdir(path.c_str());
}

// Kernel threads and what has ended meanwhile stay where they are.
void move_processes(const std::string& from, const std::string& to) {
    for (int look = 0; look < most_looks; ++look) {
        std::vector<std::string> processes;
        std::ifstream lines{from + "/cgroup.procs"};
        for (std::string one; lines >> one;) processes.push_back(one);
        bool moved = false;
        for (const std::string& one : processes) moved = write(to + "/cgroup.procs", one) || moved;
        if (!moved) return;
    }
}

// The groups of one process all begin so.
std::string prefix_of(const std::string& process) {
    return "tauto-" + process + "-";
}

std::string own_name(const std::string& folder, const std::string& name) {
    return folder + "/" + prefix_of(std::to_string(getpid())) + name;
}

// The process that made this group for others to wait in, if it has been killed meanwhile; else empty.
std::string killed_maker_of(const std::string& group) {
    const std::string begin = "tauto-";
    const std::string end = "-waiting";
    if (!group.starts_with(begin) || !group.ends_with(end) || group.size() <= begin.size() + end.size())
        return "";
    const std::string process = group.substr(begin.size(), group.size() - begin.size() - end.size());
    const auto number = detail::to_integer(process);
    if (!number || *number <= 0) return "";
    const bool is_gone = kill(static_cast<pid_t>(*number), 0) != 0 && errno == ESRCH;
    return is_gone ? process : "";
}

}  // namespace

weighable_group::weighable_group(const std::filesystem::path& root) {
    const detail::file_tree files{root};
    const detail::control_groups groups(files);
    const auto first = groups.find("cpu");
    const auto group = first ? first : groups.find("");
    if (!group) throw input_error("no control groups are mounted here" + std::string{remedy});
    folder_ = files.locate(group->folders().front());
    if (first) return;
    const std::filesystem::path own{folder_};
    if (const std::string maker = killed_maker_of(own.filename()); !maker.empty()) {
        take_over(own, maker);
        return;
    }
    if (!has_word(folder_ + "/cgroup.controllers", "cpu"))
        throw input_error("the control group " + folder_ + " is given no CPU time to share out" + remedy);
    try {
        make_room();
    } catch (const input_error&) {
        put_back();
        throw;
    }
}

weighable_group::~weighable_group() {
    put_back();
}

void weighable_group::take_over(const std::filesystem::path& waiting, const std::string& maker) {
    folder_ = waiting.parent_path();
    waiting_ = waiting;
    handed_on_ = true;
    std::error_code unreadable;
    for (const auto& one : std::filesystem::directory_iterator{folder_, unreadable})
        if (one.path() != waiting && one.path().filename().string().starts_with(prefix_of(maker)))
            remove_group(one.path());
}

void weighable_group::make_room() {
    // Only the first group of all, which has no type, shares out among groups while it holds processes.
    if (std::filesystem::exists(folder_ + "/cgroup.type")) {
        const std::string waiting = own_name(folder_, "waiting");
        if (!make_group(waiting)) throw input_error("no control group may be made in " + folder_ + remedy);
        waiting_ = waiting;
        move_processes(folder_, waiting_);
    }
    if (has_word(folder_ + "/cgroup.subtree_control", "cpu")) return;
    if (!write(folder_ + "/cgroup.subtree_control", "+cpu"))
        throw input_error("the control group " + folder_ + " may not share out CPU time" + remedy);
    handed_on_ = true;
}

void weighable_group::put_back() const {
    if (handed_on_) write(folder_ + "/cgroup.subtree_control", "-cpu");
    if (waiting_.empty()) return;
    move_processes(waiting_, folder_);
    remove_group(waiting_);
}

control_group::control_group(const weighable_group& parent, const std::string& name, int weight)
    : path_{own_name(parent.folder(), name)} {
    if (!make_group(path_)) throw input_error("the control group " + path_ + " cannot be made" + remedy);
    // Version 1 counts 1024 where version 2 counts 100.
    const bool is_first = std::filesystem::exists(parent.folder() + "/cpu.shares");
    const bool done = is_first ? write(path_ + "/cpu.shares", std::to_string(weight * 1024 / 100))
                               : write(path_ + "/cpu.weight", std::to_string(weight));
    if (done) return;
    remove_group(path_);
    throw input_error("the control group " + path_ + " takes no weight" + remedy);
}

control_group::~control_group() {
    remove_group(path_);
}

void control_group::enter() const {
    if (!write(path_ + "/cgroup.procs", std::to_string(getpid())))
        throw input_error("a process cannot join the control group " + path_ + remedy);
}

}  // namespace tauto::runner
