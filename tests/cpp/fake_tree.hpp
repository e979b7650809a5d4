#pragma once
// The trees of files that describe machines (tests/fake_trees), and copies of them that a test may change.

#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <tauto/machine.hpp>

namespace tauto::test {

inline std::filesystem::path fake_root(const std::string& name) {
    return std::filesystem::path(TAUTO_FAKE_TREES) / name;
}

inline machine_record fake(const std::string& name) {
    return read_machine({.root = fake_root(name)});
}

inline bool says(const std::string& message, const std::string& part) {
    INFO("message: " << message);
    const bool found = message.find(part) != std::string::npos;
    CHECK_MESSAGE(found, "it should say: " << part);
    return found;
}

// A copy of a fake tree that a test may change.
class changed_tree {
  public:
    explicit changed_tree(const std::string& name)
        : root_(std::filesystem::temp_directory_path() / ("tauto_fake_tree_" + std::to_string(getpid()))) {
        std::filesystem::remove_all(root_);
        std::filesystem::copy(fake_root(name), root_, std::filesystem::copy_options::recursive);
    }
    ~changed_tree() { std::filesystem::remove_all(root_); }
    changed_tree(const changed_tree&) = delete;
    changed_tree& operator=(const changed_tree&) = delete;

    void write(const std::string& path, const std::string& text) const {
        std::filesystem::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text << '\n';
    }
    void remove(const std::string& path) const { std::filesystem::remove_all(root_ / path); }
    [[nodiscard]] const std::filesystem::path& root() const { return root_; }
    [[nodiscard]] machine_record read() const { return read_machine({.root = root_}); }

  private:
    std::filesystem::path root_;
};

}  // namespace tauto::test
