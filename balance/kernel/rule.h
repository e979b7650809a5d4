// The rule of balance/placing.hpp as the kernel asks for it, one CPU at a time. Plain C for BPF; a test runs
// it, too.
//
// Whoever includes it defines u32 and u64, and declares
//   struct tauto_cpu *tauto_cpu(u32 number);   NULL where there is none
//   void tauto_each_cpu(long (*look)(u32 number, void *into), void *into);   look for each, in a loop for BPF
#pragma once

#define TAUTO_FULL_SPEED 1024U        // of the fastest CPU
#define TAUTO_TOLERANCE_NS 200000ULL  // of work: a change costs some 30 us

// What runs on a CPU. Only that CPU writes it, but for `goes_to`. Others read it while it changes: what they
// take from it is where to look for more work, so that an old value costs a change, and never a thread.
struct tauto_cpu {
    u64 done;     // work of its thread when it began to run here, in ns at full speed
    u64 since;    // when that was; 0: no thread of ours runs here
    u64 group;    // the program
    u64 goes_to;  // 1 + the CPU to which its thread is to change; 0: it stays (BPF exchanges 64 bits)
    u32 speed;    // of TAUTO_FULL_SPEED
};

static inline u64 tauto_done(const struct tauto_cpu* cpu, u64 now) {
    const u64 since = cpu->since;
    return cpu->done + (since && now > since ? (now - since) * cpu->speed / TAUTO_FULL_SPEED : 0);
}

// What a thread that wakes, or is new, is taken to have done: waiting is no debt.
static inline u64 tauto_after_waiting(u64 done, u64 least) {
    return done < least ? least : done;
}

// CPUs whose speeds differ by less than 6 % are equal.
static inline int tauto_is_slower(u64 speed, u64 than) {
    return speed * 106 < than * 100;
}

struct tauto_search {
    u64 now;
    u64 least;  // of what was found
    u64 group;
    u32 here;
    u32 speed;
    u32 found;  // 1 + the CPU; 0: none
};

static long tauto_look_for_less(u32 number, void* into) {
    struct tauto_search* search = (struct tauto_search*)into;
    const struct tauto_cpu* other = tauto_cpu(number);
    if (!other || !other->since || other->group != search->group || other->goes_to) return 0;
    if (!tauto_is_slower(other->speed, search->speed)) return 0;
    const u64 theirs = tauto_done(other, search->now);
    if (theirs >= search->least) return 0;
    search->least = theirs;
    search->found = number + 1;
    return 0;
}

// 1 + the slower CPU whose thread has done least, and less than the one on `here` by over the tolerance; 0:
// none.
static inline u32 tauto_who_changes(u32 here, u64 now) {
    const struct tauto_cpu* own = tauto_cpu(here);
    if (!own || !own->since || own->goes_to) return 0;
    const u64 mine = tauto_done(own, now);
    if (mine < TAUTO_TOLERANCE_NS) return 0;
    struct tauto_search search = {now, mine - TAUTO_TOLERANCE_NS, own->group, here, own->speed, 0};
    tauto_each_cpu(tauto_look_for_less, &search);
    return search.found;
}

static long tauto_look_for_slowest(u32 number, void* into) {
    struct tauto_search* search = (struct tauto_search*)into;
    const struct tauto_cpu* other = tauto_cpu(number);
    if (!other || !other->since || other->goes_to) return 0;
    if (!tauto_is_slower(other->speed, search->speed) || other->speed >= search->least) return 0;
    search->least = other->speed;
    search->found = number + 1;
    return 0;
}

// 1 + the slowest CPU that runs a thread of ours and is slower than `here`, which has none; 0: none.
static inline u32 tauto_who_is_slowest(u32 here) {
    const struct tauto_cpu* own = tauto_cpu(here);
    if (!own) return 0;
    struct tauto_search search = {0, own->speed, 0, here, own->speed, 0};
    tauto_each_cpu(tauto_look_for_slowest, &search);
    return search.found;
}
