// The promises at the head of tauto/senders.hpp, with receivers and concepts as C++26 has them and no
// library.

#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tauto/senders.hpp>

#include "counted_allocations.hpp"
#include "reducing.hpp"

namespace tauto {
namespace {

// ---- The concepts of the standard, [exec.recv], [exec.opstate], [exec.snd], [exec.sched] ----

template <class Type>
concept receiver =
    std::derived_from<typename std::remove_cvref_t<Type>::receiver_concept, execution::receiver_tag> &&
    std::is_nothrow_move_constructible_v<std::remove_cvref_t<Type>>;

template <class Type>
concept operation_state =
    std::derived_from<typename Type::operation_state_concept, execution::operation_state_tag> &&
    std::is_object_v<Type> && requires(Type& one) {
    { execution::start(one) }
    noexcept;
};

template <class Type>
concept sender =
    std::derived_from<typename std::remove_cvref_t<Type>::sender_concept, execution::sender_tag> &&
    std::move_constructible<std::remove_cvref_t<Type>> &&
    std::constructible_from<std::remove_cvref_t<Type>, Type> &&
    requires(const std::remove_cvref_t<Type>& one) {
    execution::get_env(one);
};

template <class Type>
concept scheduler_type = std::derived_from<typename Type::scheduler_concept, execution::scheduler_tag> &&
    std::copyable<Type> && std::equality_comparable<Type> && requires(const Type& one) {
    { execution::schedule(one) } -> sender;
    {
        execution::get_completion_scheduler<execution::set_value_t>(
            execution::get_env(execution::schedule(one)))
        } -> std::same_as<Type>;
};

// ---- A receiver, and what it leaves ----

struct outcome {
    enum class kind { none, value, error, stopped };

    void end(kind how) {
        const std::lock_guard lock(mutex);
        ended = how;
        thread = std::this_thread::get_id();
        changed.notify_all();
    }
    kind wait() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return ended != kind::none; });
        return ended;
    }

    std::mutex mutex;
    std::condition_variable changed;
    kind ended = kind::none;
    std::thread::id thread;
    std::vector<int> values;
    std::string error;
};

template <class Token>
struct environment {
    Token token;
    [[nodiscard]] Token query(execution::get_stop_token_t) const noexcept { return token; }
};

template <class Token = execution::never_stop_token>
struct noting {
    using receiver_concept = execution::receiver_tag;

    outcome* to;
    Token token{};

    template <class... Values>
    void set_value(Values&&... values) && noexcept {
        (to->values.push_back(values), ...);
        to->end(outcome::kind::value);
    }
    void set_error(std::exception_ptr error) && noexcept {
        try {
            std::rethrow_exception(error);
        } catch (const std::exception& one) {
            to->error = one.what();
        }
        to->end(outcome::kind::error);
    }
    void set_error(int number) && noexcept {
        to->error = std::to_string(number);
        to->end(outcome::kind::error);
    }
    void set_stopped() && noexcept { to->end(outcome::kind::stopped); }
    [[nodiscard]] environment<Token> get_env() const noexcept { return {token}; }
};

template <class Sender, class Token = execution::never_stop_token>
outcome::kind run(outcome& to, Sender&& work, Token token = {}) {
    auto operation = execution::connect(std::forward<Sender>(work), noting<Token>{&to, token});
    static_assert(operation_state<decltype(operation)>);
    execution::start(operation);
    return to.wait();
}

// A sender that ends at once, on whoever starts it, as it was told, and says that it completes on a
// scheduler.
template <class Tag, class... Values>
struct told {
    using sender_concept = execution::sender_tag;

