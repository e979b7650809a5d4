#pragma once
// One program, many members (SPMD): the concept, and two of its engines: `solo`, which is alone, and
// `member`, a thread of a team. An MPI communicator is a third (mpi.hpp). An algorithm written against the
// concept runs on each of them.

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <span>
#include <stop_token>
#include <type_traits>

#include <tauto/collectives.hpp>
#include <tauto/error.hpp>
#include <tauto/range.hpp>
#include <tauto/schedule.hpp>
#include <tauto/signed.hpp>

namespace tauto {

// What every engine offers. All members call the same operations in the same order with the same lengths;
// T is trivially copyable. Reductions are folded in rank order, ((x0 op x1) op x2) …, at every length: the
// same bits on every member, in every run, on every engine.
//
//   barrier()                             returns when all members have called it
//   broadcast(data, root)                 root's data to all; data may be written on every member
//   all_reduce(mine, op) -> T             one value
//   all_reduce(data, op)                  element by element, in place
//   all_gather(part, whole)               equal parts; whole.size() == size() * part.size()
//   all_gather(part, whole, bounds)       size() + 1 ascending bounds; rank r's part lands in
//                                         whole[bounds[r], bounds[r + 1])
//   reduce_scatter(whole, part, op)       rank r gets the elements equal_share(whole.size(), size(), r)
//   scan(mine, op) -> T                   x0 op … op x_rank
//   arrive() -> arrival, wait(arrival)    a barrier in two phases; no other operation in between
//
// On a team, data longer than detail::reduce_copied_bytes (in a scan, detail::payload_bytes) is read in
// place. If `op` throws on it, the run ends with the exception, and no handler in the body sees it. On
// shorter data each member folds for itself, and the exception leaves its call.
//
// A wrong length is a tauto::error that names operation, rank, length and expected length; nothing has been
// written then. `part` may lie at its own place in `whole` of all_gather; otherwise arguments must not
// overlap.
template <class M>
concept spmd_member = requires(M& me, const M& seen, std::span<double> data, std::span<const double> part,
                               std::span<const index> bounds, double x, std::plus<> combine, arrival token) {
    { seen.rank() }
    noexcept->std::same_as<int>;
    { seen.size() }
    noexcept->std::same_as<int>;
    me.barrier();
    me.broadcast(data);
    me.broadcast(data, 0);
    { me.all_reduce(x, combine) } -> std::same_as<double>;
    me.all_reduce(data, combine);
    me.all_gather(part, data);
    me.all_gather(part, data, bounds);
    me.reduce_scatter(part, data, combine);
    { me.scan(x, combine) } -> std::same_as<double>;
    {me.arrive()};
    me.wait(me.arrive());
};

namespace detail {

// What the caller's arguments must satisfy whatever the others bring.
void check_bounds(int rank, int size, std::size_t part, std::size_t whole, std::span<const index> bounds);

inline void check_equal_parts(int rank, int size, std::size_t part, std::size_t whole) {
    check_length(operation::all_gather, rank, "whole", whole, usize(size) * part,
                 "members times the length of part");
}

inline range check_share(int rank, int size, std::size_t whole, std::size_t part) {
    const range share = equal_share(static_cast<index>(whole), size, rank);
    check_length(operation::reduce_scatter, rank, "part", part, usize(share.size()),
                 "this rank's equal share of whole");
    return share;
}

inline void check_root(int rank, int root, int size) {
    if (root < 0 || root >= size) refuse_root(rank, root, size);
}

[[noreturn]] void refuse_phase(int rank, bool arrived);

}  // namespace detail

// The only member of its world: every operation is a copy or nothing. For a serial run of an SPMD program.
class solo {
  public:
    [[nodiscard]] int rank() const noexcept { return 0; }
    [[nodiscard]] int size() const noexcept { return 1; }

