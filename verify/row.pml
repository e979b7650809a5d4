/* Rows of parts (balance/waits/part_row.hpp), under sequential consistency: the memory orders that the header
 * names make the pairs that matter sequentially consistent.
 *
 * A thread forks RUNS runs of PARTS parts. It has the first, and the others are shared out in any way among
 * itself and HELPERS helpers. In each run all parts meet, or none does, or, against the rules of OpenMP, one
 * does. A watcher may start threads for parts that nobody has begun, at any moment.
 *
 * Checked:
 *   once               each part of a run is run once, while the run lasts and all queues are full
 *   join               the forking thread goes on only when all parts have ended
 *   no lost wake-up    who sleeps for ever, at a run, a join or a meeting, is an invalid end state
 *
 * Mutants, each of which must fail: CODE_READ_FIRST, TAKEN_OF_ANY_RUN, TAKEN_WITHOUT_COMPARING, JOIN_LOOKS_FIRST,
 * RUN_WITHOUT_WAKE, MEETS_WITHOUT_THREADS, END_LOOKS_FIRST, MEETS_TOLD_LATE.
 */
#ifndef HELPERS
#define HELPERS 1
#endif
#ifndef RUNS
#define RUNS 2
#endif
#ifndef PARTS
#define PARTS 2
#endif
#define RUNNERS (HELPERS + 1)

typedef queue {
    byte which;  /* the run */
    byte first;
    byte end;
};
queue queues[RUNNERS];
byte serial;
byte code;          /* what a part runs: stands for code_, data_, count_ */
byte left;
bit meets;
bit joiner_sleeps;
byte sleepers;
byte waiting;
byte meetings;

/* The kernel. */
bit asleep_on_serial[RUNNERS];
bit asleep_on_left;

/* Ghosts. */
byte ran[PARTS];
bit may_meet[PARTS];
bit over;

/* `part` is PARTS where there is none. From the front for the runner itself, else from the end. */
inline take(runner, of_run, from_front, part, taken_of) {
#ifdef TAKEN_WITHOUT_COMPARING
    part = PARTS;
    byte seen_first = queues[runner].first;
    if
    :: seen_first < queues[runner].end && (of_run == 0 || queues[runner].which == of_run) ->
        part = seen_first;
        taken_of = queues[runner].which;
        queues[runner].first = seen_first + 1
    :: else
    fi
#else
    d_step {
        part = PARTS;
        if
        :: queues[runner].first < queues[runner].end && (of_run == 0 || queues[runner].which == of_run) ->
            taken_of = queues[runner].which;
            if
            :: from_front -> part = queues[runner].first; queues[runner].first++
            :: else -> queues[runner].end--; part = queues[runner].end
            fi
        :: else
        fi
    }
#endif
}

/* Under the lock, and `left` is read once there: one step. */
inline end_meeting_if_all_wait() {
    if
    :: waiting > 0 && waiting >= left -> waiting = 0; meetings++
    :: else
    fi
}

inline end_part() {
#ifdef END_LOOKS_FIRST
    told = meets;
#endif
    d_step { left--; is_last = (left == 0) };
    if
    :: is_last && joiner_sleeps -> d_step { asleep_on_left = 0; is_last = 0 }
    :: else -> is_last = 0
    fi;
#ifndef END_LOOKS_FIRST
    told = meets;
#endif
    if
    :: told -> d_step { told = 0; end_meeting_if_all_wait() }
    :: else
    fi
}

/* What a queue has is taken in one step: whoever takes from it in between takes before or after. */
inline start_unbegun(of_run) {
    do
    :: other < RUNNERS ->
        atomic {
            do
            ::  take(other, of_run, 0, spare, spare_of);
                if
                :: spare < PARTS -> run alone(spare, spare_of)
                :: else -> break
                fi
            od;
            other++; spare = 0; spare_of = 0
        }
    :: else -> break
    od;
    other = 0
}

inline meet() {
#ifndef MEETS_TOLD_LATE
    meets = 1;
#endif
#ifndef MEETS_WITHOUT_THREADS
    start_unbegun(serial);
#endif
    d_step { before = meetings; waiting++; end_meeting_if_all_wait() };
#ifdef MEETS_TOLD_LATE
    meets = 1;
#endif
    meetings != before;
    before = 0
}

inline run_part(part, taken_of) {
    d_step {
        assert(!over && code == taken_of && serial == taken_of);
        ran[part]++;
        assert(ran[part] == 1)
    };
    if
    :: may_meet[part] -> meet()
    :: else
    fi;
    end_part()
}

