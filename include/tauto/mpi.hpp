#pragma once
// Members that are processes (mpi_member), and members that are threads of processes (hybrid_member).
//
// Not part of tauto.hpp: it includes <mpi.h>, so a program that uses it is compiled with mpicxx, or with
// what `mpicxx -show` prints. None of it is compiled into the library, so the library works with every MPI.
//
// Reductions do not use MPI_Reduce: MPI may fold in any order, and the order changes with the length and with
// the number of processes. Here a member receives the values and folds them in the order of ranks,
// ((x0 op x1) op x2) ..., for every length: the same bits as `solo` and a team's members give.

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <tauto/error.hpp>
#include <tauto/member.hpp>
#include <tauto/range.hpp>
#include <tauto/schedule.hpp>
#include <tauto/signed.hpp>
#include <tauto/team.hpp>

namespace tauto {

namespace detail {

// What travels in front of the values of a reduction, so that processes that do not do the same thing notice
// it instead of adding up what does not belong together.
struct reduction_header {
    std::uint32_t operation;
    std::uint32_t element_bytes;
    std::uint64_t length;
    friend bool operator==(const reduction_header&, const reduction_header&) = default;
};

enum mpi_operation : std::uint32_t { all_reduce_operation = 1, reduce_scatter_operation, scan_operation };

inline const char* name_of(mpi_operation operation) noexcept {
    if (operation == all_reduce_operation) return "all_reduce";
    return operation == reduce_scatter_operation ? "reduce_scatter" : "scan";
}

// Memory that grows and is never initialised, aligned for any element of a reduction.
class scratch_bytes {
  public:
    static constexpr std::size_t alignment = 64;

    std::byte* of(std::size_t bytes) {
        if (bytes > size_) {
            memory_.reset(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{alignment})));
            size_ = bytes;
        }
        return memory_.get();
    }

  private:
    struct release {
        void operator()(std::byte* memory) const noexcept {
            ::operator delete (memory, std::align_val_t{alignment});
        }
    };
    std::unique_ptr<std::byte, release> memory_;
    std::size_t size_ = 0;
};

}  // namespace detail

// A split-phase barrier that this process has entered and not yet left; see mpi_member::arrive.
class mpi_arrival {
  public:
    mpi_arrival() = default;
    mpi_arrival(mpi_arrival&& other) noexcept : request_{std::exchange(other.request_, MPI_REQUEST_NULL)} {}
    mpi_arrival& operator=(mpi_arrival&& other) noexcept {
        std::swap(request_, other.request_);
        return *this;
    }

  private:
    friend class mpi_member;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

// A process of an MPI communicator. All members call the same operations in the same order with the same
// lengths; T is trivially copyable. One thread at a time may use it, the one that MPI was started for.
//
// Throws tauto::error for a wrong length, before anything is written, and for what MPI itself reports. After
// an error the processes no longer agree on what comes next: end them (run_mpi does).
class mpi_member {
  public:
    // Makes a communicator of its own, so that its messages meet no others: a collective call.
    explicit mpi_member(MPI_Comm processes = MPI_COMM_WORLD) {
        if (MPI_Comm_dup(processes, &processes_) != MPI_SUCCESS)
            throw error("mpi_member: MPI gave no communicator of its own; was MPI started (run_mpi)?");
        MPI_Comm_set_errhandler(processes_, MPI_ERRORS_RETURN);
        MPI_Comm_rank(processes_, &rank_);
        MPI_Comm_size(processes_, &size_);
    }
    ~mpi_member() {
        int finalized = 0;
        MPI_Finalized(&finalized);
        // While an exception passes the others may be anywhere, and freeing waits for them.
        if (finalized == 0 && std::uncaught_exceptions() == 0) MPI_Comm_free(&processes_);
    }
    mpi_member(const mpi_member&) = delete;
    mpi_member& operator=(const mpi_member&) = delete;

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return size_; }

    void barrier() { check("barrier", MPI_Barrier(processes_)); }

    // Copies root's data to all.
    template <class T>
    void broadcast(std::span<T> data, int root = 0) {
        require_copyable<T>();
        detail::check_root(rank_, root, size_);
        check("broadcast",
              MPI_Bcast(data.data(), bytes_of<T>("broadcast", data.size()), MPI_BYTE, root, processes_));
    }

