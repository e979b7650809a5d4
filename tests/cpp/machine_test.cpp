#include <doctest/doctest.h>

#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <tauto/caches.hpp>
#include <tauto/machine.hpp>

#include "fake_tree.hpp"
#include "refusals.hpp"
#include "runtime/machine_files.hpp"

namespace {

using tauto::test::changed_tree;
using tauto::test::fake;
using tauto::test::says;
using cpus = std::vector<int>;

cpus numbers(int first, int last, int step = 1) {
    cpus list;
    for (int cpu = first; cpu <= last; cpu += step) list.push_back(cpu);
    return list;
}

const tauto::cpu_record& cpu_of(const tauto::machine_record& machine, int cpu) {
    const tauto::cpu_record* const found = machine.find_cpu(cpu);
    REQUIRE(found != nullptr);
    return *found;
}

std::string refusal(const tauto::machine_record& machine, const std::string& selection) {
    return tauto::testing::message_of<tauto::error>([&] { tauto::select_cpus(machine, selection); });
}

}  // namespace

TEST_SUITE("hybrid with SMT on the fast cores") {
    TEST_CASE("kinds come from the units of the kinds and P comes first") {
        const auto machine = fake("i9_14900k");
        REQUIRE(machine.kinds.size() == 2);
        CHECK(machine.kinds[0].kind == "P");
        CHECK(machine.kinds[0].cpus == numbers(0, 15));
        CHECK(machine.kinds[0].hardware_threads_per_core == 2);
        CHECK(machine.kinds[1].kind == "E");
        CHECK(machine.kinds[1].cpus == numbers(16, 31));
        CHECK(machine.kinds[1].hardware_threads_per_core == 1);
        CHECK(machine.kind_source == "/sys/devices/cpu_core/cpus, /sys/devices/cpu_atom/cpus");
    }

    TEST_CASE("siblings, caches and clocks are those of each kind") {
        const auto machine = fake("i9_14900k");
        CHECK(cpu_of(machine, 4).smt_siblings == cpus{5});
        CHECK(cpu_of(machine, 5).smt_siblings == cpus{4});
        CHECK(cpu_of(machine, 4).core == cpu_of(machine, 5).core);
        CHECK(cpu_of(machine, 4).core != cpu_of(machine, 6).core);
        CHECK(cpu_of(machine, 16).smt_siblings.empty());
        CHECK(cpu_of(machine, 0).l1d_bytes == 48 * 1024);
        CHECK(cpu_of(machine, 16).l1d_bytes == 32 * 1024);
        CHECK(cpu_of(machine, 0).l2_bytes == 2 << 20);
        CHECK(cpu_of(machine, 16).l2_bytes == 4 << 20);
        CHECK(cpu_of(machine, 31).l3_bytes == 36 << 20);
        CHECK(cpu_of(machine, 8).max_hertz == 6.0e9);
        CHECK(cpu_of(machine, 16).max_hertz == 4.4e9);
        CHECK_FALSE(cpu_of(machine, 0).capacity.has_value());
    }

    TEST_CASE("four slow cores share one second-level cache") {
        const auto machine = fake("i9_14900k");
        std::vector<cpus> shared_by_slow;
        for (const auto& cache : machine.caches) {
            if (cache.level == 2 && cache.cpus.front() >= 16) shared_by_slow.push_back(cache.cpus);
        }
        CHECK(shared_by_slow ==
              std::vector<cpus>{numbers(16, 19), numbers(20, 23), numbers(24, 27), numbers(28, 31)});
    }

    TEST_CASE("a core of each kind is used before second hardware threads") {
        const auto machine = fake("i9_14900k");
        cpus expected = numbers(0, 14, 2);
        for (const int cpu : numbers(16, 31)) expected.push_back(cpu);
        CHECK(tauto::select_cpus(machine, "cores") == expected);
        for (const int cpu : numbers(1, 15, 2)) expected.push_back(cpu);
        CHECK(tauto::select_cpus(machine, "all") == expected);
    }

    TEST_CASE("selections by kind, by number, and joined") {
        const auto machine = fake("i9_14900k");
        CHECK(tauto::select_cpus(machine, "P:4") == cpus{0, 2, 4, 6});
        CHECK(tauto::select_cpus(machine, "P:9") == cpus{0, 2, 4, 6, 8, 10, 12, 14, 1});
        CHECK(tauto::select_cpus(machine, "E") == numbers(16, 31));
        CHECK(tauto::select_cpus(machine, "E:2,P:2") == cpus{0, 2, 16, 17});
        CHECK(tauto::select_cpus(machine, "16,0-3,16") == cpus{0, 2, 16, 1, 3});
        CHECK(tauto::select_cpus(machine, " P:1 , 17 ") == cpus{0, 17});
        CHECK(tauto::select_cpus(machine, "3") == cpus{3});
        CHECK(tauto::select_cpus(machine, "3,2") == cpus{2, 3});
    }

    TEST_CASE("a selection that cannot be had says what there is" *
              doctest::description("runtime.md, promise 14")) {
        const auto machine = fake("i9_14900k");
        const std::string unknown = refusal(machine, "X");
        says(unknown, "'X' names nothing");
        says(unknown, "all, cores, P, P:N, E, E:N, and CPU numbers from 0-31");
        says(refusal(machine, "LP"), "'LP' names nothing");
        says(refusal(machine, "P:17"), "a number from 1 to 16");
        says(refusal(machine, "P:0"), "a number from 1 to 16");
        says(refusal(machine, "P:"), "a number from 1 to 16");
        says(refusal(machine, "E:two"), "a number from 1 to 16");
        says(refusal(machine, "0-32"), "CPU 32 does not exist; this machine has 0-31");
        says(refusal(machine, "99999999999"), "names nothing");
        says(refusal(machine, "3-1"), "names nothing");
        says(refusal(machine, "-1"), "names nothing");
        says(refusal(machine, ""), "it is empty");
        says(refusal(machine, "0,,1"), "nothing between two commas");
        says(refusal(machine, "0,"), "nothing between two commas");
    }

    TEST_CASE("low-power cores are the ones without the third-level cache") {
        const auto machine = fake("core_ultra");
        REQUIRE(machine.kinds.size() == 3);
        CHECK(machine.kinds[1].cpus == numbers(12, 19));
        CHECK(machine.kinds[2].kind == "LP");
        CHECK(machine.kinds[2].cpus == cpus{20, 21});
        CHECK(tauto::select_cpus(machine, "LP") == cpus{20, 21});
        CHECK_FALSE(cpu_of(machine, 20).l3_bytes.has_value());
    }

    TEST_CASE("a unit of its own names low-power cores as well") {
        const changed_tree tree("core_ultra");
        tree.write("sys/devices/cpu_atom/cpus", "12-19");
        tree.write("sys/devices/cpu_lowpower/cpus", "20-21");
        CHECK(cpu_of(tree.read(), 21).kind == "LP");
    }

    TEST_CASE("favoured cores that clock a little higher are no kind") {
        const changed_tree tree("i9_14900k");
        tree.remove("sys/devices/cpu_core");
        tree.remove("sys/devices/cpu_atom");
        const auto machine = tree.read();
        CHECK(machine.kind_source == "cpufreq/cpuinfo_max_freq");
        REQUIRE(machine.kinds.size() == 2);
        CHECK(machine.kinds[0].cpus == numbers(0, 15));
    }
}

