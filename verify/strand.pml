/* Parts of a row on stacks of their own (balance/waits/part_row.hpp), under sequential consistency.
 *
 * A thread forks RUNS runs of PARTS parts, which are shared out in any way among itself and one helper. A part
 * meets the others up to MEETINGS times; it may end before that, and the others go on without it. A runner
 * begins all of its parts; each is left on its stack where it waits. A watcher may start threads, at any moment:
 * for parts that may go on, and for those that nobody has begun.
 *
 * Checked:
 *   one on a stack   nobody enters a stack that another thread is on, nor one whose part has ended
 *   barrier          a part goes on behind its meeting when all that have not ended have come to it
 *   join             the forking thread goes on when all parts have ended
 *   no endless wait  an invalid end state otherwise
 *
 * Mutants, each of which must fail: WAITS_BEFORE_IT_LEFT, GOES_ON_UNCLAIMED, GOES_ON_EARLY, END_WITHOUT_LOOK,
 * MEETS_TOLD_LATE.
 */
#ifndef RUNS
#define RUNS 1
#endif
#ifndef PARTS
#define PARTS 3
#endif
#ifndef MEETINGS
#define MEETINGS 1
#endif

byte serial;
byte left;
bit meets;
bit locked;
byte waiting;
byte meetings;
byte waits_at[PARTS];
bit begun[PARTS];
bit with_helper[PARTS];

/* Ghosts. */
bit on_stack[PARTS];
bit ended[PARTS];
byte phase[PARTS];

/* With the lock. */
inline end_meeting_if_all_wait() {
    if
    :: waiting > 0 && waiting >= left -> waiting = 0; meetings++
    :: else
    fi
}

inline end_part() {
    atomic { left--; looks = meets };
    if
#ifndef END_WITHOUT_LOOK
    :: looks -> atomic { !locked -> end_meeting_if_all_wait(); looks = 0 }
#endif
    :: else -> looks = 0
    fi
}

/* All that have not ended have met as often. */
inline look_at_barrier(p) {
    d_step {
        k = 0;
        do
        :: k < PARTS -> assert(ended[k] || phase[k] >= phase[p]); k++
        :: else -> break
        od;
        k = 0
    }
}

/* Until it has ended or waits for others: what `at` is then. */
inline run_on_stack(p) {
    d_step { assert(!on_stack[p] && !ended[p]); on_stack[p] = 1 };
    look_at_barrier(p);
    if
    :: phase[p] < MEETINGS ->
        phase[p]++;
#ifdef WAITS_BEFORE_IT_LEFT
        arrive(p);
        on_stack[p] = 0
#else
        on_stack[p] = 0;
        arrive(p)
#endif
    :: d_step { ended[p] = 1; on_stack[p] = 0; at = 0 };
        end_part()
    fi
}

inline arrive(p) {
#ifndef MEETS_TOLD_LATE
    meets = 1;
#endif
    atomic { !locked -> locked = 1 };
    at = 1 + meetings;
    waiting++;
    waits_at[p] = at;
    end_meeting_if_all_wait();
    locked = 0;
#ifdef MEETS_TOLD_LATE
    meets = 1
#endif
}

/* `claimed`: the caller goes on with it. */
inline go_on(p) {
    seen = waits_at[p];
    claimed = 0;
    if
#ifdef GOES_ON_EARLY
    :: seen != 0 ->
#else
    :: seen != 0 && 1 + meetings != seen ->
#endif
#ifdef GOES_ON_UNCLAIMED
        claimed = 1;
        waits_at[p] = 0
#else
        d_step {
            if
            :: waits_at[p] == seen -> waits_at[p] = 0; claimed = 1
            :: else
            fi
        }
#endif
    :: else
    fi;
    seen = 0
}

inline start_if_unbegun(p) {
    if
    :: d_step { !begun[p] -> begun[p] = 1 }; run alone(p, 1)
    :: else
    fi
}