    // The values of all members, folded in the order of ranks.
    template <class T, class Op>
    [[nodiscard]] T all_reduce(const T& mine, Op combine) {
        T result = mine;
        fold_gathered(detail::all_reduce_operation, std::span<T>{&result, 1}, size_, combine);
        return result;
    }

    // The same for each element, in place.
    template <class T, class Op>
    void all_reduce(std::span<T> data, Op combine) {
        if (size_ == 1) return;
        if (is_gathered(data.size_bytes()))
            fold_gathered(detail::all_reduce_operation, data, size_, combine);
        else
            fold_transposed(data, combine);
    }

    // Parts of equal length, one behind the other. `part` may be this member's own place in `whole`.
    template <class T>
    void all_gather(std::span<const T> part, std::span<T> whole) {
        require_copyable<T>();
        detail::check_equal_parts(rank_, size_, part.size(), whole.size());
        bytes_of<T>("all_gather", whole.size());
        const int bytes = bytes_of<T>("all_gather", part.size());
        put(part, whole.subspan(part.size() * detail::usize(rank_), part.size()));
        check("all_gather",
              MPI_Allgather(MPI_IN_PLACE, bytes, MPI_BYTE, whole.data(), bytes, MPI_BYTE, processes_));
    }

    // Parts of any lengths: rank r's part lands in whole[bounds[r], bounds[r + 1]). Same in-place rule.
    template <class T>
    void all_gather(std::span<const T> part, std::span<T> whole, std::span<const index> bounds) {
        require_copyable<T>();
        detail::check_bounds(rank_, size_, part.size(), whole.size(), bounds);
        gather_by_bounds("all_gather", part, whole, bounds);
    }

    // Folds `whole` of all members in the order of ranks; `part` receives the equal_share of this rank.
    template <class T, class Op>
    void reduce_scatter(std::span<const T> whole, std::span<T> part, Op combine) {
        detail::check_share(rank_, size_, whole.size(), part.size());
        const std::vector<index> bounds = equal_bounds(whole.size());
        reduce_scatter(whole, part, std::span<const index>{bounds}, combine);
    }

    // The same for shares of any lengths: part receives whole[bounds[rank], bounds[rank + 1]), folded.
    template <class T, class Op>
    void reduce_scatter(std::span<const T> whole, std::span<T> part, std::span<const index> bounds,
                        Op combine) {
        require_copyable<T>();
        require_bounds("reduce_scatter", bounds, whole.size());
        const auto me = detail::usize(rank_);
        if (part.size() != detail::usize(bounds[me + 1] - bounds[me]))
            fail("reduce_scatter", "part has " + std::to_string(part.size()) + " elements, expected " +
                                       std::to_string(bounds[me + 1] - bounds[me]));
        agree<T>(detail::reduce_scatter_operation, whole.size());
        fold_pieces(detail::reduce_scatter_operation, whole, part, bounds, combine);
    }

    // The values of ranks 0 to this one, folded in the order of ranks.
    template <class T, class Op>
    [[nodiscard]] T scan(const T& mine, Op combine) {
        T result = mine;
        fold_gathered(detail::scan_operation, std::span<T>{&result, 1}, rank_ + 1, combine);
        return result;
    }

    // A barrier in two halves: what is done between them overlaps with the others' arrival.
    [[nodiscard]] mpi_arrival arrive() {
        mpi_arrival entered;
        check("arrive", MPI_Ibarrier(processes_, &entered.request_));
        return entered;
    }
    void wait(mpi_arrival entered) { check("wait", MPI_Wait(&entered.request_, MPI_STATUS_IGNORE)); }

    // The communicator that the operations use; not for other messages.
    [[nodiscard]] MPI_Comm communicator() const noexcept { return processes_; }

  private:
    // Everyone receives everything and folds it all, in one exchange; or each folds a share and passes it on,
    // in two exchanges, where everyone receives the less the more members there are. By the bytes that are
    // saved, and by those that are folded. (2048 particles on 16 simulated cores of 2x-e5-2650v2 with the
    // collectives of four libraries, `tauto simulate nbody --smpi all`: a mean block shared by sources takes
    // 43 to 48 us, and 52 to 61 us where everything up to 64 KiB of all members together is gathered. Half or
    // twice saved_bytes changes it by 8 % at most.)
    [[nodiscard]] bool is_gathered(std::size_t bytes) const noexcept {
        const auto members = detail::usize(size_);
        return bytes * (members - 2) <= saved_bytes && bytes * members <= folded_bytes;
    }
    static constexpr std::size_t saved_bytes = 8192;
    static constexpr std::size_t folded_bytes = 65536;

