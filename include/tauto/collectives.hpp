#pragma once
// Where the members of a team meet in a collective, and what they find there. member.hpp has the operations.
//
// Collectives are counted: each meeting of all members is an epoch. A member has two slots, for even and
// odd epochs, each a cache line that holds the arrival and up to 7 words of data.
//
// clang-format off
// | variable      | what it says                                      | written by               | pairs with           |
// |---------------|---------------------------------------------------|--------------------------|----------------------|
// | slot.word     | epoch at which the owner last arrived here; bit 1: | owner, exchange; a waiter | waiter, load-acquire |
// |               | it has left the body; bit 0: a waiter sleeps on it | sets bit 0               |                      |
// | slot.tag,     | operation, length and data that the owner brings  | owner, before its        | readers, after their |
// | payload,      | to that epoch; the slot's line is written last    | exchange on slot.word    | load of slot.word    |
// | buffer        |                                                   |                          |                      |
// | released.word | tournament: epoch up to which the owner has let   | owner, exchange; as      | its losers,          |
// |               | its losers go on; bits as above                   | above                    | load-acquire         |
// clang-format on
//
// Invariant: a member that is past epoch e has seen all members arrive at e. A slot or buffer of epoch e is
// written again at e + 2; its owner is past e + 1 then, at which every reader arrived after it had read. So
// no exit handshake is needed, and no plain byte is written while it is read. (verify/collectives.pml has the
// same names.)
// Memory of the caller that was published by address is read in place. Then the operation ends with one
// more epoch, past which all have read it. No member leaves between the two, also when the operator throws.
// A member leaves between two operations, and marks its word with the epoch of its last arrival or the one
// before. A waiter is at most two epochs past a mark of this run, and at least four past one of an earlier
// run.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <stop_token>
#include <type_traits>
#include <vector>

#include <tauto/error.hpp>
#include <tauto/signed.hpp>
#include <tauto/wait.hpp>

