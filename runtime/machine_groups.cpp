#include "machine_groups.hpp"

#include <algorithm>

namespace tauto::detail {
namespace {

bool lists(std::string_view comma_joined, std::string_view word) {
    const auto words = split(comma_joined, ',');
    return std::find(words.begin(), words.end(), word) != words.end();
}

// The group's path in /proc/self/cgroup; an empty controller means version 2.
std::optional<std::string> group_of(std::string_view cgroups, std::string_view controller) {
    for (const std::string_view line : split(cgroups, '\n')) {
        const auto fields = split(line, ':');
        if (fields.size() < 3) continue;
        const bool match =
            controller.empty() ? fields[0] == "0" && fields[1].empty() : lists(fields[1], controller);
        // A path may contain colons itself.
        if (match) return std::string(line.substr(fields[0].size() + fields[1].size() + 2));
    }
    return std::nullopt;
}

struct mount_point {
    std::string root;
    std::string folder;
};

std::optional<mount_point> mount_of(std::string_view mounts, std::string_view controller) {
    for (const std::string_view line : split(mounts, '\n')) {
        const std::size_t dash = line.find(" - ");
        if (dash == std::string_view::npos) continue;
        const auto before = split(line.substr(0, dash), ' ');
        const auto after = split(line.substr(dash + 3), ' ');
        if (before.size() < 5 || after.size() < 3) continue;
        const bool match =
            controller.empty() ? after[0] == "cgroup2" : after[0] == "cgroup" && lists(after[2], controller);
        if (match) return mount_point{std::string(before[3]), std::string(before[4])};
    }
    return std::nullopt;
}

std::string below_mount(const std::string& group, const std::string& mount_root) {
    // In a cgroup namespace, groups outside of it read "/../…": all that is visible is the mount itself.
    if (group.find("/..") != std::string::npos) return "/";
    if (mount_root == "/") return group;
    if (group == mount_root) return "/";
    // A container's mount starts at its own group, which /proc/self/cgroup names from the host's root.
    if (group.compare(0, mount_root.size() + 1, mount_root + "/") == 0)
        return group.substr(mount_root.size());
    return "/";
}

}  // namespace

std::vector<std::string> control_group::folders() const {
    std::vector<std::string> found;
    std::string at = group == "/" ? "" : group;
    for (;;) {
        found.push_back(mount + at);
        if (at.empty()) return found;
        at.resize(at.rfind('/'));
    }
}

std::string control_group::describe(std::string_view file, const std::string& folder) const {
    const std::string where = folder == mount ? "/" : folder.substr(mount.size());
    return "cgroup v" + std::to_string(version) + ", " + std::string(file) + " of " + where;
}

control_groups::control_groups(const file_tree& files)
    : groups_(files.text("/proc/self/cgroup")), mounts_(files.text("/proc/self/mountinfo")) {}

std::optional<control_group> control_groups::find(std::string_view controller) const {
    if (!groups_ || !mounts_) return std::nullopt;
    const auto group = group_of(*groups_, controller);
    const auto mount = mount_of(*mounts_, controller);
    if (!group || !mount) return std::nullopt;
    return control_group{mount->folder, below_mount(*group, mount->root), controller.empty() ? 2 : 1};
}

}  // namespace tauto::detail