    void barrier() { check_phase(false); }
    template <class T>
    void broadcast(std::span<T>, int root = 0) {
        check_phase(false);
        detail::check_root(0, root, 1);
    }
    template <class T, class Op>
    T all_reduce(const T& mine, Op) {
        check_phase(false);
        return mine;
    }
    template <class T, class Op>
    void all_reduce(std::span<T>, Op) {
        check_phase(false);
    }
    template <class T>
    void all_gather(std::span<const T> part, std::span<T> whole) {
        check_phase(false);
        detail::check_equal_parts(0, 1, part.size(), whole.size());
        detail::copy_elements(whole.data(), part.data(), part.size());
    }
    template <class T>
    void all_gather(std::span<const T> part, std::span<T> whole, std::span<const index> bounds) {
        check_phase(false);
        detail::check_bounds(0, 1, part.size(), whole.size(), bounds);
        detail::copy_elements(whole.data() + bounds[0], part.data(), part.size());
    }
    template <class T, class Op>
    void reduce_scatter(std::span<const T> whole, std::span<T> part, Op) {
        check_phase(false);
        detail::check_share(0, 1, whole.size(), part.size());
        detail::copy_elements(part.data(), whole.data(), whole.size());
    }
    template <class T, class Op>
    T scan(const T& mine, Op) {
        check_phase(false);
        return mine;
    }
    arrival arrive() {
        check_phase(false);
        arrived_ = true;
        return arrival();
    }
    void wait(arrival) {
        check_phase(true);
        arrived_ = false;
    }
    template <class T>
    peers_view<T> peers(std::span<const T> mine) {
        check_phase(false);
        mine_ = {mine.data(), mine.size()};
        return peers_view<T>({&mine_, 1});
    }

  private:
    void check_phase(bool arrived) const {
        if (arrived_ != arrived) detail::refuse_phase(0, arrived_);
    }

    detail::published_span mine_;
    bool arrived_ = false;
};

// A member of a team, inside team::run. Every operation is a barrier as well. It belongs to one thread.
//
// Cost with p members where all come together, L the time a cache line takes between two cores: a barrier and
// every operation on up to 56 bytes about L; then up to a few KiB L and one copy into the team's buffers;
// above that three to four times L and 2 (p - 1) / p (all_reduce) or (p - 1) (all_gather) times the length
// through the caches. Nothing is allocated.
class member {
  public:
    // Alone, as in a run inside a body.
    explicit member(const std::stop_token* stop) noexcept;
    // Rank `rank` of a team's run.
    member(detail::collectives& shared, int rank) noexcept;
    member(const member&) = delete;
    member& operator=(const member&) = delete;

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return size_; }

    void barrier() {
        open<std::byte>(detail::operation::barrier, 0);
        if (size_ > 1) meet();
    }

    // data of root to every member's data. O(bytes) on each but root.
    template <class T>
    void broadcast(std::span<T> data, int root = 0) {
        check_type<T>();
        detail::check_root(rank_, root, size_);
        open<T>(detail::broadcast_from(root), data.size());
        if (size_ == 1) return;
        const bool giving = rank_ == root;
        if (data.size_bytes() <= detail::payload_bytes) {
            if (giving) bring(data.data(), data.size());
            meet();
            if (!giving) detail::copy_bytes(data.data(), payload_of(root), data.size_bytes());
        } else if (data.size_bytes() <= detail::gather_copied_bytes) {
            if (giving) fill_buffer(data.data(), data.size());
            meet();  // no lines ahead: one buffer is read, and which one the wait does not know
            if (!giving) detail::copy_elements(data.data(), buffer_of<T>(root), data.size());
        } else {
            publish(data.data(), data.size());
            meet();
            if (!giving) detail::copy_elements(data.data(), published_of<T>(root), data.size());
            meet();
        }
    }

    // The fold of all members' values.
    template <class T, class Op>
    T all_reduce(const T& mine, Op combine) {
        check_type<T>();
        if constexpr (sizeof(T) <= detail::payload_bytes) {
            open<T>(detail::operation::all_reduce, 1);
            if (size_ == 1) return mine;
            bring(&mine, 1);
            meet();
            return fold_payloads<T>(size_, 0, combine);
        } else {
            T value = mine;
            all_reduce(std::span<T>(&value, 1), combine);
            return value;
        }
    }