    struct says {
        scheduler where;
        template <class Completion, class... Env>
        [[nodiscard]] scheduler query(execution::get_completion_scheduler_t<Completion>,
                                      const Env&...) const noexcept {
            return where;
        }
    };
    template <class Receiver>
    struct operation {
        using operation_state_concept = execution::operation_state_tag;
        Receiver to;
        std::tuple<Values...> values;
        void start() & noexcept {
            std::apply([&](Values&... each) { Tag{}(std::move(to), std::move(each)...); }, values);
        }
    };
    template <class Self, class... Env>
    static consteval auto get_completion_signatures() {
        return execution::completion_signatures<Tag(Values...)>{};
    }
    [[nodiscard]] says get_env() const noexcept { return {where}; }
    template <class Receiver>
    [[nodiscard]] operation<Receiver> connect(Receiver to) const {
        return {std::move(to), values};
    }

    scheduler where;
    std::tuple<Values...> values{};
};

// A stop token that is not the standard library's.
struct other_token {
    std::stop_token inner;

    template <class Function>
    struct callback_type : std::stop_callback<Function> {
        callback_type(const other_token& token, const Function& function)
            : std::stop_callback<Function>(token.inner, function) {}
    };
    [[nodiscard]] bool stop_requested() const noexcept { return inner.stop_requested(); }
    [[nodiscard]] bool stop_possible() const noexcept { return inner.stop_possible(); }
};

static_assert(receiver<noting<>> && scheduler_type<scheduler>);
static_assert(sender<decltype(std::declval<scheduler>().schedule())>);
static_assert(sender<decltype(bulk(std::declval<scheduler>().schedule(), execution::par, 3, [](int) {}))>);

}  // namespace

TEST_CASE("operations complete on the context's thread, in the order of their starts" *
          doctest::description("senders.hpp, promise 1")) {
    sender_context context(testing::shared_by(2));
    outcome gate;
    outcome first;
    outcome second;
    run(gate, execution::schedule(context.get_scheduler()));
    CHECK(gate.ended == outcome::kind::value);
    CHECK(gate.thread != std::this_thread::get_id());

    // The thread waits in the first operation until both others are in the queue.
    struct waiting {
        using receiver_concept = execution::receiver_tag;
        std::atomic<bool>* open;
        void set_value() && noexcept { open->wait(false); }
        void set_stopped() && noexcept {}
    };
    std::atomic<bool> open{false};
    std::vector<int> order;
    struct ordered {
        using receiver_concept = execution::receiver_tag;
        std::vector<int>* order;
        int own;
        outcome* to;
        void set_value() && noexcept {
            order->push_back(own);
            to->end(outcome::kind::value);
        }
        void set_stopped() && noexcept { to->end(outcome::kind::stopped); }
    };
    const auto work = execution::schedule(context.get_scheduler());
    auto held = execution::connect(work, waiting{&open});
    auto one = execution::connect(work, ordered{&order, 1, &first});
    auto two = execution::connect(work, ordered{&order, 2, &second});
    const int before = allocations_of_this_thread;
    execution::start(held);
    execution::start(one);
    execution::start(two);
    CHECK(allocations_of_this_thread == before);
    open = true;
    open.notify_all();
    CHECK(first.wait() == outcome::kind::value);
    CHECK(second.wait() == outcome::kind::value);
    CHECK(order == std::vector{1, 2});
    CHECK(first.thread == gate.thread);

    std::stop_source source;
    outcome stopped;
    source.request_stop();
    CHECK(run(stopped, work, source.get_token()) == outcome::kind::stopped);
    CHECK(stopped.thread == gate.thread);
}

TEST_CASE("an operation may be destroyed by its own completion" *
          doctest::description("senders.hpp, promise 1")) {
    struct ending {
        using receiver_concept = execution::receiver_tag;
        outcome* to;
        std::shared_ptr<void>* operation;
        void set_value() && noexcept {
            outcome* const end = to;
            operation->reset();
            end->end(outcome::kind::value);
        }
        void set_stopped() && noexcept {}
    };
    using operation = execution::connect_result_t<decltype(std::declval<scheduler>().schedule()), ending>;
    sender_context context(testing::shared_by(1));
    for (int repeat = 0; repeat < 100; ++repeat) {
        outcome to;
        std::shared_ptr<void> own;
        own = std::make_shared<operation>(context, ending{&to, &own});
        execution::start(*static_cast<operation*>(own.get()));
        CHECK(to.wait() == outcome::kind::value);
        CHECK(own == nullptr);
    }
}

