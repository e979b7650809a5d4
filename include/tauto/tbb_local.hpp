#pragma once
// oneTBB's values of each thread: enumerable_thread_specific and combinable, for tauto/tbb.hpp.
//
// Invariant: only the thread whose number it is writes an entry of `direct_`, and no other reads it. All else
// is used under the mutex, or while nobody calls local().

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace tbb {

namespace detail {

// The calling thread's, for its life: 0 for the first that asks.
inline std::size_t thread_number() {
    static std::atomic<std::size_t> next{0};
    thread_local const std::size_t own = next.fetch_add(1, std::memory_order_relaxed);
    return own;
}

// On lines of its own: other threads write to theirs.
template <class T>
struct alignas(128) padded {
    template <class Make>
    explicit padded(const Make& make) : value(make()) {}
    T value;
};

// Over the values of padded ones.
template <class Base, class T>
class value_iterator {
  public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::remove_const_t<T>;
    using difference_type = std::ptrdiff_t;
    using pointer = T*;
    using reference = T&;

    value_iterator() = default;
    explicit value_iterator(Base at) : at_(at) {}
    reference operator*() const { return at_->value; }
    pointer operator->() const { return &at_->value; }
    value_iterator& operator++() {
        ++at_;
        return *this;
    }
    value_iterator operator++(int) { return value_iterator(at_++); }
    friend bool operator==(const value_iterator&, const value_iterator&) = default;

  private:
    Base at_{};
};

}  // namespace detail

enum ets_key_usage_type { ets_key_per_instance, ets_no_key, ets_suspend_aware };

// A value for each thread that calls local(), made by its first call.
//
// local() takes no lock for the first 64 threads of a process that call one. Nothing else may be called
// beside it. A value stays until clear() or the end, whatever its thread does; a thread that begins later
// gets its own. The allocator and the key are left aside.
template <class T, class Allocator = std::allocator<T>, ets_key_usage_type = ets_no_key>
class enumerable_thread_specific {
    using values = std::deque<detail::padded<T>>;

  public:
    using value_type = T;
    using reference = T&;
    using const_reference = const T&;
    using size_type = std::size_t;
    using iterator = detail::value_iterator<typename values::iterator, T>;
    using const_iterator = detail::value_iterator<typename values::const_iterator, const T>;

    enumerable_thread_specific() requires std::default_initializable<T> : make_([] { return T(); }) {}
    // Each begins as a copy of this.
    explicit enumerable_thread_specific(const T& first) requires std::copy_constructible<T>
        : make_([first] { return first; }) {}
    // Each begins as what make() returns.
    template <class Make>
    requires(std::is_invocable_r_v<T, Make&> &&
             !std::same_as<std::remove_cvref_t<Make>, T>) explicit enumerable_thread_specific(Make make)
        : make_(std::move(make)) {}
    enumerable_thread_specific(const enumerable_thread_specific&) = delete;
    enumerable_thread_specific& operator=(const enumerable_thread_specific&) = delete;

    reference local() {
        bool exists = false;
        return local(exists);
    }
    // `exists`: whether it was there before.
    reference local(bool& exists) {
        const std::size_t own = detail::thread_number();
        T* known = own < direct_.size() ? direct_[own].load(std::memory_order_relaxed) : nullptr;
        exists = known != nullptr;
        return exists ? *known : find_or_make(own, exists);
    }

    [[nodiscard]] size_type size() const { return values_.size(); }
    [[nodiscard]] bool empty() const { return values_.empty(); }
    iterator begin() { return iterator(values_.begin()); }
    iterator end() { return iterator(values_.end()); }
    [[nodiscard]] const_iterator begin() const { return const_iterator(values_.begin()); }
    [[nodiscard]] const_iterator end() const { return const_iterator(values_.end()); }

    void clear() {
        for (auto& one : direct_) one.store(nullptr, std::memory_order_relaxed);
        others_.clear();
        values_.clear();
    }

    // One value for all, two by two; a new one where there is none. In the order in which they were made.
    template <class Join>
    [[nodiscard]] T combine(Join join) const {
        if (values_.empty()) return make_();
        auto one = begin();
        T all = *one;
        for (++one; one != end(); ++one) all = join(all, *one);
        return all;
    }
    template <class Visit>
    void combine_each(Visit visit) {
        for (T& one : *this) visit(one);
    }

  private:
    reference find_or_make(std::size_t own, bool& exists) {
        const std::scoped_lock held(mutex_);
        if (const auto found = others_.find(own); found != others_.end()) {
            exists = true;
            return *found->second;
        }
        T& fresh = values_.emplace_back(make_).value;
        if (own < direct_.size())
            direct_[own].store(&fresh, std::memory_order_relaxed);
        else
            others_.emplace(own, &fresh);
        return fresh;
    }

    std::function<T()> make_;
    values values_;
    std::array<std::atomic<T*>, 64> direct_{};    // by the thread's number
    std::unordered_map<std::size_t, T*> others_;  // of threads beyond these
    std::mutex mutex_;
};

// The same with fewer words.
template <class T>
class combinable {
  public:
    combinable() requires std::default_initializable<T>
    = default;
    template <class Make>
    requires std::is_invocable_r_v<T, Make&>
    explicit combinable(Make make) : all_(std::move(make)) {}

    T& local() { return all_.local(); }
    T& local(bool& exists) { return all_.local(exists); }
    void clear() { all_.clear(); }
    template <class Join>
    [[nodiscard]] T combine(Join join) {
        return all_.combine(std::move(join));
    }
    template <class Visit>
    void combine_each(Visit visit) {
        all_.combine_each(std::move(visit));
    }

  private:
    enumerable_thread_specific<T> all_;
};

}  // namespace tbb
