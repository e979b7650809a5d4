// Control groups with weights, in trees of files that stand in for the system's: what is written where, and
// that everything is put back.

#include <doctest/doctest.h>

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "refusals.hpp"
#include "runners/power/control_group.hpp"
#include "runners/shared/error.hpp"

namespace {

using tauto::runner::control_group;
using tauto::runner::input_error;
using tauto::runner::weighable_group;
using tauto::testing::mentions;
using tauto::testing::message_of;
namespace fs = std::filesystem;
using words = std::vector<std::string>;
using names = std::set<std::string>;

// The folders below the root of the fake system in which rmdir works as among control groups; empty: none.
std::string groups_root;

}  // namespace

// As the kernel removes a group: its files go with it, groups inside it refuse. In place of the C library's,
// which keeps a folder that holds files.
int rmdir(const char* path) noexcept {
    const fs::path folder{path};
    if (groups_root.empty() || !folder.string().starts_with(groups_root)) {
        errno = EPERM;
        return -1;
    }
    for (const auto& one : fs::directory_iterator{folder}) {
        if (!one.is_directory()) continue;
        errno = EBUSY;
        return -1;
    }
    fs::remove_all(folder);
    return 0;
}

namespace {

// A system with one hierarchy. Files collect what is written to them; the kernel's answers are missing.
class fake_system {
  public:
    fake_system(const std::string& mount, const std::string& group)
        : root_{fs::temp_directory_path() / ("tauto_control_group_test_" + std::to_string(getpid()))} {
        fs::remove_all(root_);
        write("proc/self/mountinfo", "22 28 0:21 / /proc rw - proc proc rw\n" + mount);
        write("proc/self/cgroup", group);
        groups_root = root_ / "sys/fs/cgroup";
    }
    ~fake_system() {
        groups_root.clear();
        fs::remove_all(root_);
    }
    fake_system(const fake_system&) = delete;
    fake_system& operator=(const fake_system&) = delete;

    void write(const std::string& path, const std::string& text) const {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream{root_ / path} << text << '\n';
    }
    [[nodiscard]] words read(const std::string& path) const {
        std::ifstream file{root_ / path};
        words found;
        for (std::string one; file >> one;) found.push_back(one);
        return found;
    }
    [[nodiscard]] names groups_in(const std::string& path) const {
        names found;
        for (const auto& one : fs::directory_iterator{root_ / path})
            if (one.is_directory()) found.insert(one.path().filename());
        return found;
    }
    [[nodiscard]] std::string root() const { return root_; }