TEST_SUITE("big.LITTLE") {
    TEST_CASE("capacities tell the kinds apart and big cores come first") {
        const auto machine = fake("big_little");
        CHECK(machine.kind_source == "cpu_capacity");
        REQUIRE(machine.kinds.size() == 2);
        CHECK(machine.kinds[0].cpus == numbers(4, 7));
        CHECK(machine.kinds[1].cpus == numbers(0, 3));
        CHECK(machine.kinds[0].hardware_threads_per_core == 1);
        CHECK(cpu_of(machine, 0).capacity == 530);
        CHECK(tauto::select_cpus(machine, "all") == cpus{4, 5, 6, 7, 0, 1, 2, 3});
        CHECK(tauto::select_cpus(machine, "0,7") == cpus{7, 0});
        CHECK(tauto::select_cpus(machine, "E:1,P:1") == cpus{4, 0});
    }

    TEST_CASE("three capacities are three kinds") {
        const changed_tree tree("big_little");
        tree.write("sys/devices/system/cpu/cpu7/cpu_capacity", "1024");
        for (int cpu = 0; cpu < 7; ++cpu)
            tree.write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpu_capacity",
                       cpu < 4 ? "250" : "800");
        const auto machine = tree.read();
        REQUIRE(machine.kinds.size() == 3);
        CHECK(machine.kinds[0].cpus == cpus{7});
        CHECK(machine.kinds[2].cpus == numbers(0, 3));
        CHECK(cpu_of(machine, 4).kind == "E");
    }
}