proctype alone(byte part; byte taken_of) {
    byte other; byte spare; byte spare_of; byte before; bit told; bit is_last;
    run_part(part, taken_of)
}

inline run_parts(self) {
    do
    ::
#ifdef TAKEN_OF_ANY_RUN
        now = 0;
#else
        now = serial;
#endif
        take(self, now, 1, part, taken_of);
        if
        :: part < PARTS
        :: else ->
            /* Equal speeds, or not: any other may be looked at, or none. */
            if
            :: take((self + 1) % RUNNERS, now, 0, part, taken_of)
            :: skip
            fi
        fi;
        if
        :: part == PARTS -> break
        :: else
        fi;
#ifdef CODE_READ_FIRST
        taken_of = (self > 0 -> known : taken_of);
#endif
        run_part(part, taken_of);
        d_step { part = 0; taken_of = 0 }
    od;
    skip;
    d_step { now = 0; part = 0; taken_of = 0 }
}

proctype helper(byte self) {
    byte seen; byte part; byte taken_of; byte other; byte spare; byte spare_of; byte before; bit told; bit is_last;
    byte known; byte now;
    do
    ::  if
        :: serial == seen ->
            sleepers++;
            if
            :: d_step { serial == seen -> asleep_on_serial[self] = 1 };
               !asleep_on_serial[self]
            :: else
            fi;
            sleepers--
        :: else ->
#ifdef CODE_READ_FIRST
            d_step { seen = serial; known = code };
#else
            seen = serial;
#endif
            if
            :: seen == RUNS + 1 -> break
            :: else
            fi;
            run_parts(self)
        fi
    od
}

active proctype forker() {
    byte part; byte taken_of; byte other; byte spare; byte spare_of; byte before; bit told; bit is_last; byte known; byte now;
    byte k; byte given; byte upto; byte current; byte seen_left;
    for (k : 1 .. HELPERS) { run helper(k) };
    for (current : 1 .. RUNS + 1) {
        /* What follows is written before any word of a queue. */
        d_step { over = 0; code = current; meets = 0; left = (current <= RUNS -> PARTS : 0) };
        if
        :: current <= RUNS ->
            d_step { for (k : 0 .. PARTS - 1) { ran[k] = 0; may_meet[k] = 0 } };
            if
            :: d_step { for (k : 0 .. PARTS - 1) { may_meet[k] = 1 } }
            :: may_meet[0] = 1
            :: skip
            fi;
            given = 0;
            for (k : 0 .. RUNNERS - 1) {
                upto = (k == 0 -> 1 : given);
                do
                :: k < RUNNERS - 1 && upto < PARTS -> upto++
                :: k < RUNNERS - 1 -> break
                :: k == RUNNERS - 1 -> upto = PARTS; break
                od;
                skip;
                d_step { queues[k].which = current; queues[k].first = (k == 0 -> 1 : given); queues[k].end = upto };
                given = upto
            }
        :: else
        fi;
        skip;
        d_step { serial = current; given = 0; upto = 0; k = 0 };
#ifndef RUN_WITHOUT_WAKE
        if
        :: sleepers > 0 -> d_step { for (k : 1 .. HELPERS) { asleep_on_serial[k] = 0 } }
        :: else
        fi;
#endif
        if
        :: current > RUNS -> break
        :: else
        fi;
        run_part(0, current);  /* the first is its own */
        run_parts(0);
        if
        :: left == 0
        :: else ->
#ifdef JOIN_LOOKS_FIRST
            seen_left = left;
            joiner_sleeps = 1;
#else
            joiner_sleeps = 1;
            seen_left = left;
#endif
            do
            :: seen_left == 0 -> break
            :: else ->
                d_step {
                    if
#ifdef JOIN_LOOKS_FIRST
                    :: asleep_on_left = 1
#else
                    :: left == seen_left -> asleep_on_left = 1
                    :: else
#endif
                    fi
                };
                !asleep_on_left;
                seen_left = left
            od;
            skip;
            d_step { joiner_sleeps = 0; seen_left = 0 }
        fi;
        d_step { assert(left == 0); over = 1 }
    }
}

#ifdef WATCHER
/* Starts threads for what nobody has begun, once at any moment. */
active proctype watcher() {
    byte other; byte spare; byte spare_of; byte looked_at;
    looked_at = serial;
    if
    :: looked_at > 0 && looked_at <= RUNS -> start_unbegun(looked_at)
    :: else
    fi
}
#endif