TEST_CASE("a context ends after all that was started, and has the team that it is given" *
          doctest::description("senders.hpp, promise 2")) {
    struct counting {
        using receiver_concept = execution::receiver_tag;
        std::atomic<int>* count;
        void set_value() && noexcept {
            testing::burn(1000);
            ++*count;
        }
        void set_stopped() && noexcept {}
    };
    team some(testing::shared_by(3));
    std::atomic<int> count{0};
    using operation = execution::connect_result_t<decltype(std::declval<scheduler>().schedule()), counting>;
    std::vector<std::unique_ptr<operation>> operations;
    {
        sender_context context(some);
        CHECK(&context.members() == &some);
        for (int i = 0; i < 100; ++i) {
            operations.emplace_back(new operation(context, counting{&count}));
            execution::start(*operations.back());
        }
    }
    CHECK(count == 100);
    CHECK_THROWS_AS(sender_context(team_options{.cpus = {1 << 20}}), error);
    CHECK(sender_context(testing::shared_by(3)).members().size() == 3);
}

TEST_CASE("schedulers: equality, progress, and where their senders complete" *
          doctest::description("senders.hpp, promise 3")) {
    sender_context context(testing::shared_by(1));
    sender_context other(testing::shared_by(1));
    const scheduler one = context.get_scheduler();
    CHECK(one == context.get_scheduler());
    CHECK(one != other.get_scheduler());
    CHECK(execution::get_forward_progress_guarantee(one) == execution::forward_progress_guarantee::parallel);
    const auto where = [](const auto& work) {
        return execution::get_completion_scheduler<execution::set_value_t>(execution::get_env(work));
    };
    CHECK(where(one.schedule()) == one);
    CHECK(where(one.schedule() | bulk(execution::par, 1, [](int) {})) == one);
    CHECK(execution::get_completion_scheduler<execution::set_stopped_t>(execution::get_env(one.schedule())) ==
          one);
}

