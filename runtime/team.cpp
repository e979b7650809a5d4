#include <tauto/team.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include <tauto/machine.hpp>
#include <tauto/task_group.hpp>

#include "copies.hpp"
#include "forks.hpp"
#include "machine_files.hpp"
#include "machine_select.hpp"
#include "team_state.hpp"
#include "unwinding.hpp"

namespace tauto {
namespace detail {
namespace {

constexpr std::int64_t most_stack_bytes = std::int64_t{1} << 40;

std::string text_of(std::span<const int> cpus) {
    std::string text;
    for (const int cpu : cpus) text += (text.empty() ? "" : ",") + std::to_string(cpu);
    return text;
}

std::vector<int> default_cpus() {
    if (const char* selection = std::getenv("TAUTO_CPUS"); selection != nullptr && *selection != '\0') {
        return select_cpus(machine_without_pinning(), selection);
    }
    const file_tree files("/");
    limits now = read_limits(files, cpus_without_pinning());
    // Kinds of cores and their hardware threads do not change, so for the same CPUs they are read once: a
    // quarter of a millisecond. Emptied, and not destroyed: teams may be made while statics are torn down.
    struct known {
        limits of;
        std::vector<int> cores;
    };
    alignas(known) static std::byte memory[sizeof(known)];
    static known& last = *new (memory) known;
    struct emptied {
        ~emptied() {
            const std::lock_guard lock(locks_of_process().cores);
            std::destroy_at(&last);  // assignment may leave a string its memory
            std::construct_at(&last);
        }
    };
    static const emptied at_the_end;
    const std::lock_guard lock(locks_of_process().cores);
    const auto key = [](const limits& of) { return std::tie(of.online, of.allowed, of.usable_members); };
    if (last.cores.empty() || key(now) != key(last.of)) {
        last.cores = usable_cores(files, now);
        last.of = std::move(now);
    }
    return last.cores;
}

cpu_choice choice_of_cpus(const team_options& options) {
    if (options.size < 0 || options.size > 4096) {
        throw error("a team of " + std::to_string(options.size) +
                    " members was asked for; use 1 to 4096, or 0 for one each CPU");
    }
    std::vector<int> list = options.cpus.empty() ? default_cpus() : options.cpus;
    const std::vector<int> allowed = cpus_without_pinning();
    for (const int cpu : list) {
        if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) {
            throw error("CPU " + std::to_string(cpu) + " was asked for, but this process may run on CPUs " +
                        text_of(allowed) + " only; name some of these, or widen the mask (taskset, cpuset)");
        }
    }
    const int size = options.size == 0 ? int_size(list) : options.size;
    return {std::move(list), size, !options.cpus.empty()};
}

wait_policy default_wait() {
    const char* text = std::getenv("TAUTO_WAIT");
    return text == nullptr || *text == '\0' ? wait_policy::balanced : wait_policy_from(text);
}

// A number of bytes, perhaps with K, M or G.
std::size_t stack_from(std::string_view text) {
    std::string_view digits = text;
    int shift = 0;
    if (const std::size_t unit = std::string_view("KMG").find(text.back()); unit != std::string_view::npos) {
        digits.remove_suffix(1);
        shift = 10 * (static_cast<int>(unit) + 1);
    }
    const auto number = to_integer(digits);
    if (!number || *number < 0 || *number > most_stack_bytes >> shift) {
        throw error("TAUTO_STACK is '" + std::string(text) +
                    "'; use the bytes of a worker's stack, such as 64M, at most 1024G");
    }
    return static_cast<std::size_t>(*number) << shift;
}

// Whole pages; 0: the system's default.
std::size_t stack_of(const team_options& options) {
    std::size_t bytes = options.stack_bytes;
    if (const char* text = std::getenv("TAUTO_STACK"); bytes == 0 && text != nullptr && *text != '\0')
        bytes = stack_from(text);
    if (bytes == 0) return 0;
    const auto least = static_cast<std::size_t>(sysconf(_SC_THREAD_STACK_MIN));
    if (bytes < least || bytes > static_cast<std::size_t>(most_stack_bytes)) {
        throw error("stacks of " + std::to_string(bytes) + " bytes were asked for; use " +
                    std::to_string(least) + " to " + std::to_string(most_stack_bytes) +
                    ", or 0 for the system's default");
    }
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

std::unique_ptr<team_state> make_state(const team_options& options) {
    cpu_choice cpus = choice_of_cpus(options);
    const wait_policy wait = options.wait ? *options.wait : default_wait();
    worker_options workers{stack_of(options), options.name, options.on_start};
    return std::make_unique<team_state>(std::move(cpus), wait, options.pin, std::move(workers));
}

}  // namespace

team_state::team_state(cpu_choice from, wait_policy how, bool pin, worker_options workers)
    : wait(how),
      cpus(std::move(from)),
      pins(cpus.by_rank(), pin, !cpus.others_begin_there()),
      members(this, pins, cpus.its_callers(), wait, std::move(workers)),
      known(members),
      loops(members),
      bodies(members, wait) {
    of_threads.emplace(cpus.its_callers());
}

team_state::~team_state() {
    const uncancelled until_the_end;
    if (members.has_workers()) {
        const team_turn last = take_last_turn();
        // Of a loop that ends the team from within, or that a static one's end would wait for, see ~team.
        while (alone.load(std::memory_order_acquire) > 0)
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        of_threads->await_queue();
        members.stop_workers();
    }
    pins.restore_caller();
}

void team_state::start() {
    if (members.has_workers()) return;
    if (launcher::in_start_hook()) {
        throw error(
            "a start hook (team_options::on_start) asked for the members of another team, which cannot start "
            "before the hook ends; ask once the team has started");
    }
    const std::lock_guard one_at_a_time(locks_of_process().start);
    if (members.has_workers()) return;
    // In a child only the thread that called fork lives on; the turn may have been held by one that does not.
    cpus.its_callers().forget_parents();
    of_threads.emplace(cpus.its_callers());
    alone.store(0, std::memory_order_relaxed);
    pausing.store(0, std::memory_order_relaxed);
    bodies.reset();
    pins.pin_maker();
    members.start_workers();
}

team_turn team_state::take_last_turn() {
    for (;;) {
        of_threads->take(true);
        if (pausing.load(std::memory_order_acquire) == 0) return team_turn(&*of_threads);
        of_threads->give_back();
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

team_turn team_state::take_turn_unless_asleep(priority of) {
    start_for_caller();
    return team_turn(of_threads->take_unless_asleep(members, of == priority::low) ? &*of_threads : nullptr);
}

bool team_state::sleeps() noexcept {
    if (!members.has_workers()) return false;
    if (alone.load(std::memory_order_relaxed) > 0) return true;
    const uncancelled until_known;
    return !team_turn(of_threads->take_unless_asleep(members, false) ? &*of_threads : nullptr);
}

bool team_state::runs_on_this_thread() const noexcept {
    return of_threads->is_mine() || alone_here == this || members.is_worker(pthread_self());
}

}  // namespace detail

team::team(team_options options)
    : records_(std::make_unique<std::atomic<detail::site_record*>[]>(max_sites)),
      state_(detail::make_state(options)) {}

team::~team() {
    // exit() in a body destroys a static team while that body runs: it has no end to wait for. Likewise where
    // a thread that the body waits for calls exit(). The members live on until the process ends, which is
    // next.
    if (state_->runs_on_this_thread() || (detail::is_static(this) && state_->sleeps()))
        (void)state_.release();
}

int team::size() const noexcept {
    return state_->members.size();
}
const std::vector<int>& team::cpus() const noexcept {
    return state_->pins.cpus();
}
wait_policy team::wait() const noexcept {
    return state_->wait;
}
bool team::oversubscribed() const noexcept {
    return state_->members.crowded();
}
bool team::pinned() const {
    if (detail::running_as.team != identity()) state_->start();
    return state_->pins.pinned();
}
std::vector<std::string> team::notes() const {
    if (detail::running_as.team != identity()) state_->start();
    return state_->pins.notes();
}

int team::number_of(tauto::site& where) {
    static std::atomic<unsigned> given{0};
    int id = where.id_.load(std::memory_order_relaxed);
    if (id >= 0) return id;
    const int fresh = detail::next_site_number(given);
    // Another team may name the site at the same moment: the first one counts.
    return where.id_.compare_exchange_strong(id, fresh, std::memory_order_relaxed) ? fresh : id;
}

detail::loop_model& team::model_for(const detail::loop_call& call) {
    return state_->known.model_of(detail::at(records_, number_of(*call.site)), call.n, call.options->members);
}

std::string team::explain(const tauto::site& where) const {
    const int id = where.id_.load(std::memory_order_relaxed);
    const auto* record = id < 0 ? nullptr : detail::at(records_, id).load(std::memory_order_acquire);
    if (record == nullptr) return "no adaptive loop has run here";
    if (where.nests_.load(std::memory_order_relaxed))
        return "all members share it, and the loops in its bodies, which are long enough for that";
    // Inside a body the turn is taken; then this loop's own model may be in use.
    if (detail::running_as.team != nullptr) return "a loop is running";
    const auto turn = state_->take_turn_unless_asleep();
    if (!turn) return "a loop is running";
    std::string text;
    for (; record != nullptr; record = record->next.load(std::memory_order_acquire)) {
        const std::string limit =
            record->members == 0 ? "" : "at most " + std::to_string(record->members) + " members, ";
        for (int bits = 1; bits < 64; ++bits) {
            const auto* model = detail::at(record->models, bits).load(std::memory_order_acquire);
            if (model == nullptr) continue;
            const std::string least = std::to_string(std::uint64_t{1} << (bits - 1));
            const std::string most = std::to_string((std::uint64_t{1} << bits) - 1);
            text += (text.empty() ? "" : "\n") + limit + ("n = " + least) + (bits == 1 ? "" : " to " + most) +
                    ": " + model->explanation();
        }
    }
    return text;
}

bool team::execute(const detail::loop_call& call) {
    const int most = call.options->members;
    if (most < 0) {
        throw error("a loop of at most " + std::to_string(most) +
                    " members was asked for; use 0 for all of the team, or a limit from 1");
    }
    if (detail::running_as.team != nullptr) return run_in_body(call);
    if (call.options->priority == priority::low && most != 1 && may_pause(call)) return run_with_pauses(call);
    return run_loop(call);
}

// The first call of a class of sizes finds out: it may be the only one, and the loops in its bodies all there
// is to do. A single iteration runs on its thread alone, and has all members for what is in it. Members that
// share CPUs would be in each other's way.
bool team::shall_nest(const detail::loop_call& call) {
    if (size() == 1 || call.options->members != 0) return false;
    if (call.site->nests_.load(std::memory_order_relaxed)) return true;
    if (call.n == 1 || oversubscribed() || known_model(*call.site, call.n, 0) != nullptr) return false;
    static_cast<void>(model_for(call));
    return true;
}

bool team::run_loop(const detail::loop_call& call) {
    const int most = call.options->members;
    if (may_run_beside(call)) return run_beside(call);
    auto turn =
        most == 1 ? detail::team_turn(nullptr) : state_->take_turn_unless_asleep(call.options->priority);
    return turn ? run_in_turn(call, turn) : run_without_turn(call);
}

bool team::run_without_turn(const detail::loop_call& call) {
    const detail::inside_body inside(identity(), 0);
    return detail::run_inline(call, 0);
}

bool team::run_in_turn(const detail::loop_call& call, detail::team_turn& turn) {
    if (call.options->stop.stop_possible() && call.options->stop.stop_requested()) return false;
    if (std::holds_alternative<adaptive>(call.options->schedule)) {
        if (shall_nest(call)) return run_nesting(call, turn);
        detail::loop_model& model = model_for(call);
        if (detail::runs_alone(call, model)) return run_alone(call, model, turn);
        std::atomic<bool>& nests = state_->members.loop.nests;
        nests.store(false, std::memory_order_relaxed);
        const bool all = state_->loops.run_adaptive(call, model);
        if (nests.load(std::memory_order_relaxed)) call.site->nests_.store(true, std::memory_order_relaxed);
        return all;
    }
    if (std::holds_alternative<weighted>(call.options->schedule)) {
        return state_->loops.run_weighted(call, model_for(call));
    }
    return state_->loops.run_schedule(call);
}

namespace {

// Counts the calling thread while it lives, which touches the team until this ends.
struct counted {
    std::atomic<int>& all;
    explicit counted(std::atomic<int>& of) noexcept : all(of) { all.fetch_add(1, std::memory_order_relaxed); }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { all.fetch_sub(1, std::memory_order_release); }
};
struct counted_alone : counted {
    counted beside;
    explicit counted_alone(detail::team_state& state) noexcept
        : counted(state.alone), beside(state.cpus.its_callers().beside) {
        detail::team_state::alone_here = &state;
    }
    ~counted_alone() { detail::team_state::alone_here = nullptr; }
};

// Iterations of a loop from the first one on.
struct piece {
    const detail::loop_call& whole;
    index first;
    [[nodiscard]] detail::loop_call of(index count, const loop_options& options) const noexcept {
        return {&invoke, this, count, whole.site, &options};
    }
    static void invoke(const void* self, range r, int rank) {
        const auto& own = *static_cast<const piece*>(self);
        own.whole.invoke(own.whole.body, {own.first + r.begin, own.first + r.end}, rank);
    }
};

// How many iterations the next piece should have that takes so long, in ticks.
index next_count(index count, std::int64_t took, double wanted) noexcept {
    return static_cast<index>(detail::as_double(count) *
                              std::min(4.0, wanted / std::max(1.0, detail::as_double(took))));
}

// So many iterations that all members are busy to nearly the end.
index least_piece(int members) noexcept {
    return 8 * index{members};
}

void add_to(loop_report& all, const loop_report& one) {
    all.width = std::max(all.width, one.width);
    all.steals += one.steals;
    all.iterations.resize(std::max(all.iterations.size(), one.iterations.size()));
    for (std::size_t rank = 0; rank < one.iterations.size(); ++rank)
        all.iterations[rank] += one.iterations[rank];
}

}  // namespace

// Where no member was promised certain iterations, and there are several pieces.
bool team::may_pause(const detail::loop_call& call) const noexcept {
    const tauto::schedule& chosen = call.options->schedule;
    return call.n > least_piece(size()) &&
           (std::holds_alternative<adaptive>(chosen) || std::holds_alternative<dynamic>(chosen) ||
            std::holds_alternative<guided>(chosen));
}

// One loop after the other, each of about a millisecond and with a turn of its own.
bool team::run_with_pauses(const detail::loop_call& call) {
    state_->start();                      // which sets the count to 0
    const counted here(state_->pausing);  // before the first turn, which makes it known
    const auto wanted = detail::as_double(detail::to_ticks(std::chrono::milliseconds(1)));
    loop_report all;
    loop_report one;
    loop_options options = *call.options;
    options.report = call.options->report != nullptr ? &one : nullptr;
    const index least = least_piece(size());
    index next = std::max(least, call.n / 1024);
    for (index first = 0; first < call.n;) {
        const index count = std::min(next, call.n - first);
        const piece part{call, first};
        const std::int64_t start = detail::ticks();
        if (!run_loop(part.of(count, options))) return false;
        add_to(all, one);
        first += count;
        next = std::max(least, next_count(count, detail::ticks() - start, wanted));
    }
    if (call.options->report != nullptr) *call.options->report = std::move(all);
    return true;
}

// Where no member was promised iterations, and nobody asks who ran them.
bool team::may_run_beside(const detail::loop_call& call) const noexcept {
    return call.n > 1 && call.options->members == 0 && call.options->report == nullptr &&
           call.options->priority == priority::normal &&
           std::holds_alternative<adaptive>(call.options->schedule);
}

// Where the threads that call have all CPUs of the team between them, each runs its loop from the front, in
// pieces of some 100 us, and forks what is left as soon as the others leave it a CPU: so none sleeps, and
// none waits for a loop that waits for it. Where they are fewer they take turns: Linux would put who runs
// pieces beside a member, for which all others would wait.
bool team::run_beside(const detail::loop_call& call) {
    state_->start_for_caller();
    detail::turns& of_threads = *state_->of_threads;
    detail::callers& callers = state_->cpus.its_callers();
    const auto may_fork = [&] { return callers.leave_a_cpu() && of_threads.take_at_once(); };
    if (may_fork()) {
        detail::team_turn turn(&of_threads);
        return run_in_turn(call, turn);
    }
    if (!callers.have_all()) {
        std::optional<counted> waits(std::in_place, callers.waiting);
        auto turn = state_->take_turn_unless_asleep();
        waits.reset();
        return turn ? run_in_turn(call, turn) : run_without_turn(call);
    }
    const counted here(state_->pausing);
    const auto wanted = detail::as_double(detail::to_ticks(std::chrono::microseconds(100)));
    index next = 1;
    for (index first = 0; first < call.n;) {
        const piece rest{call, first};
        if (first > 0 && may_fork()) {
            detail::team_turn turn(&of_threads);
            return run_in_turn(rest.of(call.n - first, *call.options), turn);
        }
        const index count = std::min(next, call.n - first);
        const counted_alone alone(*state_);
        std::int64_t took = 0;
        if (!run_here(rest.of(count, *call.options), false, took)) return false;
        first += count;
        next = std::max<index>(1, next_count(count, took, wanted));
    }
    callers.left.store(detail::ticks(), std::memory_order_relaxed);
    return true;
}

// On the calling thread, without a turn. What its bodies had is noted.
bool team::run_here(const detail::loop_call& call, bool has_all, std::int64_t& took) {
    detail::team_state::alone_nests = false;
    const std::int64_t start = detail::ticks();
    {
        const detail::inside_body inside(identity(), 0, has_all);
        if (!detail::run_inline(call, 0)) return false;
    }
    took = detail::ticks() - start;
    detail::calls_in_bodies::time_after(took);
    if (detail::team_state::alone_nests) call.site->nests_.store(true, std::memory_order_relaxed);
    return true;
}

// The loop needs no member, so others may have them meanwhile. What it took teaches the model where nobody
// has the turn then: only who has it touches the model.
bool team::run_alone(const detail::loop_call& call, detail::loop_model& model, detail::team_turn& turn) {
    const counted_alone here(*state_);  // before the turn goes back, which releases it
    turn.give_back();
    std::int64_t elapsed = 0;
    if (!run_here(call, call.n == 1, elapsed)) return false;
    if (!state_->of_threads->take_at_once()) return true;
    const detail::team_turn again(&*state_->of_threads);
    detail::record_alone(call, model, elapsed);
    return true;
}

bool team::shares_in_body(const tauto::site& where, index n, int most) const noexcept {
    return size() > 1 && most == 0 && detail::running_as.team != nullptr &&
           (detail::running_as.has_all || detail::in_region(*this)) && !where.in_bodies_.are_short(n);
}

// Outside of a region the loop around runs on members that share nothing but its own iterations: it is told
// that it should be a region.
void team::note_in_body(tauto::site& where, index n, std::int64_t ticks) noexcept {
    where.in_bodies_.note(n, ticks);
    detail::team_state* const around = detail::running_as.team;
    if (size() == 1 || around == nullptr || around->members.size() > size()) return;
    if (where.in_bodies_.are_short(n) || detail::in_region(*this)) return;
    if (detail::team_state::alone_here == around) {
        detail::team_state::alone_nests = true;
    } else {
        around->members.loop.nests.store(true, std::memory_order_relaxed);
    }
}

// Members with nothing to do join it where the outermost call is a region (task_group.hpp).
bool team::run_in_body(const detail::loop_call& call) {
    const int rank = detail::running_as.team == identity() ? detail::running_as.rank : 0;
    const int most = call.options->members;
    if (!std::holds_alternative<adaptive>(call.options->schedule) || most != 0 || call.n == 1 ||
        is_plain_in_body(*call.site, call.n))
        return detail::run_inline(call, rank);
    if (shares_in_body(*call.site, call.n, most))
        return detail::running_as.has_all ? run_as_outermost(call) : run_in_region(call);
    const detail::stays_in_body here(*this, *call.site, call.n, true);
    return detail::run_inline(call, rank);
}

// In a loop of one iteration, which its thread runs alone. The loop around hears what it took, as of one that
// stays here.
bool team::run_as_outermost(const detail::loop_call& call) {
    const detail::stays_in_body timed(*this, *call.site, call.n, true);
    const struct outside_body {
        detail::not_beside uncounted;
        detail::current_member body = std::exchange(detail::running_as, {});
        detail::team_state* alone = std::exchange(detail::team_state::alone_here, nullptr);
        outside_body() = default;
        outside_body(const outside_body&) = delete;
        outside_body& operator=(const outside_body&) = delete;
        ~outside_body() {
            detail::running_as = body;
            detail::team_state::alone_here = alone;
        }
    } outside;
    return run_loop(call);
}

// By the members of the region around, which may be fewer.
bool team::run_in_region(const detail::loop_call& call) {
    const bool all = detail::running_tasks.region->loops().run(call, detail::running_tasks.rank);
    if (call.options->report != nullptr) call.options->report->iterations.resize(detail::usize(size()));
    return all;
}

// What the model of these loops knows; nothing, where they have none.
std::vector<double> team::speeds_by_rank(const detail::loop_call& call) const {
    const int id = call.site->id_.load(std::memory_order_relaxed);
    const auto* record = id < 0 ? nullptr : detail::record_of(detail::at(records_, id), 0);
    if (record == nullptr || state_->members.oversubscribed()) return {};
    const auto* model = detail::at(record->models, std::bit_width(static_cast<std::uint64_t>(call.n)))
                            .load(std::memory_order_acquire);
    if (model == nullptr) return {};
    const auto speeds = model->share_speeds();
    return {speeds.begin(), speeds.end()};
}

// The loops in its bodies are long. All members share it and them.
bool team::run_nesting(const detail::loop_call& call, detail::team_turn& turn) {
    std::vector<double> speeds = speeds_by_rank(call);
    turn.give_back();  // the region takes it again
    bool all = false;
    bool shared_any = false;
    const auto root = [&] {
        detail::task_region& region = *detail::running_tasks.region;
        all = region.loops().run_dealt(call);
        shared_any = region.shared_any();
    };
    detail::run_region(*this,
                       {.site = nullptr,  // it is known to be long
                        .speeds = std::move(speeds),
                        .name = call.options->name,
                        .priority = call.options->priority},
                       root);
    if (call.site->nests_.load(std::memory_order_relaxed) != shared_any)
        call.site->nests_.store(shared_any, std::memory_order_relaxed);
    return all;
}

void team::run_members(const detail::run_call& call, const run_options& options) {
    const std::stop_token* stop = options.stop.stop_possible() ? &options.stop : nullptr;
    if (stop != nullptr && stop->stop_requested()) throw stopped("the run was stopped before its start");
    if (detail::running_as.team != nullptr) return detail::run_alone(call, stop);
    const auto turn = state_->take_turn_unless_asleep(options.priority);
    if (!turn || size() == 1) {
        const detail::inside_body inside(identity(), 0);
        return detail::run_alone(call, stop);
    }
    state_->bodies.run(call, options.name, stop);
}

barrier_shape team::barrier_shape() const {
    if (size() == 1 || detail::running_as.team != nullptr) {
        // Inside a body the turn is taken, and the shape was chosen before.
        return state_->bodies.shape();
    }
    if (const auto turn = state_->take_turn_unless_asleep()) state_->bodies.prepare();
    return state_->bodies.shape();
}

}  // namespace tauto