    template <class T>
    static void require_copyable() {
        static_assert(std::is_trivially_copyable_v<T>,
                      "members exchange bytes: T must be trivially copyable");
        static_assert(alignof(T) <= detail::scratch_bytes::alignment);
    }

    [[noreturn]] void fail(const char* operation, const std::string& what) const {
        throw error(std::string{operation} + " on rank " + std::to_string(rank_) + ": " + what);
    }

    void check(const char* operation, int code) const {
        if (code == MPI_SUCCESS) return;
        char text[MPI_MAX_ERROR_STRING + 1] = {};
        int length = 0;
        MPI_Error_string(code, text, &length);
        fail(operation, "MPI reports '" + std::string(text, detail::usize(length)) +
                            "'; all members must call the same operation with the same length");
    }

    // MPI counts with an int.
    template <class T>
    int bytes_of(const char* operation, std::size_t length) const {
        if (length > INT_MAX / sizeof(T))
            fail(operation, std::to_string(length) + " elements of " + std::to_string(sizeof(T)) +
                                " bytes are more than the " + std::to_string(INT_MAX) +
                                " bytes that MPI moves at a time; split them");
        return static_cast<int>(length * sizeof(T));
    }

    void require_bounds(const char* operation, std::span<const index> bounds, std::size_t length) const {
        if (bounds.size() != detail::usize(size_) + 1)
            fail(operation,
                 std::to_string(bounds.size()) + " bounds were given, expected " + std::to_string(size_ + 1));
        if (!std::ranges::is_sorted(bounds) || bounds.front() < 0 ||
            bounds.back() > static_cast<index>(length))
            fail(operation,
                 "bounds must ascend within 0 to " + std::to_string(length) + ", the length of the whole");
    }

    std::vector<index> equal_bounds(std::size_t length) const {
        std::vector<index> bounds(detail::usize(size_) + 1);
        for (int r = 0; r < size_; ++r)
            detail::at(bounds, r + 1) = equal_share(static_cast<index>(length), size_, r).end;
        return bounds;
    }

    // Lengths of the parts in bytes and where they begin, for MPI's calls with varying lengths.
    template <class T>
    void lay_out(std::span<const index> bounds) {
        const auto members = detail::usize(size_);
        counts_.resize(members);
        places_.resize(members);
        for (std::size_t r = 0; r < members; ++r) {
            counts_[r] = static_cast<int>(detail::usize(bounds[r + 1] - bounds[r]) * sizeof(T));
            places_[r] = static_cast<int>(detail::usize(bounds[r]) * sizeof(T));
        }
    }

    // MPI wants all members to be in place, or none of them.
    template <class T>
    static void put(std::span<const T> part, std::span<T> place) {
        if (!part.empty() && part.data() != place.data())
            __builtin_memmove(place.data(), part.data(), part.size_bytes());
    }

