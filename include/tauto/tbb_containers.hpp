#pragma once
// oneTBB's own containers beside tauto/tbb.hpp: include this in place of oneTBB's headers, and link with
// oneTBB
// (-ltbb) as before. The containers are oneTBB's, from its headers and its library; loops and tasks are ours.
//
// Both have a namespace `tbb`. So oneTBB's headers are read here under another name, and what they call in
// their library is called by its own name. Tried with oneTBB 2021.8, GCC and clang, on 64-bit Linux.

#include <cstddef>
#include <cstdint>

#include <tauto/tbb.hpp>

#if !__has_include(<oneapi/tbb/concurrent_hash_map.h>)
#error \
    "oneTBB's headers were not found, and tauto/tbb_containers.hpp reads its containers there (Debian: libtbb-dev)"
#elif defined(__TBB_concurrent_hash_map_H) || defined(__TBB_concurrent_vector_H) || \
    defined(__TBB_concurrent_queue_H)
#error "oneTBB's headers were included before tauto/tbb_containers.hpp; leave them out, it has them"
#endif

#define tbb tauto_onetbb
#include <oneapi/tbb/cache_aligned_allocator.h>
#include <oneapi/tbb/concurrent_hash_map.h>
#include <oneapi/tbb/concurrent_map.h>
#include <oneapi/tbb/concurrent_priority_queue.h>
#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/concurrent_set.h>
#include <oneapi/tbb/concurrent_unordered_map.h>
#include <oneapi/tbb/concurrent_unordered_set.h>
#include <oneapi/tbb/concurrent_vector.h>
#include <oneapi/tbb/tbb_allocator.h>
#undef tbb

// What they call in the library, by the names that it has there.
#define TAUTO_OF_ONETBB(result, name, arguments, symbol) extern result name arguments __asm__(symbol)
namespace tauto::detail::onetbb {

TAUTO_OF_ONETBB(void*, allocate, (std::size_t), "_ZN3tbb6detail2r115allocate_memoryEm");
TAUTO_OF_ONETBB(void, deallocate, (void*), "_ZN3tbb6detail2r117deallocate_memoryEPv");
TAUTO_OF_ONETBB(void*, allocate_aligned, (std::size_t), "_ZN3tbb6detail2r122cache_aligned_allocateEm");
TAUTO_OF_ONETBB(void, deallocate_aligned, (void*), "_ZN3tbb6detail2r124cache_aligned_deallocateEPv");
TAUTO_OF_ONETBB(std::size_t, line_size, (), "_ZN3tbb6detail2r115cache_line_sizeEv");
TAUTO_OF_ONETBB(bool, uses_its_malloc, (), "_ZN3tbb6detail2r117is_tbbmalloc_usedEv");
TAUTO_OF_ONETBB(void, raise, (int), "_ZN3tbb6detail2r115throw_exceptionENS0_2d012exception_idE");
TAUTO_OF_ONETBB(std::uint8_t*, allocate_queue, (std::size_t),
                "_ZN3tbb6detail2r126allocate_bounded_queue_repEm");
TAUTO_OF_ONETBB(void, deallocate_queue, (std::uint8_t*, std::size_t),
                "_ZN3tbb6detail2r128deallocate_bounded_queue_repEPhm");
TAUTO_OF_ONETBB(void, abort_queue, (void*),
                "_ZN3tbb6detail2r128abort_bounded_queue_monitorsEPNS1_18concurrent_monitorE");
TAUTO_OF_ONETBB(void, notify_queue, (void*, std::size_t, std::size_t),
                "_ZN3tbb6detail2r128notify_bounded_queue_monitorEPNS1_18concurrent_monitorEmm");
TAUTO_OF_ONETBB(
    void, wait_queue, (void*, std::size_t, std::ptrdiff_t, void*),
    "_ZN3tbb6detail2r126wait_bounded_queue_monitorEPNS1_18concurrent_monitorEmlRNS0_2d113delegate_baseE");

}  // namespace tauto::detail::onetbb
#undef TAUTO_OF_ONETBB

// Weak, so that each translation unit may have them.
namespace tauto_onetbb::detail::r1 {

namespace library = ::tauto::detail::onetbb;
__attribute__((weak)) void* allocate_memory(std::size_t size) {
    return library::allocate(size);
}
__attribute__((weak)) void deallocate_memory(void* memory) {
    library::deallocate(memory);
}
__attribute__((weak)) void* cache_aligned_allocate(std::size_t size) {
    return library::allocate_aligned(size);
}
__attribute__((weak)) void cache_aligned_deallocate(void* memory) {
    library::deallocate_aligned(memory);
}
__attribute__((weak)) std::size_t cache_line_size() {
    return library::line_size();
}
__attribute__((weak)) bool is_tbbmalloc_used() {
    return library::uses_its_malloc();
}
__attribute__((weak)) void throw_exception(d0::exception_id which) {
    library::raise(static_cast<int>(which));
}
__attribute__((weak)) std::uint8_t* allocate_bounded_queue_rep(std::size_t size) {
    return library::allocate_queue(size);
}
__attribute__((weak)) void deallocate_bounded_queue_rep(std::uint8_t* memory, std::size_t size) {
    library::deallocate_queue(memory, size);
}
__attribute__((weak)) void abort_bounded_queue_monitors(concurrent_monitor* of) {
    library::abort_queue(of);
}
__attribute__((weak)) void notify_bounded_queue_monitor(concurrent_monitor* of, std::size_t tag,
                                                        std::size_t ticket) {
    library::notify_queue(of, tag, ticket);
}
__attribute__((weak)) void wait_bounded_queue_monitor(concurrent_monitor* of, std::size_t tag,
                                                      std::ptrdiff_t target, d1::delegate_base& goes_on) {
    library::wait_queue(of, tag, target, &goes_on);
}

}  // namespace tauto_onetbb::detail::r1

namespace tbb {

using tauto_onetbb::cache_aligned_allocator;
using tauto_onetbb::concurrent_bounded_queue;
using tauto_onetbb::concurrent_hash_map;
using tauto_onetbb::concurrent_map;
using tauto_onetbb::concurrent_multimap;
using tauto_onetbb::concurrent_multiset;
using tauto_onetbb::concurrent_priority_queue;
using tauto_onetbb::concurrent_queue;
using tauto_onetbb::concurrent_set;
using tauto_onetbb::concurrent_unordered_map;
using tauto_onetbb::concurrent_unordered_multimap;
using tauto_onetbb::concurrent_unordered_multiset;
using tauto_onetbb::concurrent_unordered_set;
using tauto_onetbb::concurrent_vector;
using tauto_onetbb::tbb_allocator;
using tauto_onetbb::tbb_hash_compare;

// The ranges of these containers are split by our loops.
template <>
inline constexpr bool is_split_of_others<tauto_onetbb::split> = true;

}  // namespace tbb
