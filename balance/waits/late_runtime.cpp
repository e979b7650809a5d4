// A runtime that a program loads after its start, as all of Python's packages do.
//
// Its callers were bound past this library, each to the copy that the linker chose. A copy is known by the
// threads that it starts. What is bound to one of its functions is then bound to this library's instead, in
// the tables of all that is loaded, so a call still goes to the copy that the linker chose. One copy is taken
// up: what stands in front of a function has one original. Callers that are loaded later are found when it
// starts threads again; until then they wait unmarked, as those of other copies do.
//
// No lock of the linker is needed but the one under which it lists what is loaded: the caller may be inside
// `dlopen`, or somebody inside `dlopen` may wait for it.

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string_view>

#include "balance/waits/loaded_object.hpp"
#include "balance/waits/originals.hpp"

namespace tauto::balance {

namespace {

constexpr std::size_t most_callers = 16;

std::span<original_function* const> missing;

// Those of the copy that was taken up; whoever has `busy` reads and writes them.
std::atomic<bool> busy{false};
address taken = 0;  // a place inside of it; 0: none yet
std::uint64_t loaded_then = 0;
std::array<std::atomic<const void*>, most_callers> others;  // that start threads, and are no runtime

bool is_known(const void* caller) noexcept {
    return std::ranges::any_of(
        others, [&](const auto& one) { return one.load(std::memory_order_relaxed) == caller; });
}

void remember(const void* caller) noexcept {
    for (auto& one : others)
        if (one.load(std::memory_order_relaxed) == nullptr)
            return one.store(caller, std::memory_order_relaxed);
}

// True where it has one of the functions that regions begin with, and nothing stands in front of another
// copy's. Their originals are known then.
bool take_up(const loaded_object& runtime) noexcept {
    const bool has_regions = std::ranges::any_of(missing, [&](const original_function* one) {
        const std::string_view name = one->name;
        return (name == "GOMP_parallel" || name == "__kmpc_fork_call") && runtime.function(name) != 0;
    });
    if (!has_regions) return false;
    for (original_function* one : missing)
        one->found.store(reinterpret_cast<void*>(runtime.function(one->name)), std::memory_order_release);
    return true;
}

const original_function* original_at(address function) noexcept {
    const auto found = std::ranges::find_if(missing, [&](const original_function* one) {
        return function != 0 &&
               reinterpret_cast<address>(one->found.load(std::memory_order_relaxed)) == function;
    });
    return found == missing.end() ? nullptr : *found;
}

// A name that is not bound yet, because nobody has called it, would be bound to the copy that others of the
// same object are bound to.
const original_function* original_called(std::string_view name) noexcept {
    const auto found = std::ranges::find_if(missing, [&](const original_function* one) {
        return one->found.load(std::memory_order_relaxed) != nullptr && name == one->name;
    });
    return found == missing.end() ? nullptr : *found;
}

void bind_anew(const loaded_object& user) noexcept {
    bool is_bound = false;
    const auto bind = [&](std::atomic<address>& slot, const original_function* to) {
        if (to != nullptr) user.write(slot, reinterpret_cast<address>(to->in_front));
        return to != nullptr;
    };
    user.for_each_slot([&](const char*, std::atomic<address>& slot) {
        is_bound |= bind(slot, original_at(slot.load(std::memory_order_relaxed)));
    });
    if (!is_bound) return;
    user.for_each_slot([&](const char* name, std::atomic<address>& slot) {
        if (user.has(slot.load(std::memory_order_relaxed))) bind(slot, original_called(name));
    });
}

}  // namespace

void expect_late_runtime(original_function* const* functions, std::size_t count) noexcept {
    missing = {functions, count};
}

void take_up_runtime_of(const void* caller) noexcept {
    if (missing.empty() || is_known(caller) || busy.exchange(true, std::memory_order_acquire)) return;
    const int error = errno;
    const auto place = reinterpret_cast<address>(caller);
    bool starts_them = false;
    std::uint64_t loaded = 0;
    for_each_loaded([&](const loaded_object& one, std::uint64_t loads) {
        loaded = loads;
        if (!one.has(place)) return;
        starts_them = taken == 0 ? take_up(one) : one.has(taken);
        if (starts_them && taken == 0) taken = place;
    });
    if (!starts_them) {
        remember(caller);
    } else if (loaded != loaded_then) {
        loaded_then = loaded;
        for_each_loaded([&](const loaded_object& one, std::uint64_t) {
            if (!one.has(taken) && !one.has(reinterpret_cast<address>(&take_up_runtime_of))) bind_anew(one);
        });
    }
    errno = error;
    busy.store(false, std::memory_order_release);
}

}  // namespace tauto::balance