    // data[i] becomes the fold of all members' data[i].
    template <class T, class Op>
    void all_reduce(std::span<T> data, Op combine) {
        check_type<T>();
        open<T>(detail::operation::all_reduce, data.size());
        if (size_ == 1) return;
        if (data.size_bytes() <= detail::payload_bytes) {
            bring(data.data(), data.size());
            meet();
            for (std::size_t i = 0; i < data.size(); ++i) data[i] = fold_payloads<T>(size_, i, combine);
        } else if (data.size_bytes() <= detail::reduce_copied_bytes) {
            fill_buffer(data.data(), data.size());
            meet(data.size_bytes());
            detail::fold_elements(
                data.data(), data.size(), size_,
                [&](int from) { return from == rank_ ? data.data() : buffer_of<T>(from); }, combine);
        } else {
            reduce_in_place(data, combine);
        }
    }

    // All members' parts, one after the other in rank order, to all.
    template <class T>
    void all_gather(std::span<const T> part, std::span<T> whole) {
        check_type<T>();
        detail::check_equal_parts(rank_, size_, part.size(), whole.size());
        const auto place = [&](int from) {
            return range{std::ssize(part) * from, std::ssize(part) * (from + 1)};
        };
        open<T>(detail::operation::all_gather, part.size());
        gather(part, whole, part.size(), place);
    }

    template <class T>
    void all_gather(std::span<const T> part, std::span<T> whole, std::span<const index> bounds) {
        check_type<T>();
        detail::check_bounds(rank_, size_, part.size(), whole.size(), bounds);
        const auto place = [&](int from) {
            return range{detail::at(bounds, from), detail::at(bounds, from + 1)};
        };
        index longest = 0;
        for (int from = 0; from < size_; ++from) longest = std::max(longest, place(from).size());
        open<T>(detail::operation::gather_bounds, detail::check_of(bounds));
        gather(part, whole, detail::usize(longest), place);
    }

    // part[i] becomes the fold of all members' whole[share.begin + i], share = equal_share(whole.size(),
    // size(), rank()).
    template <class T, class Op>
    void reduce_scatter(std::span<const T> whole, std::span<T> part, Op combine) {
        check_type<T>();
        const range share = detail::check_share(rank_, size_, whole.size(), part.size());
        const auto begin = detail::usize(share.begin);
        open<T>(detail::operation::reduce_scatter, whole.size());
        if (size_ == 1) {
            detail::copy_elements(part.data(), whole.data(), whole.size());
        } else if (whole.size_bytes() <= detail::payload_bytes) {
            bring(whole.data(), whole.size());
            meet();
            for (std::size_t i = 0; i < part.size(); ++i)
                part[i] = fold_payloads<T>(size_, begin + i, combine);
        } else if (whole.size_bytes() <= detail::reduce_copied_bytes) {
            fill_buffer(whole.data(), whole.size());
            meet(whole.size_bytes());
            detail::fold_elements(
                part.data(), part.size(), size_,
                [&](int from) { return (from == rank_ ? whole.data() : buffer_of<T>(from)) + begin; },
                combine);
        } else {
            publish(whole.data(), whole.size());
            meet();
            read_table();
            keep_exception([&] {
                detail::fold_elements(
                    part.data(), part.size(), size_, [&](int from) { return table_entry<T>(from) + begin; },
                    combine);
            });
            meet_last();
        }
    }

    // The fold of the values of ranks 0 … rank().
    template <class T, class Op>
    T scan(const T& mine, Op combine) {
        check_type<T>();
        open<T>(detail::operation::scan, 1);
        if (size_ == 1) return mine;
        if constexpr (sizeof(T) <= detail::payload_bytes) {
            bring(&mine, 1);
            meet();
            return fold_payloads<T>(rank_ + 1, 0, combine);
        } else {
            publish(&mine, 1);
            meet();
            T sum = *published_of<T>(0);
            keep_exception([&] {
                for (int from = 1; from <= rank_; ++from)
                    sum = static_cast<T>(combine(sum, *published_of<T>(from)));
            });
            meet_last();
            return sum;
        }
    }

    // The barrier in two phases: all have arrived when wait returns; arrive never waits.
    arrival arrive();
    void wait(arrival token);

