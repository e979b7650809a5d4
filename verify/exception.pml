/* Bodies that throw (runtime/launcher.cpp: run_member, fork_and_join): `failed` says that one has, whoever
 * turned it writes `failure`, and the caller rethrows it after the last join and leaves the team as new.
 *
 * MEMBERS members, the caller among them, run CHUNKS chunks each in LOOPS loops; any chunk may throw. How
 * members wait is launch.pml's subject: here a wait is one step.
 *
 * Checked: one writer of `failure`; what is rethrown is the first exception; nothing is rethrown when
 * nothing was thrown, and then every chunk ran; each loop starts from a clean state.
 *
 * Mutants, each of which must fail: FAILED_STORED, FAILED_KEPT, FAILED_CLEARED_BEFORE_JOIN,
 * RETHROWN_BEFORE_JOIN.
 */
#ifndef MEMBERS
#define MEMBERS 3
#endif
#ifndef LOOPS
#define LOOPS 2
#endif
#ifndef CHUNKS
#define CHUNKS 2
#endif
#define NOBODY MEMBERS

typedef launched {
    bit ticket;
    bit done;
};
launched member[MEMBERS];

bit failed;
byte failure = NOBODY; /* the plain exception_ptr: whose exception */

/* Ghosts. */
byte first_thrower = NOBODY;
byte chunks_run[MEMBERS];
bit failure_in_use;

inline run_member(rank) {
    do
    :: chunks_run[rank] < CHUNKS ->
        if
        :: failed -> break /* should_stop */
        :: else
        fi;
        if
        :: chunks_run[rank]++
        :: /* the body throws: failed.exchange(true) */
#ifdef FAILED_STORED
            was_failed = failed;
            d_step {
#else
            d_step {
                was_failed = failed;
#endif
                failed = 1;
                if
                :: first_thrower == NOBODY -> first_thrower = rank
                :: else
                fi
            };
            if
            :: !was_failed ->
                d_step { assert(!failure_in_use); failure_in_use = 1 };
                assert(failure == NOBODY);
                failure = rank;
                failure_in_use = 0
            :: else
            fi;
            break
        fi
    :: else -> break
    od
}

proctype worker(byte rank) {
    bit was_failed;
    bit last;
    byte loop;
    do
    :: loop < LOOPS ->
        member[rank].ticket != last;
        last = member[rank].ticket;
        loop++;
        run_member(rank);
        was_failed = 0;
        member[rank].done = last
    :: else -> break
    od
}

active proctype caller() {
    byte rank;
    byte loop;
    bit was_failed;

    atomic {
        rank = 1;
        do
        :: rank < MEMBERS -> run worker(rank); rank++
        :: else -> break
        od
    };
    do
    :: loop < LOOPS ->
        loop++;
        d_step {
            assert(!failed && failure == NOBODY && !failure_in_use);
            first_thrower = NOBODY;
            rank = 0;
            do
            :: rank < MEMBERS -> chunks_run[rank] = 0; rank++
            :: else -> break
            od
        };
        rank = 1;
        do
        :: rank < MEMBERS -> member[rank].ticket = 1 - member[rank].ticket; rank++
        :: else -> break
        od;
        run_member(0);
        was_failed = 0;
#ifdef FAILED_CLEARED_BEFORE_JOIN
        was_failed = failed;
        failed = 0;
#endif
#ifndef RETHROWN_BEFORE_JOIN
        rank = 1;
        do
        :: rank < MEMBERS -> member[rank].done == member[rank].ticket; rank++
        :: else -> break
        od;
#endif
#ifdef FAILED_CLEARED_BEFORE_JOIN
        if
        :: was_failed ->
#else
        if
        :: failed ->
#ifndef FAILED_KEPT
            failed = 0;
#endif
#endif
            d_step {
                assert(!failure_in_use);
                assert(failure != NOBODY && failure == first_thrower);
                failure = NOBODY
            };
            was_failed = 0
        :: else ->
            d_step {
                assert(first_thrower == NOBODY);
                rank = 0;
                do
                :: rank < MEMBERS -> assert(chunks_run[rank] == CHUNKS); rank++
                :: else -> break
                od
            }
        fi
    :: else -> break
    od
}
