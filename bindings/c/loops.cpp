// Loops, reductions, searches and recursion: what has callbacks.

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <tauto/parallel_find.hpp>
#include <tauto/task_group.hpp>

#include "calls.hpp"

using namespace tauto;
using namespace tauto::c;

tauto_status tauto_parallel_for(tauto_team* given, int64_t first, int64_t last,
                                void (*body)(void* context, int64_t begin, int64_t end), void* context,
                                const tauto_options* options) {
    return guarded([&] {
        team& members = members_of("tauto_parallel_for", given);
        need("tauto_parallel_for", "body", body);
        const auto call = [=](range r) { body(context, first + r.begin, first + r.end); };
        if (!parallel_for(members, detail::strided_count(first, last, 1), call,
                          loop_options_of("tauto_parallel_for", options, address_of(body))))
            throw stopped("the loop was stopped before its end");
    });
}

tauto_status tauto_parallel_for_each(tauto_team* given, int64_t first, int64_t last, int64_t stride,
                                     void (*body)(void* context, int64_t i), void* context,
                                     const tauto_options* options) {
    return guarded([&] {
        team& members = members_of("tauto_parallel_for_each", given);
        need("tauto_parallel_for_each", "body", body);
        const auto call = [=](std::int64_t i) { body(context, i); };
        if (!parallel_for(members, first, last, stride, call,
                          loop_options_of("tauto_parallel_for_each", options, address_of(body))))
            throw stopped("the loop was stopped before its end");
    });
}

namespace {

// A value of any size. A small one stands in the object itself, so that a usual reduction needs no memory.
class value {
  public:
    explicit value(std::size_t bytes) {
        if (bytes > sizeof inside_) outside_.reset(::operator new(bytes, alignment));
    }
    [[nodiscard]] void* get() noexcept { return outside_ ? outside_.get() : inside_; }
    [[nodiscard]] const void* get() const noexcept { return outside_ ? outside_.get() : inside_; }

  private:
    static constexpr std::align_val_t alignment{16};
    struct freed {
        void operator()(void* memory) const noexcept { ::operator delete(memory, alignment); }
    };
    alignas(16) std::byte inside_[64];
    std::unique_ptr<void, freed> outside_;
};

}  // namespace

void tauto::c::reduce(team& members, range r, std::size_t bytes, map_function map, combine_function combine,
                      void* context, void* result, const reduce_options& options) {
    value identity(bytes);
    std::memcpy(identity.get(), result, bytes);
    const auto of_range = [=](range some) {
        value of_some(bytes);
        map(context, r.begin + some.begin, r.begin + some.end, of_some.get());
        return of_some;
    };
    const auto both = [=](value& left, const value& right) { combine(context, left.get(), right.get()); };
    const value all = parallel_reduce(members, r.size(), std::move(identity), of_range, both, options);
    std::memcpy(result, all.get(), bytes);
}

namespace {

// The callbacks of a reduction of doubles, in the shape of those of any value.
struct double_callbacks {
    double (*map)(void* context, std::int64_t begin, std::int64_t end);
    double (*combine)(void* context, double left, double right);
    void* context;

    static void map_range(void* self, std::int64_t begin, std::int64_t end, void* to) {
        const auto* const own = static_cast<double_callbacks*>(self);
        *static_cast<double*>(to) = own->map(own->context, begin, end);
    }
    static void add(void*, void* left, const void* right) {
        *static_cast<double*>(left) += *static_cast<const double*>(right);
    }
    static void combine_two(void* self, void* left, const void* right) {
        const auto* const own = static_cast<double_callbacks*>(self);
        auto* const to = static_cast<double*>(left);
        *to = own->combine(own->context, *to, *static_cast<const double*>(right));
    }
};

range checked_range(std::int64_t first, std::int64_t last) {
    return {first, first + detail::strided_count(first, last, 1)};
}

}  // namespace

tauto_status tauto_reduce(tauto_team* given, int64_t first, int64_t last, size_t bytes, map_function map,
                          combine_function combine, void* context, void* result,
                          const tauto_options* options) {
    return guarded([&] {
        const char* const name = "tauto_reduce";
        team& members = members_of(name, given);
        need(name, "map", map);
        need(name, "combine", combine);
        need(name, "result", result);
        if (bytes == 0) refuse("tauto_reduce of values of 0 bytes; there must be one at least");
        reduce(members, checked_range(first, last), bytes, map, combine, context, result,
               reduce_options_of(name, options, address_of(map)));
    });
}

tauto_status tauto_reduce_double(tauto_team* given, int64_t first, int64_t last, double identity,
                                 double (*map)(void* context, int64_t begin, int64_t end),
                                 double (*combine)(void* context, double left, double right), void* context,
                                 double* result, const tauto_options* options) {
    return guarded([&] {
        const char* const name = "tauto_reduce_double";
        team& members = members_of(name, given);
        need(name, "map", map);
        need(name, "result", result);
        double_callbacks callbacks{map, combine, context};
        double reduced = identity;
        reduce(members, checked_range(first, last), sizeof reduced, double_callbacks::map_range,
               combine != nullptr ? double_callbacks::combine_two : double_callbacks::add, &callbacks,
               &reduced, reduce_options_of(name, options, address_of(map)));
        *result = reduced;
    });
}

tauto_status tauto_find(tauto_team* given, int64_t first, int64_t last,
                        int (*chosen)(void* context, int64_t i), void* context, int64_t* place,
                        const tauto_options* options) {
    return guarded([&] {
        const char* const name = "tauto_find";
        team& members = members_of(name, given);
        need(name, "chosen", chosen);
        need(name, "place", place);
        const auto is_chosen = [=](std::int64_t i) { return chosen(context, first + i) != 0; };
        const std::int64_t n = detail::strided_count(first, last, 1);
        const std::int64_t found =
            detail::find_first<void>(members, n, is_chosen, algorithm_options_of(name, options));
        *place = found < n ? first + found : last;
    });
}

tauto_status tauto_parallel_invoke(tauto_team* given, void (*first)(void* context), void* first_context,
                                   void (*second)(void* context), void* second_context) {
    return guarded([&] {
        team& members = members_of("tauto_parallel_invoke", given);
        need("tauto_parallel_invoke", "first", first);
        need("tauto_parallel_invoke", "second", second);
        parallel_invoke(
            members, [=] { first(first_context); }, [=] { second(second_context); });
    });
}

tauto_status tauto_task_group_run_all(tauto_team* given, void (*body)(void* context, tauto_task_group* group),
                                      void* context) {
    return guarded([&] {
        team& members = members_of("tauto_task_group_run_all", given);
        need("tauto_task_group_run_all", "body", body);
        task_group::run_all(
            members, [=](task_group& group) { body(context, reinterpret_cast<tauto_task_group*>(&group)); });
    });
}

tauto_status tauto_task_group_run(tauto_task_group* group, void (*task)(void* context), void* context) {
    return guarded([&] {
        need("tauto_task_group_run", "group", group);
        need("tauto_task_group_run", "task", task);
        reinterpret_cast<task_group*>(group)->run([=] { task(context); });
    });
}

tauto_status tauto_task_group_wait(tauto_task_group* group) {
    return guarded([&] {
        need("tauto_task_group_wait", "group", group);
        reinterpret_cast<task_group*>(group)->wait();
    });
}
