#include "calls.hpp"

#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <new>

namespace tauto::c {
namespace {

// No memory is asked for: there may be none. What is longer is cut.
thread_local constinit std::array<char, 512> message_of_thread{};

void say(const char* words) noexcept {
    std::snprintf(message_of_thread.data(), message_of_thread.size(), "%s", words);
}

// Sites by address, without a lock: an entry is taken once and kept. A program with more shares some.
struct entry {
    std::atomic<const void*> address{nullptr};
    site own;
};
constexpr std::size_t entry_bits = 10;
constexpr std::size_t most_probes = 16;
constinit std::array<entry, std::size_t{1} << entry_bits> entries{};

}  // namespace

tauto_status code_of_exception() {
    try {
        throw;
    } catch (const stopped& thrown) {
        say(thrown.what());
        return TAUTO_STOPPED;
    } catch (const error& thrown) {
        say(thrown.what());
        return TAUTO_REFUSED;
    } catch (const std::bad_alloc&) {
        say("the memory is used up; give the call fewer elements, or end something else");
        return TAUTO_NO_MEMORY;
    } catch (const std::exception& thrown) {
        say(thrown.what());
        return TAUTO_THROWN;
    } catch (...) {
        say("a callback threw something that is no std::exception");
        return TAUTO_THROWN;
    }
}

void refuse(const std::string& words) {
    throw error(words);
}

void refuse_null(const char* call, const char* argument) {
    refuse(std::string(call) + " got NULL as `" + argument + "`");
}

void check_array(const char* call, const char* argument, const void* first, std::int64_t n) {
    if (n < 0 || n > max_iterations) {
        refuse(std::string(call) + " of " + std::to_string(n) + " elements; there may be 0 to 2^56");
    }
    if (n > 0) need(call, argument, first);
}

site& site_of(const void* address) noexcept {
    // The high bits of the product depend on all bits of the address.
    const auto hash =
        static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address)) * 0x9e3779b97f4a7c15U;
    const std::size_t start = hash >> (64 - entry_bits);
    for (std::size_t k = 0; k < most_probes; ++k) {
        entry& one = entries[(start + k) % entries.size()];
        // Relaxed: an entry's site is there from the start.
        const void* found = one.address.load(std::memory_order_relaxed);
        if (found == nullptr &&
            one.address.compare_exchange_strong(found, address, std::memory_order_relaxed))
            return one.own;
        if (found == address) return one.own;
    }
    return entries[start].own;
}

namespace {

tauto::schedule schedule_of(const char* call, const tauto_options& given) {
    if (given.chunk < 0) {
        refuse(std::string(call) + " got chunks of " + std::to_string(given.chunk) +
               " iterations; a chunk must be at least 1, or 0 for that");
    }
    const index chunk = given.chunk == 0 ? 1 : given.chunk;
    switch (given.schedule) {
        case TAUTO_ADAPTIVE:
            return adaptive{};
        case TAUTO_STATIC:
            return static_{};
        case TAUTO_STATIC_CHUNK:
            return static_chunk{chunk};
        case TAUTO_DYNAMIC:
            return dynamic{chunk};
        case TAUTO_GUIDED:
            return guided{chunk};
        case TAUTO_WEIGHTED:
            return weighted{};
    }
    refuse(std::string(call) + " got the schedule " + std::to_string(given.schedule) +
           "; there are TAUTO_ADAPTIVE (0) to TAUTO_WEIGHTED (5)");
}

int limit_of(const char* call, const tauto_options& given) {
    if (given.members < 0) {
        refuse(std::string(call) + " got a limit of " + std::to_string(given.members) +
               " members; use 0 for all of the team, or a limit from 1");
    }
    return given.members;
}

priority priority_of(const char* call, const tauto_options& given) {
    if (given.priority == TAUTO_NORMAL) return priority::normal;
    if (given.priority == TAUTO_LOW) return priority::low;
    refuse(std::string(call) + " got the priority " + std::to_string(given.priority) +
           "; there are TAUTO_NORMAL (0) and TAUTO_LOW (1)");
}

std::stop_token stop_of(const tauto_options& given) {
    return given.stop != nullptr ? given.stop->source.get_token() : std::stop_token{};
}

}  // namespace

void refuse_bytes(const char* call, const char* type, const char* macro, std::size_t bytes,
                  std::size_t known) {
    refuse(std::string(call) + " got a " + type + " of " + std::to_string(bytes) +
           " bytes; this library has " + std::to_string(known) + ". Begin it with " + macro +
           ", and use the header of this library or an older one");
}

namespace {

loop_options loop_options_from(const char* call, const tauto_options& given, const void* callback) {
    const void* const address = given.site != nullptr ? given.site : callback;
    return {.schedule = schedule_of(call, given),
            .stop = stop_of(given),
            .site = address != nullptr ? &site_of(address) : nullptr,
            .name = given.name,
            .members = limit_of(call, given),
            .priority = priority_of(call, given)};
}

}  // namespace

loop_options read_options(const char* call, const tauto_options& given, const void* callback) {
    return loop_options_from(call, whole_options(call, given), callback);
}

algorithm_options algorithm_options_of(const char* call, const tauto_options* given) {
    if (given == nullptr) return {};
    const loop_options options = read_options(call, *given, nullptr);
    return {options.schedule, options.stop, options.name, options.members, options.priority};
}

reduce_options reduce_options_of(const char* call, const tauto_options* given, const void* callback) {
    if (given == nullptr) return {.site = callback != nullptr ? &site_of(callback) : nullptr};
    const tauto_options whole = whole_options(call, *given);
    const loop_options options = loop_options_from(call, whole, callback);
    if (whole.grain < 0) {
        refuse(std::string(call) + " got blocks of " + std::to_string(whole.grain) +
               " indices; the grain must be at least 1, or 0 for a default");
    }
    return {.schedule = options.schedule,
            .stop = options.stop,
            .site = options.site,
            .name = options.name,
            .grain = whole.grain,
            .members = options.members,
            .priority = options.priority};
}

}  // namespace tauto::c

using namespace tauto;
using namespace tauto::c;

int tauto_version() {
    return TAUTO_VERSION;
}

const char* tauto_message() {
    return message_of_thread.data();
}

tauto_status tauto_stop_create(tauto_stop** stop) {
    return guarded([&] {
        need("tauto_stop_create", "stop", stop);
        *stop = new tauto_stop;
    });
}

void tauto_stop_request(tauto_stop* stop) {
    if (stop != nullptr) stop->source.request_stop();
}

int tauto_stop_requested(const tauto_stop* stop) {
    return stop != nullptr && stop->source.stop_requested() ? 1 : 0;
}

void tauto_stop_destroy(tauto_stop* stop) {
    delete stop;
}
