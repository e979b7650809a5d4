#include "runners/control_group.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "runners/common/error.hpp"

namespace tauto::runner {

namespace {

constexpr const char* remedy = "; start it as root, or under systemd-run --user --scope -p Delegate=yes";

// The path of this process in the hierarchy whose line in /proc/self/cgroup names `controller`; "" is version
// 2's line. Empty if there is none.
std::string own_path(const std::string& controller) {
    std::ifstream lines{"/proc/self/cgroup"};
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
std::string mount_of(const std::string& type, const std::string& controller) {
    std::ifstream lines{"/proc/self/mounts"};
    for (std::string line; std::getline(lines, line);) {
        std::stringstream words{line};
        std::string device;
        std::string folder;
        std::string seen;
        std::string settings;
        words >> device >> folder >> seen >> settings;
        if (seen == type &&
            (controller.empty() || ("," + settings + ",").find("," + controller + ",") != std::string::npos))
            return folder;
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
    std::ofstream stream{file};
    stream << text << std::flush;
    return stream.good();
}

}  // namespace

std::string weighable_folder() {
    std::string folder = mount_of("cgroup", "cpu");
    if (!folder.empty()) {
        folder += own_path("cpu");
    } else {
        folder = mount_of("cgroup2", "");
        if (folder.empty()) throw input_error("no control groups are mounted here" + std::string{remedy});
        folder += own_path("");
        if (!has_word(folder + "/cgroup.subtree_control", "cpu"))
            throw input_error("the control group " + folder + " hands on no CPU time" + remedy);
    }
    if (access(folder.c_str(), W_OK) != 0)
        throw input_error("no control group may be made in " + folder + remedy);
    return folder;
}

control_group::control_group(const std::string& folder, const std::string& name, int weight)
    : path_{folder + "/tauto-" + std::to_string(getpid()) + "-" + name} {
    std::error_code failed;
    std::filesystem::create_directory(path_, failed);
    if (failed) throw input_error("the control group " + path_ + " cannot be made" + remedy);
    // Version 1 counts 1024 where version 2 counts 100.
    const bool is_first = std::filesystem::exists(path_ + "/cpu.shares");
    const bool done = is_first ? write(path_ + "/cpu.shares", std::to_string(weight * 1024 / 100))
                               : write(path_ + "/cpu.weight", std::to_string(weight));
    if (done) return;
    std::filesystem::remove(path_, failed);
    throw input_error("the control group " + path_ + " takes no weight" + remedy);
}

control_group::~control_group() {
    // A folder here holds files that only the kernel removes: rmdir, not remove_all.
    rmdir(path_.c_str());
}

void control_group::enter() const {
    if (!write(path_ + "/cgroup.procs", std::to_string(getpid())))
        throw input_error("a process cannot join the control group " + path_ + remedy);
}

}  // namespace tauto::runner
