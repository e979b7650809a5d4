// Who has done least runs on the fastest core, as a scheduler of Linux (sched_ext, 6.12 and newer). It takes
// threads with the policy SCHED_EXT alone, so nothing else of the system is scheduled by it.
//
// It is compiled and its rule is tested (tests/cpp/kernel_rule_test.cpp), but it was never loaded: no kernel
// of the machines that it was written on has sched_ext. docs/balance-inside.md says how it is loaded.

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void*)0)
enum { BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_TASK_STORAGE = 29 };
enum { BPF_F_NO_PREALLOC = 1, BPF_LOCAL_STORAGE_GET_F_CREATE = 1, BPF_NOEXIST = 1 };

#include <bpf/bpf_helpers.h>

// Of the kernel's types, what is read here: their places are found when the program is loaded.
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct cpumask {
    u64 bits[1];
};
struct sched_ext_entity {
    u64 slice;
};
struct task_struct {
    int tgid;
    const struct cpumask* cpus_ptr;
    struct sched_ext_entity scx;
};
#pragma clang attribute pop

// So that clang writes out the type, which the kernel compares with its own, and not its name alone.
const struct cpumask no_cpus = {{0}};

// The members by which the kernel knows a scheduler: matched by name when it is loaded.
struct sched_ext_ops {
    s32 (*select_cpu)(struct task_struct* p, s32 previous, u64 flags);
    void (*enqueue)(struct task_struct* p, u64 flags);
    void (*dispatch)(s32 cpu, struct task_struct* previous);
    void (*tick)(struct task_struct* p);
    void (*running)(struct task_struct* p);
    void (*stopping)(struct task_struct* p, bool runnable);
    s32 (*init)(void);
    u64 flags;
    char name[128];
};

extern s32 scx_bpf_create_dsq(u64 queue, s32 node) __ksym;
extern s32 scx_bpf_task_cpu(const struct task_struct* p) __ksym;
extern bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) __ksym;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
extern u32 scx_bpf_cpuperf_cap(s32 cpu) __ksym;
extern u32 scx_bpf_nr_cpu_ids(void) __ksym;
extern bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask* mask) __ksym;
// 6.13 gave these two the first names; 6.12 has the second ones.
extern void scx_bpf_dsq_insert_vtime(struct task_struct* p, u64 queue, u64 slice, u64 order,
                                     u64 flags) __ksym __weak;
extern void scx_bpf_dispatch_vtime(struct task_struct* p, u64 queue, u64 slice, u64 order,
                                   u64 flags) __ksym __weak;
extern void scx_bpf_dsq_insert(struct task_struct* p, u64 queue, u64 slice, u64 flags) __ksym __weak;
extern void scx_bpf_dispatch(struct task_struct* p, u64 queue, u64 slice, u64 flags) __ksym __weak;
extern bool scx_bpf_dsq_move_to_local(u64 queue) __ksym __weak;
extern bool scx_bpf_consume(u64 queue) __ksym __weak;

// Of include/linux/sched/ext.h.
#define SWITCH_PARTIAL (1ULL << 3)
#define KICK_IDLE 1ULL
#define KICK_PREEMPT 2ULL
#define LOCAL_ON (1ULL << 63 | 1ULL << 62)
#define SLICE_NS 20000000ULL
#define OURS 0ULL  // the one queue, ordered by what threads have done

struct tauto_cpu;
static struct tauto_cpu* tauto_cpu(u32 number);
static void tauto_each_cpu(long (*look)(u32 number, void* into), void* into);
#include "rule.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 8192);
    __type(key, u32);
    __type(value, struct tauto_cpu);
} cpus SEC(".maps");

// Work of a thread, in ns at full speed.
struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, u64);
} work SEC(".maps");

// What the one of a program's threads that runs has done, of which a thread began to run last.
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 4096);
    __type(key, u64);
    __type(value, u64);
} level SEC(".maps");

static struct tauto_cpu* tauto_cpu(u32 number) {
    return bpf_map_lookup_elem(&cpus, &number);
}

static void tauto_each_cpu(long (*look)(u32 number, void* into), void* into) {
    bpf_loop(scx_bpf_nr_cpu_ids(), look, into, 0);
}

