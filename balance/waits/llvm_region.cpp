// Parallel regions of LLVM's OpenMP runtime, which clang, flang and Intel's compilers call.

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "balance/waits/marks.hpp"
#include "balance/waits/openmp_region.hpp"
#include "balance/waits/originals.hpp"
#include "balance/waits/shares.hpp"
#include "balance/waits/static_loop.hpp"

#if defined(__x86_64__) || defined(__aarch64__)

namespace {

using namespace tauto::balance;

// Variables that a region's code shares with what is around it. A region with more of them is forked without
// this library, because nobody can pass on arguments whose number is not known to the compiler.
constexpr std::size_t most_variables = 64;
constexpr std::size_t few_variables = 8;

struct llvm_region : forked_region {
    shared_run run;
    void* code;
    std::size_t variables;
    void* variable[most_variables];
};

template <std::size_t>
using one_word = void*;

// A function takes no harm from more arguments than it reads.
template <std::size_t... Index>
void call(const llvm_region& region, std::int32_t* thread, std::int32_t* member,
          std::index_sequence<Index...>) {
    reinterpret_cast<void (*)(std::int32_t*, std::int32_t*, one_word<Index>...)>(region.code)(
        thread, member, region.variable[Index]...);
}

// What a thread knows of the region around this one comes back when it has ended its part.
class part_shares {
  public:
    part_shares(const shared_run& run, std::int32_t member) noexcept
        : run_(run), around_(this_thread.part), member_(member) {
        this_thread.part = {.shares = run.shares, .member = member, .spins = run.spins};
        if (run.team == nullptr) return;
        note_begin(run, member);
        this_thread.part.level = region_level();
    }
    ~part_shares() {
        note_end(run_, member_, this_thread.part);
        this_thread.part = around_;
    }
    part_shares(const part_shares&) = delete;
    part_shares& operator=(const part_shares&) = delete;

  private:
    const shared_run& run_;
    shared_part around_;
    std::int32_t member_;
};

void call_part(const llvm_region& region, std::int32_t* thread, std::int32_t* member) {
    const part_shares shares(region.run, *member);
    if (region.variables <= few_variables)
        call(region, thread, member, std::make_index_sequence<few_variables>{});
    else
        call(region, thread, member, std::make_index_sequence<most_variables>{});
}

void run_llvm_part(std::int32_t* thread, std::int32_t* member, llvm_region* region) {
    begin_part(*region);
    call_part(*region, thread, member);
    end_part(*region);
}

}  // namespace

TAUTO_IN_FRONT void __kmpc_fork_call(void* where, std::int32_t count, void* code, ...);
TAUTO_RUNTIME(__kmpc_fork_call);

extern "C" {

void* tauto_plain_fork() {
    return reinterpret_cast<void*>(original<void()>(real___kmpc_fork_call));
}

void tauto_fork(void* where, std::int32_t count, void* code, ...) {
    llvm_region region;
    region.forker = &this_thread;
    region.join = nullptr;
    region.run = begin_run(code);
    region.spins = region.run.spins;
    region.code = code;
    region.variables = static_cast<std::size_t>(count);
    std::va_list given;
    va_start(given, code);
    for (std::size_t k = 0; k < region.variables; ++k) region.variable[k] = va_arg(given, void*);
    va_end(given);
    const std::size_t read = region.variables <= few_variables ? few_variables : most_variables;
    for (std::size_t k = region.variables; k < read; ++k) region.variable[k] = nullptr;
    send_guests_home();
    const bool inside = std::exchange(this_thread.in_region, true);
    original<void(void*, std::int32_t, void*, ...)>(real___kmpc_fork_call)(
        where, 1, reinterpret_cast<void*>(run_llvm_part), &region);
    this_thread.in_region = inside;
    end_join(region);
    end_run(region.run);
}
}

// __kmpc_fork_call: few variables go to tauto_fork; with more, all that was given goes to the runtime as it
// is.
#if defined(__x86_64__)
asm(R"(
    .pushsection .text
    .globl __kmpc_fork_call
    .type __kmpc_fork_call, @function
__kmpc_fork_call:
    .cfi_startproc
    endbr64
    cmpl $64, %esi
    jbe tauto_fork
    pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    pushq %rax
    .cfi_adjust_cfa_offset 56
    call tauto_plain_fork
    movq %rax, %r11
    popq %rax
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    .cfi_adjust_cfa_offset -56
    jmp *%r11
    .cfi_endproc
    .size __kmpc_fork_call, . - __kmpc_fork_call
    .popsection
)");
#else
asm(R"(
    .pushsection .text
    .globl __kmpc_fork_call
    .type __kmpc_fork_call, %function
__kmpc_fork_call:
    .cfi_startproc
    cmp w1, #64
    b.ls tauto_fork
    stp x29, x30, [sp, #-80]!
    .cfi_def_cfa_offset 80
    .cfi_offset 29, -80
    .cfi_offset 30, -72
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    bl tauto_plain_fork
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldp x29, x30, [sp], #80
    .cfi_def_cfa_offset 0
    .cfi_restore 29
    .cfi_restore 30
    br x16
    .cfi_endproc
    .size __kmpc_fork_call, . - __kmpc_fork_call
    .popsection
)");
#endif

#endif