namespace tauto {

// How the members of a team wait for each other.
enum class barrier_shape {
    rows,        // each writes one line and reads the lines of all: one transfer, members² reads
    tournament,  // groups of four and groups of their winners: two transfers a level, few reads
};

// Of calls that several threads make on one team. A low one waits until no normal one waits, and a low loop
// of adaptive, dynamic or guided gives its turn away about once a millisecond.
enum class priority : unsigned char { normal, low };

struct run_options {
    // Requested: every collective called from then on throws, and run throws tauto::stopped.
    std::stop_token stop = {};
    const char* name = nullptr;  // shown in traces; must outlive the team
    tauto::priority priority = tauto::priority::normal;
};

namespace detail {

enum class operation : std::uint32_t {
    barrier,
    broadcast,
    all_reduce,
    all_gather,
    reduce_scatter,
    scan,
    peers,
    split_barrier,
    gather_bounds,         // all_gather with bounds; the tag's length is a check of them all
    broadcast_from_other,  // the first of other_roots: broadcasts from other ranks than 0
};

// Different roots differ in a tag but for one pair in seven.
inline constexpr int other_roots = 7;
constexpr operation broadcast_from(int root) noexcept {
    return root == 0 ? operation::broadcast
                     : static_cast<operation>(static_cast<int>(operation::broadcast_from_other) +
                                              (root - 1) % other_roots);
}

// Leaves the body of a member that another one's exception has released. Not a std::exception, so that a
// body's own handlers let it pass.
struct released {};

// The data that fit in the arrival's cache line.
inline constexpr std::size_t payload_bytes = 56;

// An element's type in four bits: its size up to 8 bytes, a float's up to 16, and a remainder of other sizes.
inline constexpr std::uint32_t larger_elements = 4;
inline constexpr std::uint32_t floats = 8;
template <class T>
constexpr std::uint32_t element_of() noexcept {
    constexpr auto size = static_cast<std::uint32_t>(std::bit_width(sizeof(T))) - 1;
    if (std::is_floating_point_v<T>) return floats + size;
    return std::has_single_bit(sizeof(T)) && size < larger_elements ? size
                                                                    : larger_elements + sizeof(T) / 4 % 4;
}

// Lengths that a tag holds as they are.
inline constexpr std::uint32_t exact_lengths = 1U << 23;

// What members compare, so that a wrong call is an error and not a wrong result: operation, element, length.
// Longer ones differ in it but for one case in 2^23.
inline std::uint32_t tag_of(operation what, std::size_t count, std::uint32_t element = 0) noexcept {
    const std::uint32_t head = static_cast<std::uint32_t>(what) << 28 | element << 24;
    if (count < exact_lengths) [[likely]]
        return head | static_cast<std::uint32_t>(count);
    return head | exact_lengths | static_cast<std::uint32_t>(std::uint64_t{count} * 0x9e3779b97f4a7c15 >> 41);
}

// A number that differs when one of the bounds does, but for one case in 2^23.
inline std::size_t check_of(std::span<const std::int64_t> bounds) noexcept {
    std::uint64_t sum = 0;
    for (const std::int64_t bound : bounds)
        sum = (sum ^ static_cast<std::uint64_t>(bound)) * 0x9e3779b97f4a7c15;
    return static_cast<std::size_t>(sum >> 37);
}

// In bits 2 to 31 of a word, modulo 2^30.
inline constexpr std::uint32_t epoch_mask = (1U << 30) - 1;
inline constexpr std::uint32_t left_bit = 2;
inline constexpr std::uint32_t waiting_bit = 1;

// 128: neighbouring lines are fetched in pairs on current Intel CPUs.
struct alignas(128) arrival_slot {
    std::atomic<std::uint32_t> word{0};
    std::uint32_t tag = 0;
    std::byte payload[payload_bytes];
};

struct alignas(128) release_line {
    std::atomic<std::uint32_t> word{0};
};

// Up to these lengths data are copied into the team's buffers and read from there: one epoch. Above it they
// are read where they lie: more epochs, but fewer lines that change hands. Both are where the two curves
// cross on two cores (runners/collective/threads.cpp), so the time has no step there.
inline constexpr std::size_t reduce_copied_bytes = 4992;
inline constexpr std::size_t gather_copied_bytes = 2304;

// In a reduction in place, each member reduces at most this many bytes before all copy them: what a member
// has written is then still in its cache.
inline constexpr std::size_t share_bytes = std::size_t{1} << 18;

// Lines of a buffer that are asked for while its owner is waited for.
inline constexpr std::size_t line_bytes = 64;
inline constexpr std::size_t most_coming_lines = 32;

struct alignas(128) copy_buffer {
    std::byte bytes[std::max(reduce_copied_bytes, gather_copied_bytes)];
};

struct member_lines_of_team {
    arrival_slot slots[2];
    release_line released;
};

// An address and a number of elements there.
struct published_span {
    const void* data = nullptr;
    std::size_t count = 0;
};

// What the members of one team share.
struct collectives {
    collectives(int members, bool more_members_than_cpus, wait_policy policy);

    int size;
    bool oversubscribed;
    wait_policy wait;
    barrier_shape shape = barrier_shape::rows;
    // Epoch before the first one of this run. Written by the caller while no member runs.
    std::uint32_t start_epoch = 0;
    unsigned fork_generation = 0;
    const std::stop_token* stop = nullptr;
    std::unique_ptr<member_lines_of_team[]> lines;
    std::unique_ptr<copy_buffer[]> buffers;  // two a member
    // A row a member: what it has read of the others' published spans. Padded to whole lines.
    std::size_t table_row;
    std::unique_ptr<published_span[]> tables;
    // By rank: the first exception of each member, which alone writes it.
    std::unique_ptr<std::exception_ptr[]> failures;
    // One of them is there. On a line of its own.
    alignas(128) std::atomic<bool> failed{false};