static u64* work_of(struct task_struct* p) {
    return bpf_task_storage_get(&work, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static bool may_run_on(const struct task_struct* p, u32 cpu) {
    return bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

struct idle_search {
    struct task_struct* p;
    u32 most;
    s32 found;
};

static long look_for_idle(u32 number, void* into) {
    struct idle_search* search = into;
    const struct tauto_cpu* cpu = tauto_cpu(number);
    if (!cpu || cpu->since || cpu->speed <= search->most || !may_run_on(search->p, number)) return 0;
    search->most = cpu->speed;
    search->found = (s32)number;
    return 0;
}

// The fastest CPU that runs none of ours and idles, and that a thread may have, no longer idle for others;
// -1: none.
static s32 fastest_idle(struct task_struct* p) {
    struct idle_search search = {p, 0, -1};
    tauto_each_cpu(look_for_idle, &search);
    return search.found >= 0 && scx_bpf_test_and_clear_cpu_idle(search.found) ? search.found : -1;
}

static void insert(struct task_struct* p, u64 queue, u64 order, u64 flags) {
    if (queue != OURS) {
        if (scx_bpf_dsq_insert)
            scx_bpf_dsq_insert(p, queue, SLICE_NS, flags);
        else if (scx_bpf_dispatch)
            scx_bpf_dispatch(p, queue, SLICE_NS, flags);
    } else if (scx_bpf_dsq_insert_vtime) {
        scx_bpf_dsq_insert_vtime(p, queue, SLICE_NS, order, flags);
    } else if (scx_bpf_dispatch_vtime) {
        scx_bpf_dispatch_vtime(p, queue, SLICE_NS, order, flags);
    }
}

static bool take(void) {
    if (scx_bpf_dsq_move_to_local) return scx_bpf_dsq_move_to_local(OURS);
    return scx_bpf_consume && scx_bpf_consume(OURS);
}

SEC("struct_ops/progress_select_cpu")
s32 progress_select_cpu(u64* arguments) {
    struct task_struct* p = (void*)arguments[0];
    const s32 idle = fastest_idle(p);
    return idle >= 0 ? idle : (s32)arguments[1];
}

SEC("struct_ops/progress_enqueue")
int progress_enqueue(u64* arguments) {
    struct task_struct* p = (void*)arguments[0];
    u64* done = work_of(p);
    struct tauto_cpu* was = tauto_cpu((u32)scx_bpf_task_cpu(p));
    const u64 goes_to = was ? __sync_lock_test_and_set(&was->goes_to, 0) : 0;
    if (goes_to && may_run_on(p, (u32)goes_to - 1)) {
        insert(p, LOCAL_ON | (goes_to - 1), 0, arguments[1]);
        scx_bpf_kick_cpu((s32)goes_to - 1, KICK_IDLE);
        return 0;
    }
    const u64 group = (u64)p->tgid;
    const u64* least = bpf_map_lookup_elem(&level, &group);
    if (done && least) *done = tauto_after_waiting(*done, *least);
    insert(p, OURS, done ? *done : 0, arguments[1]);
    const s32 idle = fastest_idle(p);
    if (idle >= 0) scx_bpf_kick_cpu(idle, KICK_IDLE);
    return 0;
}

SEC("struct_ops/progress_dispatch")
int progress_dispatch(u64* arguments) {
    if (take()) return 0;
    // A faster CPU with nothing to do takes the thread of the slowest one that works.
    const u32 here = (u32)arguments[0];
    const u32 slow = tauto_who_is_slowest(here);
    struct tauto_cpu* cpu = slow ? tauto_cpu(slow - 1) : NULL;
    if (!cpu) return 0;
    cpu->goes_to = here + 1;
    scx_bpf_kick_cpu((s32)slow - 1, KICK_PREEMPT);
    return 0;
}

SEC("struct_ops/progress_tick")
int progress_tick(u64* arguments) {
    struct task_struct* p = (void*)arguments[0];
    const u32 here = (u32)scx_bpf_task_cpu(p);
    const u32 other = tauto_who_changes(here, bpf_ktime_get_ns());
    struct tauto_cpu* own = tauto_cpu(here);
    struct tauto_cpu* slow = other ? tauto_cpu(other - 1) : NULL;
    if (!own || !slow) return 0;
    own->goes_to = other;
    slow->goes_to = here + 1;
    scx_bpf_kick_cpu((s32)other - 1, KICK_PREEMPT);
    scx_bpf_kick_cpu((s32)here, KICK_PREEMPT);
    return 0;
}

SEC("struct_ops/progress_running")
int progress_running(u64* arguments) {
    struct task_struct* p = (void*)arguments[0];
    const u32 here = (u32)scx_bpf_task_cpu(p);
    struct tauto_cpu* cpu = tauto_cpu(here);
    const u64* done = work_of(p);
    if (!cpu || !done) return 0;
    const u64 group = (u64)p->tgid;
    cpu->done = *done;
    cpu->group = group;
    cpu->goes_to = 0;
    cpu->since = bpf_ktime_get_ns();
    bpf_map_update_elem(&level, &group, done, 0);
    return 0;
}

SEC("struct_ops/progress_stopping")
int progress_stopping(u64* arguments) {
    struct task_struct* p = (void*)arguments[0];
    struct tauto_cpu* cpu = tauto_cpu((u32)scx_bpf_task_cpu(p));
    u64* done = work_of(p);
    if (!cpu || !done || !cpu->since) return 0;
    *done = tauto_done(cpu, bpf_ktime_get_ns());
    cpu->since = 0;
    return 0;
}

// Where nobody has said otherwise, the kernel's capacity of the CPU.
static long learn_speed(u32 number, void* into) {
    (void)into;
    struct tauto_cpu* cpu = tauto_cpu(number);
    if (cpu && !cpu->speed) cpu->speed = scx_bpf_cpuperf_cap((s32)number);
    return 0;
}

SEC("struct_ops.s/progress_init")
s32 progress_init(u64* arguments) {
    (void)arguments;
    tauto_each_cpu(learn_speed, NULL);
    return scx_bpf_create_dsq(OURS, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops progress = {
    .select_cpu = (void*)progress_select_cpu,
    .enqueue = (void*)progress_enqueue,
    .dispatch = (void*)progress_dispatch,
    .tick = (void*)progress_tick,
    .running = (void*)progress_running,
    .stopping = (void*)progress_stopping,
    .init = (void*)progress_init,
    .flags = SWITCH_PARTIAL,
    .name = "progress",
};

char terms[] SEC("license") = "GPL";
