// Two plugins, each with a copy of the library, in one process: what one has pinned, the other must know.

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

// A plugin while it is loaded, with symbols that nobody else sees.
class plugin {
  public:
    explicit plugin(const char* path) : library_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
        INFO(path);
        REQUIRE(library_ != nullptr);
        make_team = find<int(int)>("make_team");
        works = find<bool()>("works");
        end_team = find<void()>("end_team");
    }
    ~plugin() { dlclose(library_); }
    plugin(const plugin&) = delete;
    plugin& operator=(const plugin&) = delete;

    int (*make_team)(int) = nullptr;
    bool (*works)() = nullptr;
    void (*end_team)() = nullptr;

  private:
    template <class Function>
    Function* find(const char* name) {
        return reinterpret_cast<Function*>(dlsym(library_, name));
    }
    void* library_;
};

std::vector<int> mask_of_thread(pid_t thread = 0) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    sched_getaffinity(thread, sizeof mask, &mask);
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(static_cast<unsigned>(cpu), &mask)) cpus.push_back(cpu);
    }
    return cpus;
}

const std::vector<int> all_cpus = mask_of_thread();

// Of the process, the calling thread left out.
long threads_only_on(int cpu) {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::count_if(begin(all), end(all), [&](const auto& one) {
        const pid_t thread = std::stoi(one.path().filename());
        return thread != gettid() && mask_of_thread(thread) == std::vector<int>{cpu};
    });
}

}  // namespace

TEST_CASE("a second copy's team has all CPUs, though the first one has pinned the thread" *
          doctest::description("runtime.md, promise 19")) {
    plugin first(TAUTO_FIRST_PLUGIN);
    plugin second(TAUTO_SECOND_PLUGIN);
    const int size = first.make_team(-1);
    CHECK(mask_of_thread().size() == 1);
    CHECK(second.make_team(-1) == size);
    CHECK(second.make_team(all_cpus.back()) == 1);
    CHECK(first.works());
    CHECK(second.works());
    second.end_team();
    first.end_team();
    CHECK(mask_of_thread() == all_cpus);
}

TEST_CASE("copies give a thread's CPUs back in any order of their teams' ends" *
          doctest::description("runtime.md, promise 19")) {
    plugin first(TAUTO_FIRST_PLUGIN);
    plugin second(TAUTO_SECOND_PLUGIN);
    const int one = all_cpus.front();
    const int other = all_cpus.back();
    for (const bool older_first : {true, false}) {
        CHECK(first.make_team(one) == 1);
        CHECK(second.make_team(other) == 1);
        CHECK(mask_of_thread() == std::vector<int>{other});
        plugin& ends = older_first ? first : second;
        plugin& stays = older_first ? second : first;
        ends.end_team();
        CHECK(mask_of_thread() == std::vector<int>{older_first ? other : one});
        CHECK(stays.works());
        stays.end_team();
        CHECK(mask_of_thread() == all_cpus);
    }
}

TEST_CASE("a thread that was born pinned by another copy has the CPUs of the thread that bore it" *
          doctest::description("runtime.md, promise 19")) {
    plugin first(TAUTO_FIRST_PLUGIN);
    plugin second(TAUTO_SECOND_PLUGIN);
    const int size = first.make_team(-1);
    std::thread([&] {
        CHECK(mask_of_thread().size() == 1);
        CHECK(second.make_team(-1) == size);
        CHECK(second.works());
        second.end_team();
    }).join();
    first.end_team();
    CHECK(mask_of_thread() == all_cpus);
}

TEST_CASE(
    "a copy gives its CPUs to a thread that its team's maker has started, not to another copy's worker" *
    doctest::description("runtime.md, promises 19 and 23")) {
    if (all_cpus.size() < 2) return;
    plugin first(TAUTO_FIRST_PLUGIN);
    plugin second(TAUTO_SECOND_PLUGIN);
    const int last = all_cpus.back();
    first.make_team(-1);
    CHECK(first.works());
    CHECK(threads_only_on(last) == 1);
    second.make_team(last);
    std::atomic<bool> ends{false};
    std::thread started([&] { ends.wait(false); });
    CHECK(threads_only_on(last) == 2);
    second.end_team();
    CHECK(threads_only_on(last) == 1);
    ends = true;
    ends.notify_one();
    started.join();
    CHECK(first.works());
    first.end_team();
}

TEST_CASE("a copy may be unloaded and loaded again while another one's team lives") {
    plugin first(TAUTO_FIRST_PLUGIN);
    const int size = first.make_team(-1);
    for (int round = 0; round < 3; ++round) {
        plugin second(TAUTO_SECOND_PLUGIN);
        CHECK(second.make_team(-1) == size);
        CHECK(second.works());
        second.end_team();
    }
    CHECK(first.works());
    first.end_team();
    CHECK(mask_of_thread() == all_cpus);
}