  private:
    fs::path root_;
};

const std::string scope = "sys/fs/cgroup/user.slice/run-7.scope";
const std::string mine = "tauto-" + std::to_string(getpid()) + "-";

// Version 2, in a group of two processes that is given these controllers.
class version_2 : public fake_system {
  public:
    explicit version_2(const std::string& controllers)
        : fake_system{"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate",
                      "0::/user.slice/run-7.scope"} {
        write(scope + "/cgroup.type", "domain");
        write(scope + "/cgroup.controllers", controllers);
        write(scope + "/cgroup.subtree_control", "");
        write(scope + "/cgroup.procs", "11\n12");
    }
    [[nodiscard]] std::string refusal() const {
        return message_of<input_error>([this] { const weighable_group parent{root()}; });
    }
};

names distinct(const words& all) {
    return {all.begin(), all.end()};
}

// Root may write everywhere; who is not root stays who it is.
class as_nobody {
  public:
    as_nobody() {
        if (geteuid() == 0) REQUIRE(seteuid(65534) == 0);
    }
    ~as_nobody() {
        if (getuid() == 0) CHECK(seteuid(0) == 0);
    }
    as_nobody(const as_nobody&) = delete;
    as_nobody& operator=(const as_nobody&) = delete;
};

TEST_CASE("a_delegated_group_shares_out_by_weight_and_is_left_as_it_was") {
    const version_2 system{"cpu memory pids"};
    {
        const weighable_group parent{system.root()};
        CHECK(parent.folder() == system.root() + "/" + scope);
        CHECK(distinct(system.read(scope + "/" + mine + "waiting/cgroup.procs")) == names{"11", "12"});
        CHECK(system.read(scope + "/cgroup.subtree_control") == words{"+cpu"});
        const control_group first{parent, "first", 100};
        const control_group second{parent, "second", 10};
        CHECK(system.read(scope + "/" + mine + "first/cpu.weight") == words{"100"});
        CHECK(system.read(scope + "/" + mine + "second/cpu.weight") == words{"10"});
        second.enter();
        CHECK(system.read(scope + "/" + mine + "second/cgroup.procs") == words{std::to_string(getpid())});
        CHECK(system.groups_in(scope) == names{mine + "waiting", mine + "first", mine + "second"});
        system.write(scope + "/cgroup.procs", "");  // as the kernel shows it now
    }
    CHECK(system.groups_in(scope).empty());
    CHECK(system.read(scope + "/cgroup.subtree_control") == words{"+cpu", "-cpu"});
    CHECK(distinct(system.read(scope + "/cgroup.procs")) == names{"11", "12"});
}

// As a run leaves it that was killed: all processes wait in a group of this process's.
void leave_waiting(const version_2& system, const std::string& process) {
    const std::string waiting = scope + "/tauto-" + process + "-waiting";
    system.write("proc/self/cgroup", "0::/user.slice/run-7.scope/tauto-" + process + "-waiting");
    system.write(waiting + "/cgroup.type", "domain");
    system.write(waiting + "/cgroup.controllers", "cpu");
    system.write(waiting + "/cgroup.procs", "11\n12");
    system.write(scope + "/tauto-" + process + "-first/cgroup.procs", "");
    system.write(scope + "/cgroup.procs", "");
    system.write(scope + "/cgroup.subtree_control", "cpu");
}

TEST_CASE("what_a_killed_run_left_is_taken_over_and_put_back") {
    const version_2 system{"cpu memory pids"};
    const std::string nobody = "4194305";  // above what Linux gives to any process
    leave_waiting(system, nobody);
    {
        const weighable_group parent{system.root()};
        CHECK(parent.folder() == system.root() + "/" + scope);
        CHECK(system.groups_in(scope) == names{"tauto-" + nobody + "-waiting"});
    }
    CHECK(system.groups_in(scope).empty());
    CHECK(system.read(scope + "/cgroup.subtree_control") == words{"cpu", "-cpu"});
    CHECK(distinct(system.read(scope + "/cgroup.procs")) == names{"11", "12"});
}

TEST_CASE("what_a_living_run_has_made_stays_its_own") {
    const version_2 system{"cpu memory pids"};
    const std::string parent_process = std::to_string(getppid());
    leave_waiting(system, parent_process);
    const std::string waiting = scope + "/tauto-" + parent_process + "-waiting";
    { const weighable_group parent{system.root()}; }
    CHECK(system.groups_in(scope) ==
          names{"tauto-" + parent_process + "-waiting", "tauto-" + parent_process + "-first"});
    CHECK(system.groups_in(waiting).empty());
    CHECK(distinct(system.read(waiting + "/cgroup.procs")) == names{"11", "12"});
}

TEST_CASE("a_group_that_shares_out_already_goes_on_doing_so") {
    const version_2 system{"cpu memory pids"};
    system.write(scope + "/cgroup.subtree_control", "cpu");
    { const weighable_group parent{system.root()}; }
    CHECK(system.read(scope + "/cgroup.subtree_control") == words{"cpu"});
    CHECK(system.groups_in(scope).empty());
}

TEST_CASE("the_first_group_of_all_keeps_its_processes") {
    const version_2 system{"cpu"};
    fs::remove(system.root() + "/" + scope + "/cgroup.type");
    const weighable_group parent{system.root()};
    CHECK(system.groups_in(scope).empty());
    CHECK(system.read(scope + "/cgroup.subtree_control") == words{"+cpu"});
}

TEST_CASE("a_group_that_is_given_no_cpu_time_is_refused_untouched") {
    const version_2 system{"memory pids"};
    const std::string said = system.refusal();
    CHECK(mentions(said, scope + " is given no CPU time to share out; start it under sudo systemd-run"));
    CHECK(system.groups_in(scope).empty());
    CHECK(system.read(scope + "/cgroup.procs") == words{"11", "12"});
}

TEST_CASE("a_group_that_keeps_a_process_is_refused_and_gets_the_others_back") {
    const version_2 system{"cpu memory pids"};
    // The kernel says EBUSY; a folder refuses to be written as well.
    fs::remove(system.root() + "/" + scope + "/cgroup.subtree_control");
    fs::create_directory(system.root() + "/" + scope + "/cgroup.subtree_control");
    CHECK(mentions(system.refusal(), "may not share out CPU time; start it under sudo systemd-run"));
    CHECK(system.groups_in(scope) == names{"cgroup.subtree_control"});
    const words back = system.read(scope + "/cgroup.procs");
    CHECK(back.size() > 2);
    CHECK(distinct(back) == names{"11", "12"});
}

TEST_CASE("a_group_of_somebody_else_is_refused_untouched") {
    const version_2 system{"cpu memory pids"};
    const fs::path folder = system.root() + "/" + scope;
    fs::permissions(folder, fs::perms::owner_write, fs::perm_options::remove);
    {
        const as_nobody weak;
        CHECK(mentions(system.refusal(), "no control group may be made in " + folder.string()));
    }
    fs::permissions(folder, fs::perms::owner_write, fs::perm_options::add);
    CHECK(system.groups_in(scope).empty());
    CHECK(system.read(scope + "/cgroup.procs") == words{"11", "12"});
    CHECK(system.read(scope + "/cgroup.subtree_control").empty());
}

TEST_CASE("version_1_weighs_beside_processes") {
    const fake_system system{"33 30 0:29 / /sys/fs/cgroup/cpu rw,nosuid - cgroup cgroup rw,cpu,cpuacct",
                             "4:cpu,cpuacct:/batch\n0::/batch"};
    const std::string batch = "sys/fs/cgroup/cpu/batch";
    system.write(batch + "/cpu.shares", "1024");
    system.write(batch + "/cgroup.procs", "11");
    {
        const weighable_group parent{system.root()};
        const control_group second{parent, "second", 10};
        CHECK(system.read(batch + "/" + mine + "second/cpu.shares") == words{"102"});
        CHECK(system.groups_in(batch) == names{mine + "second"});
    }
    CHECK(system.groups_in(batch).empty());
    CHECK(system.read(batch + "/cgroup.procs") == words{"11"});
}

TEST_CASE("in_a_container_the_group_is_named_from_the_mount_on") {
    // /proc/self/cgroup names the group from the host's root, where the mount begins at the container's own.
    const fake_system system{"33 30 0:29 /docker/1 /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu",
                             "4:cpu:/docker/1/batch"};
    system.write("sys/fs/cgroup/cpu/batch/cpu.shares", "1024");
    const weighable_group parent{system.root()};
    CHECK(parent.folder() == system.root() + "/sys/fs/cgroup/cpu/batch");
}

TEST_CASE("a_system_without_control_groups_says_so") {
    const fake_system system{"40 28 0:35 / /tmp rw - tmpfs tmpfs rw", ""};
    CHECK(mentions(message_of<input_error>([&] { const weighable_group parent{system.root()}; }),
                   "no control groups are mounted here"));
}

}  // namespace