    // The others' data in place, no copy. See peers_view for how long it may be used.
    template <class T>
    peers_view<T> peers(std::span<const T> mine) {
        check_type<T>();
        open<T>(detail::operation::peers, 0);
        if (size_ == 1) {
            alone_ = {mine.data(), mine.size()};
            return peers_view<T>({&alone_, 1});
        }
        publish(mine.data(), mine.size());
        meet();
        read_table();
        return peers_view<T>({table_, detail::usize(size_)});
    }

    // For team::run. The last epoch that this member arrived at.
    [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }
    // This member takes part in no further meeting; members that wait for it are told so.
    void leave() noexcept;

  private:
    enum class phase : std::uint8_t {
        between,    // of two operations
        arrived,    // and not yet waited
        gathering,  // tournament: waits before its own arrival
        announced,  // its arrival, and waits; these two stay when that has thrown: there is no further
                    // operation
    };

    template <class T>
    static void check_type() {
        static_assert(std::is_trivially_copyable_v<T>,
                      "collectives move bytes: T must be trivially copyable");
        static_assert(alignof(T) <= alignof(detail::copy_buffer));
    }

    template <class T, class Op>
    void reduce_in_place(std::span<T> data, Op& combine) {
        publish(data.data(), data.size());
        meet();
        read_table();
        const auto reduced = [&](std::size_t at) {
            return [this, at](int from) { return table_entry<T>(from) + at; };
        };
        const std::size_t piece =
            std::max<std::size_t>(1, detail::share_bytes / sizeof(T)) * detail::usize(size_);
        for (std::size_t begin = 0; begin < data.size(); begin += piece) {
            const auto length = static_cast<index>(std::min(piece, data.size() - begin));
            // Only this member reads its own share of `data` before the next meeting.
            const range own = equal_share(length, size_, rank_);
            const std::size_t at = begin + detail::usize(own.begin);
            keep_exception([&] {
                detail::fold_elements(data.data() + at, detail::usize(own.size()), size_, reduced(at),
                                      combine);
            });
            meet();
            // No member reads the others' shares of `data` any more. Each begins with its own neighbour, so
            // that all start at different places.
            for (int step = 1; step < size_; ++step) {
                const int from = (rank_ + step) % size_;
                const range theirs = equal_share(length, size_, from);
                const std::size_t there = begin + detail::usize(theirs.begin);
                detail::copy_elements(data.data() + there, table_entry<T>(from) + there,
                                      detail::usize(theirs.size()));
            }
        }
        meet_last();
    }

    // Runs the caller's operator while others read what this member has published, or wait for its share. Its
    // memory must stay until they have met once more. So an exception is kept for team::run, and all members
    // leave at the operation's last meeting.
    template <class Fold>
    void keep_exception(Fold&& fold) {
        try {
            fold();
        } catch (...) {
            shared_->fail(rank_, std::current_exception());
        }
    }

    // place(rank): where in `whole` that rank's part belongs.
    template <class T, class Place>
    void gather(std::span<const T> part, std::span<T> whole, std::size_t longest, const Place& place) {
        const auto fill = [&](auto&& source) {
            for (int step = 0; step < size_; ++step) {
                const int from = (rank_ + step) % size_;
                const range there = place(from);
                detail::copy_elements(whole.data() + there.begin, step == 0 ? part.data() : source(from),
                                      detail::usize(there.size()));
            }
        };
        if (size_ == 1) {
            fill([&](int) { return part.data(); });
        } else if (longest * sizeof(T) <= detail::payload_bytes) {
            bring(part.data(), part.size());
            meet();
            for (int from = 0; from < size_; ++from) {
                const range there = place(from);
                detail::copy_bytes(whole.data() + there.begin, payload_of(from),
                                   detail::usize(there.size()) * sizeof(T));
            }
        } else if (longest * sizeof(T) <= detail::gather_copied_bytes) {
            fill_buffer(part.data(), part.size());
            meet(longest * sizeof(T));
            fill([&](int from) { return buffer_of<T>(from); });
        } else {
            publish(part.data(), part.size());
            meet();
            fill([&](int from) { return published_of<T>(from); });
            meet();
        }
    }