    [[nodiscard]] std::byte* buffer(int of, std::uint32_t epoch) const noexcept {
        return buffers[2 * usize(of) + (epoch & 1)].bytes;
    }
    // All members gone (after a fork): as new.
    void reset() noexcept;
    // Of the calling member.
    void fail(int rank, std::exception_ptr what) noexcept;
    // After a run: the exception of the lowest rank, or null; all are forgotten.
    [[nodiscard]] std::exception_ptr take_failure() noexcept;
};

// The object whose bytes stand at `from`, which need not be aligned.
template <class T>
T load_bytes(const std::byte* from) {
    struct image {
        std::byte bytes[sizeof(T)];
    } copy;
    __builtin_memcpy(&copy, from, sizeof(T));
    return std::bit_cast<T>(copy);
}

inline void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
    if (bytes != 0 && to != from) __builtin_memcpy(to, from, bytes);
}

template <class T>
void copy_elements(T* to, const T* from, std::size_t count) {
    copy_bytes(to, from, count * sizeof(T));
}

// to[i] = ((source(0)[i] op source(1)[i]) op source(2)[i]) …, in one pass over all sources. `to` may be one
// of the sources. The inner loops have a known length and write where nothing else points to, so that
// compilers vectorise them.
template <class T, class Source, class Op>
void fold_elements(T* to, std::size_t count, int sources, Source&& source, Op& combine) {
    constexpr std::size_t block = std::max<std::size_t>(1, 512 / sizeof(T));
    // A union, because T need not have a default constructor; not bytes, because GCC vectorises half as much
    // of what is behind std::launder.
    union block_of_sums {
        alignas(std::max<std::size_t>(64, alignof(T))) T sum[block];
        block_of_sums() noexcept {}
    } storage;
    const auto fold_block = [&](std::size_t begin, auto length) {
        const T* first = source(0) + begin;
        const T* second = source(1) + begin;
        for (std::size_t i = 0; i < length; ++i)
            storage.sum[i] = static_cast<T>(combine(first[i], second[i]));
        for (int rank = 2; rank < sources; ++rank) {
            const T* next = source(rank) + begin;
            for (std::size_t i = 0; i < length; ++i)
                storage.sum[i] = static_cast<T>(combine(storage.sum[i], next[i]));
        }
        copy_elements(to + begin, storage.sum, length);
    };
    std::size_t begin = 0;
    for (; begin + block <= count; begin += block)
        fold_block(begin, std::integral_constant<std::size_t, block>{});
    if constexpr (block > 1) {  // else nothing is left, which GCC does not see
        if (begin < count) fold_block(begin, count - begin);
    }
}

[[noreturn]] void refuse_length(operation what, int rank, const char* argument, std::size_t length,
                                std::size_t expected, const char* why);
[[noreturn]] void refuse_root(int rank, int root, int size);

inline void check_length(operation what, int rank, const char* argument, std::size_t length,
                         std::size_t expected, const char* why) {
    if (length != expected) refuse_length(what, rank, argument, length, expected, why);
}

}  // namespace detail

// A split-phase barrier that was arrived at and not yet waited for.
class [[nodiscard]] arrival {
  private:
    friend class solo;
    friend class member;
    arrival() = default;
};

// The spans of all members, in place: view[r] is what rank r gave. A reader may use it until it calls its
// next collective; an owner may change or free its span once its next collective has returned.
template <class T>
class peers_view {
  public:
    [[nodiscard]] int size() const noexcept { return detail::int_size(spans_); }
    [[nodiscard]] std::span<const T> operator[](int rank) const noexcept {
        const detail::published_span& one = detail::at(spans_, rank);
        return {static_cast<const T*>(one.data), one.count};
    }

  private:
    friend class solo;
    friend class member;
    explicit peers_view(std::span<const detail::published_span> spans) : spans_(spans) {}
    std::span<const detail::published_span> spans_;
};

}  // namespace tauto