    template <class T>
    void gather_by_bounds(const char* operation, std::span<const T> part, std::span<T> whole,
                          std::span<const index> bounds) {
        bytes_of<T>(operation, whole.size());
        lay_out<T>(bounds);
        const auto begin = detail::usize(detail::at(bounds, rank_));
        put(part, whole.subspan(begin, part.size()));
        check(operation, MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, whole.data(), counts_.data(),
                                        places_.data(), MPI_BYTE, processes_));
    }

    template <class T>
    static detail::reduction_header header_of(detail::mpi_operation operation, std::size_t length) {
        return {operation, static_cast<std::uint32_t>(sizeof(T)), length};
    }

    void compare(const detail::reduction_header& mine, const detail::reduction_header& other,
                 int other_rank) const {
        if (mine == other) return;
        const auto operation = static_cast<detail::mpi_operation>(mine.operation);
        if (other.operation != mine.operation)
            fail(detail::name_of(operation),
                 "rank " + std::to_string(other_rank) +
                     " calls another operation at the same time; all members must call the "
                     "same ones in the same order");
        fail(detail::name_of(operation),
             "length is " + std::to_string(mine.length) + " elements of " +
                 std::to_string(mine.element_bytes) + " bytes, expected " + std::to_string(other.length) +
                 " of " + std::to_string(other.element_bytes) + " as on rank " + std::to_string(other_rank));
    }

    // All members say what they are about to do, where the values themselves have no room for it.
    template <class T>
    void agree(detail::mpi_operation operation, std::size_t length) {
        bytes_of<T>(detail::name_of(operation), length);
        const auto mine = header_of<T>(operation, length);
        headers_.resize(detail::usize(size_));
        check(detail::name_of(operation), MPI_Allgather(&mine, sizeof mine, MPI_BYTE, headers_.data(),
                                                        sizeof mine, MPI_BYTE, processes_));
        for (int r = 0; r < size_; ++r) compare(mine, detail::at(headers_, r), r);
    }

    // data[i] = data[i] op other[i]: a loop that compilers vectorise for plain operations.
    template <class T, class Op>
    static void fold_into(T* data, const T* other, std::size_t length, Op& combine) {
        for (std::size_t i = 0; i < length; ++i) data[i] = combine(data[i], other[i]);
    }

    // Everyone receives everything, header and values, and folds the first `members` of it.
    template <class T, class Op>
    void fold_gathered(detail::mpi_operation operation, std::span<T> data, int members, Op& combine) {
        require_copyable<T>();
        if (size_ == 1) return;
        constexpr std::size_t head = std::max(sizeof(detail::reduction_header), alignof(T));
        const std::size_t bytes = data.size() * sizeof(T);
        const std::size_t slot = head + bytes;
        const auto everyone = detail::usize(size_);
        const char* name = detail::name_of(operation);
        bytes_of<std::byte>(name, slot * everyone);
        const auto mine = header_of<T>(operation, data.size());
        std::byte* slots = received_.of(slot * everyone);
        std::byte* own = slots + slot * detail::usize(rank_);
        detail::copy_bytes(own, &mine, sizeof mine);
        detail::copy_bytes(own + head, data.data(), bytes);
        const int count = static_cast<int>(slot);
        check(name, MPI_Allgather(MPI_IN_PLACE, count, MPI_BYTE, slots, count, MPI_BYTE, processes_));
        for (int r = 0; r < size_; ++r) {
            compare(mine, detail::load_bytes<detail::reduction_header>(slots + slot * detail::usize(r)), r);
        }
        if (bytes == 0) return;
        detail::copy_bytes(data.data(), slots + head, bytes);
        for (int r = 1; r < members; ++r)
            fold_into(data.data(),
                      std::launder(reinterpret_cast<const T*>(slots + slot * detail::usize(r) + head)),
                      data.size(), combine);
    }

    // Each member receives its share of everyone's values, folds it, and passes it on to all.
    template <class T, class Op>
    void fold_transposed(std::span<T> data, Op& combine) {
        require_copyable<T>();
        agree<T>(detail::all_reduce_operation, data.size());
        const std::vector<index> bounds = equal_bounds(data.size());
        const auto part = detail::part(data, {detail::at(bounds, rank_), detail::at(bounds, rank_ + 1)});
        fold_pieces(detail::all_reduce_operation, std::span<const T>{data}, part,
                    std::span<const index>{bounds}, combine);
        gather_by_bounds("all_reduce", std::span<const T>{part}, data, std::span<const index>{bounds});
    }

    // part = fold over all members of their whole[bounds[rank], bounds[rank + 1]). `part` may lie in `whole`.
    template <class T, class Op>
    void fold_pieces(detail::mpi_operation operation, std::span<const T> whole, std::span<T> part,
                     std::span<const index> bounds, Op& combine) {
        const auto everyone = detail::usize(size_);
        const std::size_t bytes = part.size() * sizeof(T);
        const char* name = detail::name_of(operation);
        bytes_of<T>(name, part.size() * everyone);
        lay_out<T>(bounds);
        piece_counts_.assign(everyone, static_cast<int>(bytes));
        piece_places_.resize(everyone);
        for (std::size_t r = 0; r < everyone; ++r) piece_places_[r] = static_cast<int>(r * bytes);
        std::byte* pieces = received_.of(std::max<std::size_t>(bytes * everyone, 1));
        check(name, MPI_Alltoallv(whole.data(), counts_.data(), places_.data(), MPI_BYTE, pieces,
                                  piece_counts_.data(), piece_places_.data(), MPI_BYTE, processes_));
        if (bytes == 0) return;
        detail::copy_bytes(part.data(), pieces, bytes);
        for (std::size_t r = 1; r < everyone; ++r)
            fold_into(part.data(), std::launder(reinterpret_cast<const T*>(pieces + r * bytes)), part.size(),
                      combine);
    }

    MPI_Comm processes_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 1;
    detail::scratch_bytes received_;
    std::vector<detail::reduction_header> headers_;
    std::vector<int> counts_, places_, piece_counts_, piece_places_;
};

