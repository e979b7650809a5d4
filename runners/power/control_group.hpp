#pragma once
// Control groups of one process each, with a weight by which the system shares out CPU time.

#include <filesystem>
#include <string>

namespace tauto::runner {

/// The control group of this process under the cpu controller, version 1 or 2, as long as others may be made
/// inside it that share CPU time by weight.
///
/// Version 2 shares out only among groups, never between a group and a process beside it. So there the
/// processes of the group wait in a group inside it, and go back at the end. Where a run was killed before
/// that, the next one takes over the group in which they wait.
class weighable_group {
  public:
    /// `root` stands in for / in tests. Throws input_error that says why not, and what would help; then
    /// everything is as it was.
    explicit weighable_group(const std::filesystem::path& root = "/");
    ~weighable_group();
    weighable_group(const weighable_group&) = delete;
    weighable_group& operator=(const weighable_group&) = delete;

    [[nodiscard]] const std::string& folder() const { return folder_; }

  private:
    void take_over(const std::filesystem::path& waiting, const std::string& maker);
    void make_room();
    void put_back() const;

    std::string folder_;
    std::string waiting_;  // the group in which the processes wait; empty if they need not
    bool handed_on_ = false;
};

/// A control group inside a weighable_group that lasts as long as this.
class control_group {
  public:
    /// `weight` is relative to 100, which every group has at first. Throws input_error if refused.
    control_group(const weighable_group& parent, const std::string& name, int weight);
    ~control_group();
    control_group(const control_group&) = delete;
    control_group& operator=(const control_group&) = delete;

    /// The calling process belongs to it from now on.
    void enter() const;

  private:
    std::string path_;
};

}  // namespace tauto::runner