/* A thread for a part, on its own stack or on the part's. */
proctype alone(byte p; bit begins) {
    byte at; byte seen; byte k; bit claimed; bit looks; byte other;
    if
    :: begins ->
        d_step { assert(!on_stack[p] && !ended[p]); on_stack[p] = 1 };
        do
        :: phase[p] < MEETINGS ->
            phase[p]++;
            meets = 1;
            for (other : 0 .. PARTS - 1) { start_if_unbegun(other) };
            other = 0;
            atomic { !locked -> at = meetings; waiting++; end_meeting_if_all_wait() };
            meetings != at;
            at = 0;
            look_at_barrier(p)
        :: d_step { ended[p] = 1; on_stack[p] = 0 };
            end_part();
            break
        od
    :: else ->
        do
        ::  run_on_stack(p);
            if
            :: at == 0 -> break
            :: else -> 1 + meetings != at; at = 0
            fi;
            go_on(p);
            if
            :: claimed -> claimed = 0
            :: else -> break
            fi
        od
    fi
}

/* `own`: that of the runner. A part of the other one may be taken, too. */
inline run_parts(own) {
    p = 0;
    do
    :: p < PARTS ->
        if
        :: d_step { !begun[p] && (with_helper[p] == own || p > 0) -> begun[p] = 1; takes = 1 }
        :: begun[p] || with_helper[p] != own
        fi;
        if
        :: takes ->
            takes = 0;
            run_on_stack(p);
            if
            :: at != 0 -> mine[p] = 1; waits_for = at; at = 0
            :: else
            fi
        :: else
        fi;
        p++
    :: else -> break
    od;
    do
    :: waits_for == 0 -> break
    :: else ->
        1 + meetings != waits_for;
        waits_for = 0;
        p = 0;
        do
        :: p < PARTS && mine[p] ->
            mine[p] = 0;
            go_on(p);
            if
            :: claimed ->
                claimed = 0;
                run_on_stack(p);
                if
                :: at != 0 -> mine[p] = 1; waits_for = at; at = 0
                :: else
                fi
            :: else
            fi;
            p++
        :: p < PARTS && !mine[p] -> p++
        :: p == PARTS -> break
        od
    od;
    p = 0
}

active proctype helper() {
    byte seen_run; byte p; byte at; byte seen; byte k; byte waits_for; bit claimed; bit takes; bit looks;
    bit mine[PARTS];
    do
    :: seen_run < RUNS && serial != seen_run -> seen_run = serial; run_parts(1)
    :: seen_run == RUNS -> break
    od
}

active proctype forker() {
    byte p; byte at; byte seen; byte k; byte waits_for; byte current; bit claimed; bit takes; bit looks;
    bit mine[PARTS];
    for (current : 1 .. RUNS) {
        d_step {
            meets = 0; left = PARTS; k = 0;
            do
            :: k < PARTS -> ended[k] = 0; phase[k] = 0; k++
            :: else -> break
            od;
            k = 0
        };
        for (p : 0 .. PARTS - 1) {
            if
            :: with_helper[p] = 0
            :: p > 0 -> with_helper[p] = 1
            fi
        };
        /* The words of the queues name the run: none is taken before all are full. */
        skip;
        d_step {
            p = 0;
            do
            :: p < PARTS -> begun[p] = 0; p++
            :: else -> break
            od;
            p = 0;
            serial = current
        };
        run_parts(0);
        left == 0;
        skip;
        d_step {
            do
            :: p < PARTS -> assert(ended[p]); p++
            :: else -> break
            od;
            p = 0
        }
    }
}

#ifdef WATCHER
active proctype watcher() {
    byte p; byte seen; bit claimed;
    serial > 0;
    for (p : 0 .. PARTS - 1) {
        if
        :: start_if_unbegun(p)
        :: skip
        fi;
        go_on(p);
        if
        :: claimed -> claimed = 0; run alone(p, 0)
        :: else
        fi
    }
}
#endif
