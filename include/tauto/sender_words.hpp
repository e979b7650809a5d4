#pragma once
// The words of std::execution (C++26) that senders.hpp needs, as tauto::execution: those of stdexec (of 2026,
// whose tags end in _tag) where its header is found, else these few, with the names and meanings of the
// standard. A program that writes its receivers in these words compiles with either.

#include <concepts>
#include <type_traits>
#include <utility>

#if __has_include(<stdexec/execution.hpp>)

#include <stdexec/execution.hpp>

namespace tauto {
namespace execution = ::stdexec;
}

#else

namespace tauto::execution {

struct sender_tag {};
struct receiver_tag {};
struct operation_state_tag {};
struct scheduler_tag {};

// ---- How an operation ends ----

struct set_value_t {
    template <class Receiver, class... Values>
    void operator()(Receiver&& receiver, Values&&... values) const noexcept {
        static_assert(noexcept(std::forward<Receiver>(receiver).set_value(std::forward<Values>(values)...)));
        std::forward<Receiver>(receiver).set_value(std::forward<Values>(values)...);
    }
};
struct set_error_t {
    template <class Receiver, class Error>
    void operator()(Receiver&& receiver, Error&& error) const noexcept {
        static_assert(noexcept(std::forward<Receiver>(receiver).set_error(std::forward<Error>(error))));
        std::forward<Receiver>(receiver).set_error(std::forward<Error>(error));
    }
};
struct set_stopped_t {
    template <class Receiver>
    void operator()(Receiver&& receiver) const noexcept {
        static_assert(noexcept(std::forward<Receiver>(receiver).set_stopped()));
        std::forward<Receiver>(receiver).set_stopped();
    }
};
inline constexpr set_value_t set_value{};
inline constexpr set_error_t set_error{};
inline constexpr set_stopped_t set_stopped{};

template <class... Signatures>
struct completion_signatures {};

template <class Sender, class... Env>
consteval auto get_completion_signatures() {
    return std::remove_reference_t<Sender>::template get_completion_signatures<Sender, Env...>();
}
template <class Sender, class... Env>
using completion_signatures_of_t = decltype(get_completion_signatures<Sender, Env...>());

// ---- What is asked of an environment ----

template <class... Parts>
struct env {};

struct get_env_t {
    template <class Type>
    decltype(auto) operator()(const Type& of) const noexcept {
        if constexpr (requires { of.get_env(); }) {
            static_assert(noexcept(of.get_env()));
            return of.get_env();
        } else {
            return env<>{};
        }
    }
};
inline constexpr get_env_t get_env{};
template <class Type>
using env_of_t = decltype(get_env(std::declval<Type>()));

// Of a stop that is never asked for.
struct never_stop_token {
    template <class Function>
    struct callback_type {
        explicit callback_type(never_stop_token, const Function&) noexcept {}
    };
    static constexpr bool stop_requested() noexcept { return false; }
    static constexpr bool stop_possible() noexcept { return false; }
    friend bool operator==(never_stop_token, never_stop_token) = default;
};

struct get_stop_token_t {
    template <class Env>
    auto operator()(const Env& of) const noexcept {
        if constexpr (requires { of.query(*this); }) {
            return of.query(*this);
        } else {
            return never_stop_token{};
        }
    }
};
inline constexpr get_stop_token_t get_stop_token{};
template <class Env>
using stop_token_of_t = std::remove_cvref_t<decltype(get_stop_token(std::declval<Env>()))>;

template <class Tag>
struct get_completion_scheduler_t {
    template <class Env>
    requires requires(const Env& of, get_completion_scheduler_t self) { of.query(self); }
    auto operator()(const Env& of) const noexcept { return of.query(*this); }
};
template <class Tag>
inline constexpr get_completion_scheduler_t<Tag> get_completion_scheduler{};

enum class forward_progress_guarantee { concurrent, parallel, weakly_parallel };

struct get_forward_progress_guarantee_t {
    template <class Scheduler>
    auto operator()(const Scheduler& of) const noexcept {
        if constexpr (requires { of.query(*this); }) {
            return of.query(*this);
        } else {
            return forward_progress_guarantee::weakly_parallel;
        }
    }
};
inline constexpr get_forward_progress_guarantee_t get_forward_progress_guarantee{};

// ---- What is done with senders ----

struct schedule_t {
    template <class Scheduler>
    auto operator()(Scheduler&& on) const noexcept {
        return std::forward<Scheduler>(on).schedule();
    }
};
inline constexpr schedule_t schedule{};

struct connect_t {
    template <class Sender, class Receiver>
    auto operator()(Sender&& sender, Receiver&& receiver) const {
        static_assert(std::derived_from<typename std::remove_cvref_t<Sender>::sender_concept, sender_tag>);
        static_assert(
            std::derived_from<typename std::remove_cvref_t<Receiver>::receiver_concept, receiver_tag>);
        return std::forward<Sender>(sender).connect(std::forward<Receiver>(receiver));
    }
};
inline constexpr connect_t connect{};
template <class Sender, class Receiver>
using connect_result_t = decltype(connect(std::declval<Sender>(), std::declval<Receiver>()));

struct start_t {
    template <class Operation>
    void operator()(Operation& operation) const noexcept {
        static_assert(noexcept(operation.start()));
        operation.start();
    }
};
inline constexpr start_t start{};

// ---- Policies ----

struct sequenced_policy {};
struct parallel_policy {};
struct parallel_unsequenced_policy {};
struct unsequenced_policy {};
inline constexpr sequenced_policy seq{};
inline constexpr parallel_policy par{};
inline constexpr parallel_unsequenced_policy par_unseq{};
inline constexpr unsequenced_policy unseq{};

template <class Type>
inline constexpr bool is_execution_policy_v =
    std::is_same_v<Type, sequenced_policy> || std::is_same_v<Type, parallel_policy> ||
    std::is_same_v<Type, parallel_unsequenced_policy> || std::is_same_v<Type, unsequenced_policy>;

}  // namespace tauto::execution

#endif
