#pragma once
// The control groups that this process is in, versions 1 and 2.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machine_files.hpp"

namespace tauto::detail {

// A control group as seen below a mount point.
struct control_group {
    std::string mount;
    std::string group;  // "/" or "/a/b"
    int version = 2;

    // The group's own folder and those of its ancestors, up to the mount point.
    [[nodiscard]] std::vector<std::string> folders() const;
    [[nodiscard]] std::string describe(std::string_view file, const std::string& folder) const;
};

// The groups of this process, as two files tell them: they are read once.
class control_groups {
  public:
    explicit control_groups(const file_tree& files);

    // The group under a controller of version 1; an empty one means version 2. Absent where no such hierarchy
    // is mounted.
    [[nodiscard]] std::optional<control_group> find(std::string_view controller) const;

  private:
    std::optional<std::string> groups_;
    std::optional<std::string> mounts_;
};

}  // namespace tauto::detail