TEST_SUITE("two sockets") {
    TEST_CASE("cores of one socket stay together") {
        const auto machine = fake("two_sockets");
        REQUIRE(machine.kinds.size() == 1);
        CHECK(machine.kinds[0].kind == "core");
        CHECK(cpu_of(machine, 3).package == 1);
        CHECK(cpu_of(machine, 3).numa == 1);
        CHECK(cpu_of(machine, 2).package == 0);
        cpus expected = numbers(0, 14, 2);
        for (const int cpu : numbers(1, 15, 2)) expected.push_back(cpu);
        CHECK(tauto::select_cpus(machine, "all") == expected);
    }

    TEST_CASE("each socket has its own memory and third-level cache") {
        const auto machine = fake("two_sockets");
        REQUIRE(machine.numa.size() == 2);
        CHECK(machine.numa[1].node == 1);
        CHECK(machine.numa[1].cpus == numbers(1, 15, 2));
        CHECK(machine.numa[1].memory_bytes == std::int64_t{64} << 30);
        CHECK(machine.memory_bytes == std::int64_t{128} << 30);
        const auto last = std::count_if(machine.caches.begin(), machine.caches.end(), [](const auto& cache) {
            return cache.level == 3 && cache.size_bytes == 20 << 20 && cache.cpus.size() == 8;
        });
        CHECK(last == 2);
    }

    TEST_CASE("equal cores have no P and the message says so") {
        says(refusal(fake("two_sockets"), "P:4"), "whose cores are all of one kind");
        says(refusal(fake("two_sockets"), "core"), "names nothing");
    }
}

TEST_SUITE("limits") {
    TEST_CASE("the tightest quota above the process holds, rounded up") {
        const auto machine = fake("container_v2");
        CHECK(machine.quota_cpus == 1.5);
        CHECK(machine.quota_source == "cgroup v2, cpu.max of /app");
        CHECK(machine.usable_members == 2);
        CHECK(machine.allowed_cpus == numbers(0, 3));
        CHECK(machine.cpuset_source == "cgroup v2, cpuset.cpus.effective of /app");
        CHECK(machine.memory_limit_bytes == std::int64_t{2} << 30);
        CHECK(machine.available_memory_bytes == std::int64_t{2} << 30);
    }

    TEST_CASE("version 1 is read below the mount of a container") {
        const auto machine = fake("container_v1");
        CHECK(machine.quota_cpus == 1.5);
        CHECK(machine.quota_source == "cgroup v1, cpu.cfs_quota_us of /");
        CHECK(machine.usable_members == 2);
        CHECK(machine.cpuset == numbers(4, 7));
        CHECK_FALSE(machine.memory_limit_bytes.has_value());
    }

    TEST_CASE("a quota cuts all and cores but nothing that was asked for by number") {
        const auto machine = fake("container_v2");
        CHECK(tauto::select_cpus(machine, "all") == cpus{0, 1});
        CHECK(tauto::select_cpus(machine, "cores") == cpus{0, 1});
        CHECK(tauto::select_cpus(machine, "0-3") == numbers(0, 3));
    }

    TEST_CASE("no quota leaves every allowed CPU") {
        const auto machine = fake("i9_14900k");  // its cpu.max reads "max 100000"
        CHECK_FALSE(machine.quota_cpus.has_value());
        CHECK(machine.usable_members == 32);
        CHECK(fake("virtual_machine").usable_members == 2);  // version 1 says -1
        CHECK_FALSE(fake("virtual_machine").quota_cpus.has_value());
    }

    TEST_CASE("a quota of whole CPUs is not rounded up and a tiny one is one member") {
        const changed_tree tree("container_v2");
        tree.write("sys/fs/cgroup/app/cpu.max", "300000 100000");
        CHECK(tree.read().usable_members == 3);
        tree.write("sys/fs/cgroup/app/cpu.max", "1000 100000");
        CHECK(tree.read().usable_members == 1);
        tree.write("sys/fs/cgroup/app/cpu.max", "2400000 100000");
        CHECK(tree.read().usable_members == 4);  // the four CPUs that the quota of the inner group gives
        CHECK(tree.read().quota_cpus == 4.0);
    }

    TEST_CASE("the affinity mask is respected and a refusal names it") {
        const auto machine = fake("restricted");
        CHECK(machine.allowed_cpus == cpus{2, 3, 4, 10});
        CHECK(machine.offline_cpus == cpus{5});
        CHECK(tauto::select_cpus(machine, "all") == cpus{2, 3, 4, 10});
        CHECK(tauto::select_cpus(machine, "cores") == cpus{2, 3, 4});
        CHECK(tauto::select_cpus(machine, "10") == cpus{10});
        says(refusal(machine, "2,7"),
             "CPU 7 is not allowed, because this process's affinity mask leaves it out; allowed are 2-4,10");
        says(refusal(machine, "5"), "CPU 5 is offline; allowed are 2-4,10");
        CHECK_FALSE(cpu_of(machine, 7).allowed);
    }

    TEST_CASE("a refusal names the cpuset") {
        const auto machine = fake("container_v2");
        says(refusal(machine, "6"), "the cpuset leaves it out (cgroup v2, cpuset.cpus.effective of /app)");
    }

    TEST_CASE("a kind that exists but is not allowed is refused with what is allowed") {
        const changed_tree tree("i9_14900k");
        tree.write("proc/self/status", "Cpus_allowed_list:\t16-19");
        says(refusal(tree.read(), "P"), "no CPU of kind P is allowed; allowed are 16-19");
        CHECK(tauto::select_cpus(tree.read(), "all") == numbers(16, 19));
    }

    TEST_CASE("a second hardware thread counts as first where it is the only one allowed") {
        const changed_tree tree("i9_14900k");
        tree.write("proc/self/status", "Cpus_allowed_list:\t0-1,3,16");
        CHECK(tauto::select_cpus(tree.read(), "all") == cpus{0, 3, 16, 1});
    }

    TEST_CASE("a group outside of a cgroup namespace is not followed") {
        const changed_tree tree("container_v2");
        tree.write("proc/self/cgroup", "0::/../../elsewhere");
        tree.write("sys/fs/cgroup/cpu.max", "250000 100000");
        CHECK(tree.read().quota_cpus == 2.5);
    }
}