TEST_CASE("bulk: every index once, the values go on" * doctest::description("senders.hpp, promise 4")) {
    for (const int members : testing::team_sizes) {
        sender_context context(testing::shared_by(members));
        const auto from = [&](int value) {
            return told<execution::set_value_t, int>{context.get_scheduler(), {value}};
        };
        for (const int n : {0, 1, 1000, 20'000}) {
            std::vector<int> calls(static_cast<std::size_t>(n));
            const auto add = [&](int i, const int& value) { calls[static_cast<std::size_t>(i)] += value; };
            outcome to;
            CHECK(run(to, from(7) | bulk(execution::par, n, add)) == outcome::kind::value);
            CHECK(to.values == std::vector{7});
            CHECK(calls == std::vector<int>(static_cast<std::size_t>(n), 7));
            const auto add_all = [&](int begin, int end, const int& value) {
                for (int i = begin; i < end; ++i) calls[static_cast<std::size_t>(i)] += value;
            };
            outcome chunked;
            const auto twice =
                bulk(bulk_chunked(from(1), execution::par_unseq, n, add_all), execution::seq, n, add);
            CHECK(run(chunked, twice) == outcome::kind::value);
            CHECK(calls == std::vector<int>(static_cast<std::size_t>(n), 9));
        }
    }
}

TEST_CASE("bulk: on several members with par, on the one thread with seq" *
          doctest::description("senders.hpp, promise 4")) {
    sender_context context(testing::shared_by(2));
    outcome own;
    const auto work = execution::schedule(context.get_scheduler());
    run(own, work);
    std::mutex mutex;
    std::set<std::thread::id> threads;
    const auto note = [&](unsigned) {
        testing::burn(20'000);
        const std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
    };
    outcome serial;
    CHECK(run(serial, bulk(work, execution::seq, 100U, note)) == outcome::kind::value);
    CHECK(threads == std::set{own.thread});
    for (int repeat = 0; repeat < 1000 && threads.size() < 2; ++repeat) {
        outcome to;
        run(to, bulk(work, execution::par, 100U, note));
        CHECK(to.thread == own.thread);
    }
    CHECK(threads.size() == 2);
}

TEST_CASE("bulk: what f throws, of the lowest index" * doctest::description("senders.hpp, promise 5")) {
    for (const int members : {1, 3}) {
        sender_context context(testing::shared_by(members));
        const auto work = execution::schedule(context.get_scheduler());
        const auto fail = [](int i) {
            if (i == 5 || i == 70) throw std::runtime_error("index " + std::to_string(i));
        };
        for (int repeat = 0; repeat < 20; ++repeat) {
            outcome to;
            CHECK(run(to, work | bulk(execution::par, 100, fail)) == outcome::kind::error);
            CHECK(to.error == "index 5");
            outcome serial;
            CHECK(run(serial, work | bulk(execution::seq, 100, fail)) == outcome::kind::error);
            CHECK(serial.error == "index 5");
        }
        outcome after;
        CHECK(run(after, work | bulk(execution::par, 100, [](int) {})) == outcome::kind::value);
        outcome too_long;
        const auto longest = ~std::uint64_t{0};
        CHECK(run(too_long, work | bulk(execution::par, longest, [](std::uint64_t) {})) ==
              outcome::kind::error);
        CHECK(too_long.error.find("2^56") != std::string::npos);
    }
}

TEST_CASE_TEMPLATE("bulk: a stop of the receiver's token" * doctest::description("senders.hpp, promise 6"),
                   Token, std::stop_token, other_token) {
    sender_context context(testing::shared_by(2));
    const auto work = execution::schedule(context.get_scheduler());
    for (const bool serial : {false, true}) {
        std::stop_source source;
        std::atomic<int> calls{0};
        const auto stop_soon = [&](int) {
            if (++calls == 10) source.request_stop();
            testing::burn(1000);
        };
        outcome to;
        const Token token{source.get_token()};
        const auto how = serial ? run(to, work | bulk(execution::seq, 1'000'000, stop_soon), token)
                                : run(to, work | bulk(execution::par, 1'000'000, stop_soon), token);
        CHECK(how == outcome::kind::stopped);
        CHECK(calls < 1'000'000);
        outcome again;  // the sender before hears it, and f is not called
        const int before = calls;
        CHECK(run(again, work | bulk(execution::par, 10, stop_soon), token) == outcome::kind::stopped);
        const told<execution::set_value_t> deaf{context.get_scheduler()};
        outcome direct;
        CHECK(run(direct, deaf | bulk(execution::par, 10, stop_soon), token) == outcome::kind::stopped);
        CHECK(calls == before);
    }
}

TEST_CASE("bulk: what the sender before ends with goes on" * doctest::description("senders.hpp, promise 7")) {
    sender_context context(testing::shared_by(2));
    int calls = 0;
    const auto count = [&](int) { ++calls; };
    outcome failed;
    const told<execution::set_error_t, int> failing{context.get_scheduler(), {42}};
    CHECK(run(failed, failing | bulk(execution::par, 10, count)) == outcome::kind::error);
    CHECK(failed.error == "42");
    outcome stopped;
    const told<execution::set_stopped_t> stopping{context.get_scheduler()};
    CHECK(run(stopped, stopping | bulk(execution::par, 10, count)) == outcome::kind::stopped);
    CHECK(calls == 0);

    const auto work = failing | bulk(execution::par, 10, count);
    using signatures = execution::completion_signatures_of_t<decltype(work), execution::env<>>;
    CHECK(std::is_same_v<signatures,
                         execution::completion_signatures<execution::set_error_t(int),
                                                          execution::set_error_t(std::exception_ptr),
                                                          execution::set_stopped_t()>>);
}

}  // namespace tauto
