#pragma once
// A scheduler for senders (std::execution of C++26, stdexec), and bulk operations on a team's members.
//
//     tauto::sender_context context;
//     auto work = execution::schedule(context.get_scheduler()) | tauto::bulk(execution::par, n, body);
//
// A team has no threads that wait for jobs of their own: its members take part in the loops of whoever calls.
// So a context has one thread, which runs what is scheduled, one after the other, and calls the team's loops
// as their member 0. The parallelism is in the bulk operations.
//
// What it promises (each is a test of that number):
//
// 1. Operations that are started complete on the context's thread, in the order of their starts, with
//    set_value, or with set_stopped where a stop was requested by then. A start allocates nothing and waits
//    for nobody but another start; an operation may be destroyed by its own completion.
// 2. The context's end waits for all that was started. What is scheduled by its own operations until then
//    runs too. It ends on another thread than its own.
// 3. Schedulers are equal if they are of one context. They promise parallel forward progress, and their
//    senders complete on them.
// 4. bulk calls f(i, values...) once for each i of [0, n), and bulk_chunked f(begin, end, values...) for
//    ranges that cover it once: a parallel_for on all members with the policies par and par_unseq, a loop on
//    the one thread with seq and unseq. The values go on to the next receiver.
// 5. What f throws ends the operation with set_error(std::exception_ptr): that of the lowest index, as in
//    parallel_for. The team and the context stay usable.
// 6. A stop of the receiver's token, of any type, stops the loop, as loop_options::stop does. The operation
//    then ends with set_stopped.
// 7. What the sender before ends with, an error or a stop, goes on, and f is not called.
//
// Who waits in f for something that is scheduled on the same context waits for ever. stdexec's own bulk runs
// here, on the one thread.

#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <tauto/parallel_for.hpp>
#include <tauto/sender_context.hpp>
#include <tauto/sender_words.hpp>
#include <tauto/team.hpp>

namespace tauto {

namespace detail {

// Signatures and more of them, each once.
template <class Signatures, class... More>
struct joined_signatures {
    using type = Signatures;
};
template <class... Have, class One, class... More>
struct joined_signatures<execution::completion_signatures<Have...>, One, More...>
    : joined_signatures<
          std::conditional_t<(std::is_same_v<Have, One> || ...), execution::completion_signatures<Have...>,
                             execution::completion_signatures<Have..., One>>,
          More...> {};

// A receiver's stop as a std::stop_token, which loops take. What has to be allocated for that is allocated
// when the operation is made.
template <class Token>
class stop_for_loop {
  public:
    // Calls loop(token) and hands requests on meanwhile.
    template <class Loop>
    bool during(const Token& token, Loop&& loop) {
        const auto pass_on = [this] { source_.request_stop(); };
        const typename Token::template callback_type<decltype(pass_on)> heard(token, pass_on);
        return loop(source_.get_token());
    }

  private:
    std::stop_source source_;
};
template <class Token>
requires(!Token::stop_possible()) class stop_for_loop<Token> {
  public:
    template <class Loop>
    bool during(const Token&, Loop&& loop) {
        return loop(std::stop_token());
    }
};
template <>
class stop_for_loop<std::stop_token> {
  public:
    template <class Loop>
    bool during(const std::stop_token& token, Loop&& loop) {
        return loop(token);
    }
};

template <class Policy>
inline constexpr bool in_parallel = std::is_same_v<Policy, execution::parallel_policy> ||
                                    std::is_same_v<Policy, execution::parallel_unsequenced_policy>;

// What is to be done, without where and for whom.
template <bool Chunked, class Policy, class Shape, class Function>
struct bulk_work {
    Shape n;
    Function function;

    // False where it was stopped.
    template <class... Values>
    bool run(team& members, const std::stop_token& stop, Values&... values) {
        const auto body = [&](range r) {
            if constexpr (Chunked) {
                std::invoke(function, static_cast<Shape>(r.begin), static_cast<Shape>(r.end), values...);
            } else {
                for (index i = r.begin; i < r.end; ++i)
                    std::invoke(function, static_cast<Shape>(i), values...);
            }
        };
        if (n <= Shape{0}) return true;
        const bool too_many = static_cast<std::uint64_t>(n) > static_cast<std::uint64_t>(max_iterations);
        loop_options options{.stop = stop};
        if (!in_parallel<Policy>) options.members = 1;
        return parallel_for(members, too_many ? max_iterations + 1 : static_cast<index>(n), body, options);
    }
};

template <class Receiver, class Work>
struct bulk_state : stop_for_loop<std::remove_cvref_t<decltype(execution::get_stop_token(
                        execution::get_env(std::declval<const Receiver&>())))>> {
    bulk_state(Receiver to, Work what, team& on)
        : receiver(std::move(to)), work(std::move(what)), members(&on) {}

    Receiver receiver;
    Work work;
    team* members;
};

template <class Receiver, class Work>
class bulk_receiver {
  public:
    using receiver_concept = execution::receiver_tag;

    explicit bulk_receiver(bulk_state<Receiver, Work>& state) noexcept : state_(&state) {}

