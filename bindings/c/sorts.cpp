// Sorts of numbers, and of elements whose size and order the caller knows.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <tauto/parallel_sort.hpp>

#include "calls.hpp"

using namespace tauto;
using namespace tauto::c;

namespace {

template <class T>
tauto_status sort_numbers(const char* name, tauto_team* given, T* values, std::int64_t n,
                          const tauto_options* options) {
    return guarded([&] {
        team& members = members_of(name, given);
        check_array(name, "values", values, n);
        parallel_sort(members, values, values + n, std::less<>{}, algorithm_options_of(name, options));
    });
}

using compare_function = int (*)(const void* left, const void* right, void* context);

// Small elements are moved themselves.
template <std::size_t Bytes>
struct alignas(std::min<std::size_t>(Bytes, 16)) small_element {
    std::byte bytes[Bytes];
};

template <std::size_t Bytes>
void sort_themselves(team& members, void* elements, std::int64_t n, compare_function compare, void* context,
                     const algorithm_options& options) {
    auto* const first = static_cast<small_element<Bytes>*>(elements);
    const auto before = [=](const small_element<Bytes>& left, const small_element<Bytes>& right) {
        return compare(&left, &right, context) < 0;
    };
    parallel_stable_sort(members, first, first + n, before, options);
}

// Their addresses are sorted, then they are put in that order.
void sort_by_address(team& members, void* elements, std::int64_t n, std::size_t bytes,
                     compare_function compare, void* context, const algorithm_options& options) {
    auto* const first = static_cast<std::byte*>(elements);
    const auto size = static_cast<std::int64_t>(bytes);
    std::vector<const std::byte*> order(detail::usize(n));
    for (std::int64_t i = 0; i < n; ++i) detail::at(order, i) = first + i * size;
    const auto before = [=](const std::byte* left, const std::byte* right) {
        return compare(left, right, context) < 0;
    };
    parallel_stable_sort(members, order, before, options);
    const detail::raw_buffer<std::byte> sorted(n * size);
    const loop_options moving{.schedule = options.schedule, .name = options.name};
    const auto gather = [&](range r) {
        for (std::int64_t i = r.begin; i < r.end; ++i)
            std::memcpy(sorted.data() + i * size, detail::at(order, i), bytes);
    };
    detail::loop_to_end(members, n, gather, moving);
    const auto put_back = [&](range r) {
        std::memcpy(first + r.begin * size, sorted.data() + r.begin * size, detail::usize(r.size()) * bytes);
    };
    detail::loop_to_end(members, n, put_back, moving);
}

template <std::size_t Bytes>
bool may_be_moved(const void* elements, std::size_t bytes) {
    return bytes == Bytes && reinterpret_cast<std::uintptr_t>(elements) % alignof(small_element<Bytes>) == 0;
}

}  // namespace

tauto_status tauto_sort_double(tauto_team* given, double* values, int64_t n, const tauto_options* options) {
    return sort_numbers("tauto_sort_double", given, values, n, options);
}

tauto_status tauto_sort_float(tauto_team* given, float* values, int64_t n, const tauto_options* options) {
    return sort_numbers("tauto_sort_float", given, values, n, options);
}

tauto_status tauto_sort_int32(tauto_team* given, int32_t* values, int64_t n, const tauto_options* options) {
    return sort_numbers("tauto_sort_int32", given, values, n, options);
}

tauto_status tauto_sort_uint32(tauto_team* given, uint32_t* values, int64_t n, const tauto_options* options) {
    return sort_numbers("tauto_sort_uint32", given, values, n, options);
}

tauto_status tauto_sort_int64(tauto_team* given, int64_t* values, int64_t n, const tauto_options* options) {
    return sort_numbers("tauto_sort_int64", given, values, n, options);
}

tauto_status tauto_sort_uint64(tauto_team* given, uint64_t* values, int64_t n, const tauto_options* options) {
    return sort_numbers("tauto_sort_uint64", given, values, n, options);
}

tauto_status tauto_stable_sort(tauto_team* given, void* elements, int64_t n, size_t bytes,
                               compare_function compare, void* context, const tauto_options* options) {
    return guarded([&] {
        const char* const name = "tauto_stable_sort";
        team& members = members_of(name, given);
        check_array(name, "elements", elements, n);
        need(name, "compare", compare);
        if (bytes == 0) refuse("tauto_stable_sort of elements of 0 bytes; they must have one at least");
        if (n > 0 && bytes > static_cast<std::size_t>(PTRDIFF_MAX) / detail::usize(n)) {
            refuse("tauto_stable_sort of " + std::to_string(n) + " elements of " + std::to_string(bytes) +
                   " bytes, which is more than an address space");
        }
        const algorithm_options sorting = algorithm_options_of(name, options);
        if (may_be_moved<8>(elements, bytes)) {
            sort_themselves<8>(members, elements, n, compare, context, sorting);
        } else if (may_be_moved<16>(elements, bytes)) {
            sort_themselves<16>(members, elements, n, compare, context, sorting);
        } else if (n > 1) {
            sort_by_address(members, elements, n, bytes, compare, context, sorting);
        }
    });
}