// The ranks of the members of all processes: process q has the ranks first[q] to first[q + 1] - 1.
class hybrid_layout {
  public:
    // A collective call of one thread in each process; `members` is how many this process has.
    hybrid_layout(mpi_member& processes, int members) : first_(detail::usize(processes.size()) + 1) {
        std::vector<int> counts(detail::usize(processes.size()));
        processes.all_gather(std::span<const int>{&members, 1}, std::span<int>{counts});
        for (std::size_t q = 0; q < counts.size(); ++q) first_[q + 1] = first_[q] + counts[q];
    }

    [[nodiscard]] int size() const noexcept { return first_.back(); }
    [[nodiscard]] int first(int process) const noexcept { return detail::at(first_, process); }
    [[nodiscard]] int process_of(int rank) const noexcept {
        return static_cast<int>(std::ranges::upper_bound(first_, rank) - first_.begin()) - 1;
    }
    // The bounds of the processes' parts of something that has `bounds` for its members.
    [[nodiscard]] std::vector<index> of_processes(std::span<const index> bounds) const {
        std::vector<index> found;
        for (const int rank : first_) found.push_back(detail::at(bounds, rank));
        return found;
    }

  private:
    std::vector<int> first_;
};

// A thread of a process among others: `Inner` is the member inside the process. Every operation has two
// levels; between the processes there is one message a process, and only each process' first member sends it,
// on the thread that MPI was started for (MPI_THREAD_FUNNELED is enough).
//
// Reductions are folded in rank order inside a process, then over processes in theirs: the same bits on every
// member and in every run, but other bits for another division into processes.
template <class Inner>
class basic_hybrid_member {
  public:
    // A barrier that this member has entered and not yet left.
    using arrival_type = decltype(std::declval<Inner&>().arrive());

    // All must outlive it. `layout` is the layout of `processes` with Inner's size.
    basic_hybrid_member(Inner& inner, mpi_member& processes, const hybrid_layout& layout)
        : inner_{&inner}, processes_{&processes}, layout_{&layout} {}

    [[nodiscard]] int rank() const noexcept { return layout_->first(processes_->rank()) + inner_->rank(); }
    [[nodiscard]] int size() const noexcept { return layout_->size(); }

    void barrier() {
        inner_->barrier();
        if (leads()) processes_->barrier();
        inner_->barrier();
    }

    template <class T>
    void broadcast(std::span<T> data, int root = 0) {
        detail::check_root(rank(), root, size());
        const int process = layout_->process_of(root);
        const bool here = process == processes_->rank();
        if (here) inner_->broadcast(data, root - layout_->first(process));
        if (leads()) processes_->broadcast(data, process);
        if (!here) inner_->broadcast(data, 0);
    }

    template <class T, class Op>
    [[nodiscard]] T all_reduce(const T& mine, Op combine) {
        T result = inner_->all_reduce(mine, combine);
        if (leads()) result = processes_->all_reduce(result, combine);
        inner_->broadcast(std::span<T>{&result, 1}, 0);
        return result;
    }

    template <class T, class Op>
    void all_reduce(std::span<T> data, Op combine) {
        inner_->all_reduce(data, combine);
        if (leads()) processes_->all_reduce(data, combine);
        inner_->broadcast(data, 0);
    }

    template <class T>
    void all_gather(std::span<const T> part, std::span<T> whole) {
        detail::check_equal_parts(rank(), size(), part.size(), whole.size());
        std::vector<index> bounds(detail::usize(size()) + 1);
        for (std::size_t r = 0; r < bounds.size(); ++r) bounds[r] = static_cast<index>(r * part.size());
        gather(part, whole, std::span<const index>{bounds});
    }

    template <class T>
    void all_gather(std::span<const T> part, std::span<T> whole, std::span<const index> bounds) {
        detail::check_bounds(rank(), size(), part.size(), whole.size(), bounds);
        gather(part, whole, bounds);
    }