    template <class... Values>
    void set_value(Values&&... values) && noexcept {
        bulk_state<Receiver, Work>& all = *state_;
        bool whole = false;
        try {
            whole =
                all.during(execution::get_stop_token(execution::get_env(all.receiver)),
                           [&](const std::stop_token& stop) {
                               return !stop.stop_requested() && all.work.run(*all.members, stop, values...);
                           });
        } catch (...) {
            execution::set_error(std::move(all.receiver), std::current_exception());
            return;
        }
        if (whole) {
            execution::set_value(std::move(all.receiver), std::forward<Values>(values)...);
        } else {
            execution::set_stopped(std::move(all.receiver));
        }
    }
    template <class Error>
    void set_error(Error&& error) && noexcept {
        execution::set_error(std::move(state_->receiver), std::forward<Error>(error));
    }
    void set_stopped() && noexcept { execution::set_stopped(std::move(state_->receiver)); }
    [[nodiscard]] decltype(auto) get_env() const noexcept { return execution::get_env(state_->receiver); }

  private:
    bulk_state<Receiver, Work>* state_;
};

template <class Sender, class Receiver, class Work>
class bulk_operation {
  public:
    using operation_state_concept = execution::operation_state_tag;

    bulk_operation(Sender&& before, Receiver receiver, Work work, team& members)
        : state_(std::move(receiver), std::move(work), members),
          before_(execution::connect(std::forward<Sender>(before), bulk_receiver<Receiver, Work>(state_))) {}
    bulk_operation(const bulk_operation&) = delete;
    bulk_operation& operator=(const bulk_operation&) = delete;

    void start() & noexcept { execution::start(before_); }

  private:
    bulk_state<Receiver, Work> state_;
    execution::connect_result_t<Sender, bulk_receiver<Receiver, Work>> before_;
};

template <class Sender, class Work>
class bulk_sender {
  public:
    using sender_concept = execution::sender_tag;

    bulk_sender(Sender before, Work work, team& members)
        : before_(std::move(before)), work_(std::move(work)), members_(&members) {}

    template <class Self, class... Env>
    static consteval auto get_completion_signatures() {
        using own = std::conditional_t<std::is_lvalue_reference_v<Self>, const Sender&, Sender>;
        return typename joined_signatures<execution::completion_signatures_of_t<own, Env...>,
                                          execution::set_error_t(std::exception_ptr),
                                          execution::set_stopped_t()>::type{};
    }
    [[nodiscard]] decltype(auto) get_env() const noexcept { return execution::get_env(before_); }
    template <class Receiver>
    [[nodiscard]] bulk_operation<Sender, Receiver, Work> connect(Receiver receiver) && {
        return {std::move(before_), std::move(receiver), std::move(work_), *members_};
    }
    template <class Receiver>
    [[nodiscard]] bulk_operation<const Sender&, Receiver, Work> connect(Receiver receiver) const& {
        return {before_, std::move(receiver), work_, *members_};
    }

  private:
    Sender before_;
    Work work_;
    team* members_;
};

template <class Sender>
concept completes_on_team = requires(const std::remove_cvref_t<Sender>& before) {
    {
        execution::get_completion_scheduler<execution::set_value_t>(execution::get_env(before))
        } -> std::same_as<scheduler>;
};

template <class Sender, class Work>
auto bulk_of(Sender&& before, Work work) {
    static_assert(
        completes_on_team<Sender>,
        "tauto::bulk comes after a sender that completes on a tauto::scheduler: schedule(scheduler), or "
        "continues_on with it");
    team& members = execution::get_completion_scheduler<execution::set_value_t>(execution::get_env(before))
                        .context()
                        .members();
    return bulk_sender<std::remove_cvref_t<Sender>, Work>(std::forward<Sender>(before), std::move(work),
                                                          members);
}

// What stands behind a | until it has its sender.
template <class Work>
struct bulk_closure {
    Work work;

    template <class Sender>
    friend auto operator|(Sender&& before, bulk_closure self) {
        return bulk_of(std::forward<Sender>(before), std::move(self.work));
    }
};

template <class Policy>
concept execution_policy = execution::is_execution_policy_v<std::remove_cvref_t<Policy>>;

template <bool Chunked>
struct bulk_maker {
    template <class Sender, execution_policy Policy, std::integral Shape, std::move_constructible Function>
    [[nodiscard]] auto operator()(Sender&& before, const Policy&, Shape n, Function function) const {
        return bulk_of(std::forward<Sender>(before),
                       bulk_work<Chunked, Policy, Shape, Function>{n, std::move(function)});
    }
    template <execution_policy Policy, std::integral Shape, std::move_constructible Function>
    [[nodiscard]] auto operator()(const Policy&, Shape n, Function function) const {
        using work = bulk_work<Chunked, Policy, Shape, Function>;
        return bulk_closure<work>{work{n, std::move(function)}};
    }
};

}  // namespace detail

// bulk(sender, policy, n, f) or sender | bulk(policy, n, f); the same with bulk_chunked.
inline constexpr detail::bulk_maker<false> bulk{};
inline constexpr detail::bulk_maker<true> bulk_chunked{};

}  // namespace tauto