    // Begins an operation on `count` elements of type T.
    template <class T>
    void open(detail::operation what, std::size_t count) {
        if (phase_ != phase::between) [[unlikely]]
            refuse_phase();
        if (stop_ != nullptr) [[unlikely]]
            check_stop();
        tag_ = detail::tag_of(what, count, detail::element_of<T>());
    }

    // All members come here; what each has brought may be read until this member opens its next operation.
    // `copied`: bytes that each may have put into its buffer, whose lines are then asked for beside the
    // arrival.
    void meet(std::size_t copied = 0);
    // The last meeting of an operation whose operator works on published data. Throws if the operator threw
    // on any member: that was noted before the arrival which all have seen.
    void meet_last();
    void announce() noexcept;
    void await_rows();
    void pass_tournament();
    void await(std::atomic<std::uint32_t>& word, std::uint32_t epoch, int of);
    void ask_for_buffer(int of, std::uint32_t epoch) const noexcept;
    void await_long(std::atomic<std::uint32_t>& word, std::uint32_t epoch, int of);
    void park(std::atomic<std::uint32_t>& word, std::uint32_t seen) const;
    void throw_if_left(std::uint32_t seen, std::uint32_t epoch, int of) const;
    [[noreturn]] void refuse_tag(std::uint32_t theirs, int of);
    [[noreturn]] void refuse_phase() const;
    void check_stop() const;
    void read_table() noexcept;

    // What `of` has brought to this epoch.
    [[nodiscard]] detail::arrival_slot& slot_of(int of) const noexcept {
        return detail::at(shared_->lines, of).slots[epoch_ & 1];
    }
    [[nodiscard]] detail::arrival_slot& next_slot() const noexcept {
        return detail::at(shared_->lines, rank_).slots[(epoch_ + 1) & 1];
    }
    // Never this member's own slot: its line is with the readers by then, and would have to come back.
    [[nodiscard]] const std::byte* payload_of(int of) const noexcept {
        return of == rank_ ? brought_ : slot_of(of).payload;
    }
    template <class T>
    [[nodiscard]] const T* buffer_of(int of) const noexcept {
        return std::launder(reinterpret_cast<const T*>(shared_->buffer(of, epoch_)));
    }
    // What this member brings to the next epoch.
    template <class T>
    void fill_buffer(const T* values, std::size_t count) const noexcept {
        detail::copy_bytes(shared_->buffer(rank_, epoch_ + 1), values, count * sizeof(T));
    }
    template <class T>
    void bring(const T* values, std::size_t count) noexcept {
        detail::copy_bytes(next_slot().payload, values, count * sizeof(T));
        detail::copy_bytes(brought_, values, count * sizeof(T));
    }
    template <class T>
    void publish(const T* values, std::size_t count) noexcept {
        const detail::published_span mine{values, count};
        bring(&mine, 1);
    }
    template <class T>
    [[nodiscard]] const T* published_of(int of) const noexcept {
        return static_cast<const T*>(detail::load_bytes<detail::published_span>(payload_of(of)).data);
    }
    template <class T>
    [[nodiscard]] const T* table_entry(int of) const noexcept {
        return static_cast<const T*>(table_[of].data);
    }

    // Element i of what ranks 0 … ranks - 1 have brought in their lines, folded.
    template <class T, class Op>
    [[nodiscard]] T fold_payloads(int ranks, std::size_t i, Op& combine) const {
        T sum = detail::load_bytes<T>(payload_of(0) + i * sizeof(T));
        for (int from = 1; from < ranks; ++from)
            sum = static_cast<T>(combine(sum, detail::load_bytes<T>(payload_of(from) + i * sizeof(T))));
        return sum;
    }

    detail::collectives* shared_ = nullptr;
    const std::stop_token* stop_ = nullptr;
    detail::published_span* table_ = nullptr;
    detail::published_span alone_;
    // Copies of what this member has last brought.
    std::byte brought_[detail::payload_bytes];
    std::uint32_t tag_ = 0;
    std::uint32_t epoch_ = 0;
    std::uint32_t coming_lines_ =
        0;  // of each buffer, worth asking for before their owner is known to be here
    int rank_ = 0;
    int size_ = 1;
    phase phase_ = phase::between;
    detail::spin_budget budget_;
};

}  // namespace tauto
