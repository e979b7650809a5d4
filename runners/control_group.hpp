#pragma once
// Control groups of one process each, with a weight by which the system shares out CPU time.

#include <string>

namespace tauto::runner {

/// The folder of the control group of this process under the cpu controller, version 1 or 2, where this
/// process may make others inside it. Throws input_error that says why not, and what would help.
std::string weighable_folder();

/// A control group inside weighable_folder() that lasts as long as this.
class control_group {
  public:
    /// `weight` is relative to 100, which every group has at first. Throws input_error if refused.
    control_group(const std::string& folder, const std::string& name, int weight);
    ~control_group();
    control_group(const control_group&) = delete;
    control_group& operator=(const control_group&) = delete;

    /// The calling process belongs to it from now on.
    void enter() const;

  private:
    std::string path_;
};

}  // namespace tauto::runner
