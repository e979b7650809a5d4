#include "runners/control_group.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "runners/common/error.hpp"

namespace tauto::runner {

namespace {

constexpr const char* remedy =
    "; start it under sudo systemd-run --scope -p Delegate=yes, or under systemd-run --user --scope -p "
    "Delegate=yes where the user's manager may share out CPU time";
constexpr int most_looks = 10;  // at a group whose processes start others while they are moved

// The path of this process in the hierarchy whose line in /proc/self/cgroup names `controller`; "" is version
// 2's line. Empty if there is none.
std::string own_path(const std::string& root, const std::string& controller) {
    std::ifstream lines{root + "/proc/self/cgroup"};
    for (std::string line; std::getline(lines, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        std::stringstream names{line.substr(first + 1, second - first - 1)};
        std::string name;
        if (controller.empty() && second == first + 1) return line.substr(second + 1);
        while (std::getline(names, name, ','))
            if (!controller.empty() && name == controller) return line.substr(second + 1);
    }
    return "";
}

// Where a hierarchy of this type is mounted whose options name `controller`; with "" any.
std::string mount_of(const std::string& root, const std::string& type, const std::string& controller) {
    std::ifstream lines{root + "/proc/self/mounts"};
    for (std::string line; std::getline(lines, line);) {
        std::stringstream words{line};
        std::string device;
        std::string folder;
        std::string seen;
        std::string settings;
        words >> device >> folder >> seen >> settings;
        if (seen == type &&
            (controller.empty() || ("," + settings + ",").find("," + controller + ",") != std::string::npos))
            return root + folder;
    }
    return "";
}

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

void remove_group(const std::string& path) {
    // The kernel refuses to remove a group's files and takes them with its folder; a test's tree has real
    // ones.
    std::error_code refused;
    std::filesystem::remove_all(path, refused);
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

std::string own_name(const std::string& folder, const std::string& name) {
    return folder + "/tauto-" + std::to_string(getpid()) + "-" + name;
}

}  // namespace

weighable_group::weighable_group(const std::string& root) : folder_{mount_of(root, "cgroup", "cpu")} {
    if (!folder_.empty()) {
        folder_ += own_path(root, "cpu");
        return;
    }
    folder_ = mount_of(root, "cgroup2", "");
    if (folder_.empty()) throw input_error("no control groups are mounted here" + std::string{remedy});
    folder_ += own_path(root, "");
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
