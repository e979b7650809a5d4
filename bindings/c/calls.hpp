#pragma once
// What all functions of the C library share: exceptions become codes, arguments are checked, options are
// read.

#include <tauto.h>

#include <cxxabi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stop_token>
#include <string>

#include <tauto/algorithm_options.hpp>
#include <tauto/parallel_reduce.hpp>

struct tauto_team {
    tauto::team members;
};

struct tauto_stop {
    std::stop_source source;
};

namespace tauto::c {

// The code of the exception that is being handled; its words become the thread's message.
[[nodiscard, gnu::cold]] tauto_status code_of_exception();

// Runs a call. A cancellation of the thread goes on through it, as through every wait of a team.
template <class Call>
tauto_status guarded(Call&& call) {
    try {
        call();
        return TAUTO_OK;
    }
#if defined(__GLIBCXX__)
    catch (const abi::__forced_unwind&) {
        throw;
    }
#endif
    catch (...) {
        return code_of_exception();
    }
}

[[noreturn, gnu::cold]] void refuse(const std::string& words);
[[noreturn, gnu::cold]] void refuse_null(const char* call, const char* argument);

template <class Pointer>
void need(const char* call, const char* argument, Pointer pointer) {
    if (pointer == nullptr) refuse_null(call, argument);
}
[[nodiscard]] inline team& members_of(const char* call, tauto_team* given) {
    need(call, "team", given);
    return given->members;
}

// An array of n elements, which may be NULL where n is 0.
void check_array(const char* call, const char* argument, const void* first, std::int64_t n);

// The site that an address names: the same one in every call.
[[nodiscard]] site& site_of(const void* address) noexcept;

[[noreturn, gnu::cold]] void refuse_bytes(const char* call, const char* type, const char* macro,
                                          std::size_t bytes, std::size_t known);

// A structure as the program's header has it. That may be an older one, which ends sooner: what it lacks is
// as in `whole`.
template <class Structure>
[[nodiscard]] Structure whole_of(const char* call, const char* type, const char* macro,
                                 const Structure& given, Structure whole) {
    const std::size_t bytes = given.bytes;
    if (bytes == sizeof whole) return given;
    if (bytes <= sizeof bytes || bytes > sizeof whole || bytes % alignof(Structure) != 0)
        refuse_bytes(call, type, macro, bytes, sizeof whole);
    std::memcpy(&whole, &given, bytes);
    return whole;
}
[[nodiscard]] inline tauto_options whole_options(const char* call, const tauto_options& given) {
    return whole_of<tauto_options>(call, "tauto_options", "TAUTO_OPTIONS", given, TAUTO_OPTIONS);
}

[[nodiscard]] loop_options read_options(const char* call, const tauto_options& given, const void* callback);

// Options of a loop whose site is a callback.
[[nodiscard]] inline loop_options loop_options_of(const char* call, const tauto_options* given,
                                                  const void* callback) {
    if (given == nullptr) return {.site = &site_of(callback)};
    return read_options(call, *given, callback);
}
template <class Function>
[[nodiscard]] const void* address_of(Function* function) noexcept {
    return reinterpret_cast<const void*>(function);
}

[[nodiscard]] algorithm_options algorithm_options_of(const char* call, const tauto_options* given);
// `callback` null: the site is that of the algorithm.
[[nodiscard]] reduce_options reduce_options_of(const char* call, const tauto_options* given,
                                               const void* callback = nullptr);

// The callbacks of tauto_reduce. What can be said with them needs no other reduction, which take the compiler
// a second each.
using map_function = void (*)(void* context, std::int64_t begin, std::int64_t end, void* value);
using combine_function = void (*)(void* context, void* left, const void* right);
void reduce(team& members, range r, std::size_t bytes, map_function map, combine_function combine,
            void* context, void* result, const reduce_options& options);

}  // namespace tauto::c