TEST_SUITE("this machine") {
    TEST_CASE("a folder without a machine is refused by name") {
        CHECK_THROWS_WITH_AS(tauto::read_machine({.root = "/nonexistent/tree"}),
                             doctest::Contains("/nonexistent/tree"), tauto::error);
    }
    TEST_CASE("the light and the full way agree") {
        const auto machine = tauto::read_machine();
        CHECK(tauto::allowed_cpus() == machine.allowed_cpus);
        CHECK(tauto::usable_members() == machine.usable_members);
        CHECK(tauto::usable_cores() == tauto::select_cpus(machine, "cores"));
        CHECK(machine.memory_bytes > 0);
    }

    TEST_CASE("the light and the full way agree on every machine") {
        int trees = 0;
        for (const auto& entry : std::filesystem::directory_iterator(TAUTO_FAKE_TREES)) {
            const tauto::machine_options tree{.root = entry.path()};
            INFO("tree: " << entry.path().filename().string());
            CHECK(tauto::usable_cores(tree) == tauto::select_cpus(tauto::read_machine(tree), "cores"));
            ++trees;
        }
        CHECK(trees >= 8);
    }
    TEST_CASE("a pinned thread is allowed its own CPU alone") {
        const cpus all = tauto::allowed_cpus();
        cpus seen;
        std::thread([&] {
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET(static_cast<std::size_t>(all.back()), &set);
            REQUIRE(sched_setaffinity(0, sizeof(set), &set) == 0);
            seen = tauto::allowed_cpus();
        }).join();
        CHECK(seen == cpus{all.back()});
    }

    TEST_CASE("the bytes of a cache, where the system tells them") {
        const std::string one = "sys/devices/system/cpu/cpu0/cache/index";
        const changed_tree tree("i9_14900k");
        const tauto::detail::file_tree files(tree.root());
        tree.remove(one.substr(0, one.rfind('/')));
        CHECK(tauto::detail::cache_bytes(files, 2) == std::nullopt);
        tree.write(one + "0/level", "2");
        tree.write(one + "0/type", "Instruction");
        tree.write(one + "0/size", "64K");
        tree.write(one + "1/level", "2");
        tree.write(one + "1/type", "Unified");
        tree.write(one + "1/size", "2048K");
        CHECK(tauto::detail::cache_bytes(files, 2) == 2'097'152);
        CHECK(tauto::detail::cache_bytes(files, 3) == std::nullopt);
        for (const char* nonsense : {"", "K", "2M", "-1K", "0K", "99999999999999999999K"}) {
            tree.write(one + "1/size", nonsense);
            CHECK(tauto::detail::cache_bytes(files, 2) == std::nullopt);
        }
        CHECK(tauto::detail::second_level_cache() >= 128 << 10);
        CHECK(tauto::detail::largest_cache() >= 128 << 10);
    }

    TEST_CASE("lists of CPUs are written as the kernel writes them") {
        CHECK(tauto::cpu_list_text({8, 0, 1, 2, 3}) == "0-3,8");
        CHECK(tauto::cpu_list_text({5}) == "5");
        CHECK(tauto::cpu_list_text({}) == "none");
    }
}