    template <class T, class Op>
    void reduce_scatter(std::span<const T> whole, std::span<T> part, Op combine) {
        const range mine = detail::check_share(rank(), size(), whole.size(), part.size());
        std::vector<T> folded(whole.begin(), whole.end());
        inner_->all_reduce(std::span<T>{folded}, combine);
        const std::vector<index> bounds = shares_of_processes(whole.size());
        const auto process = detail::usize(processes_->rank());
        const auto ours = detail::part(std::span<T>{folded}, {bounds[process], bounds[process + 1]});
        if (leads()) {
            // A copy: MPI may not read and write the same memory.
            const std::vector<T> of_process = folded;
            processes_->reduce_scatter(std::span<const T>{of_process}, ours, std::span<const index>{bounds},
                                       combine);
        }
        inner_->broadcast(ours, 0);
        std::copy_n(folded.begin() + mine.begin, mine.size(), part.begin());
    }

    template <class T, class Op>
    [[nodiscard]] T scan(const T& mine, Op combine) {
        const T up_to_me = inner_->scan(mine, combine);
        const T of_process = inner_->all_reduce(mine, combine);
        std::vector<T> totals(detail::usize(processes_->size()), of_process);
        if (leads()) processes_->all_gather(std::span<const T>{&of_process, 1}, std::span<T>{totals});
        inner_->broadcast(std::span<T>{totals}, 0);
        if (processes_->rank() == 0) return up_to_me;
        T before = totals[0];
        for (int q = 1; q < processes_->rank(); ++q) before = combine(before, detail::at(totals, q));
        return combine(before, up_to_me);
    }

    // In the first half the members of one process meet, in the second the processes.
    [[nodiscard]] arrival_type arrive() { return inner_->arrive(); }
    void wait(arrival_type entered) {
        inner_->wait(std::move(entered));
        if (leads()) processes_->barrier();
        inner_->barrier();
    }

  private:
    // The one that speaks for its process.
    [[nodiscard]] bool leads() const noexcept { return inner_->rank() == 0; }

    std::vector<index> shares_of_processes(std::size_t length) const {
        std::vector<index> bounds{0};
        for (int q = 0; q < processes_->size(); ++q)
            bounds.push_back(equal_share(static_cast<index>(length), size(), layout_->first(q + 1) - 1).end);
        return bounds;
    }

    template <class T>
    void gather(std::span<const T> part, std::span<T> whole, std::span<const index> bounds) {
        const auto first = detail::usize(layout_->first(processes_->rank()));
        const auto begin = detail::usize(bounds[first]);
        const auto end = detail::usize(bounds[first + detail::usize(inner_->size())]);
        const auto ours = whole.subspan(begin, end - begin);
        std::vector<index> inside;
        for (std::size_t r = 0; r <= detail::usize(inner_->size()); ++r)
            inside.push_back(bounds[first + r] - bounds[first]);
        inner_->all_gather(part, ours, std::span<const index>{inside});
        if (leads()) {
            const std::vector<index> of_processes = layout_->of_processes(bounds);
            processes_->all_gather(std::span<const T>{ours}, whole, std::span<const index>{of_processes});
        }
        inner_->broadcast(whole, 0);
    }

    Inner* inner_;
    mpi_member* processes_;
    const hybrid_layout* layout_;
};

// A thread of a team in one of the processes.
using hybrid_member = basic_hybrid_member<member>;

// Runs body(hybrid_member&) once on every member of the team in every process. A collective call of the
// thread that MPI was started for; an exception comes out of it as out of team::run, and then belongs into
// run_mpi.
template <class Body>
void run_hybrid(team& threads, mpi_member& processes, Body&& body) {
    const hybrid_layout layout{processes, threads.size()};
    threads.run([&](member& inner) {
        hybrid_member me{inner, processes, layout};
        body(me);
    });
}

// The main function of a program whose members are processes: starts MPI, calls body(mpi_member&) and ends
// MPI. Returns what body returns, 0 if it returns nothing.
//
// An exception that leaves the body ends all processes: its text goes to standard error with the rank, and
// the launcher takes the others down. They could not go on: they wait for a member that is gone.
template <class Body>
int run_mpi(int& argc, char**& argv, Body&& body) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    int code = 0;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        mpi_member me{MPI_COMM_WORLD};
        if constexpr (std::is_void_v<std::invoke_result_t<Body&, mpi_member&>>)
            body(me);
        else
            code = body(me);
    } catch (const std::exception& reason) {
        std::fprintf(stderr, "rank %d: error: %s\n", rank, reason.what());
        std::fflush(stderr);
        // A launcher that is told to abort may drop what it has not yet passed on.
        std::this_thread::sleep_for(std::chrono::milliseconds{200});
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return code;
}

}  // namespace tauto
