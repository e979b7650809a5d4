/* Bodies that throw (runtime/launcher.cpp: run_chunks, run_member, fork_and_join, rethrow_failure): each member
 * keeps its own `failure`, `failed_at` says the lowest chunk in which one has thrown, and the caller rethrows
 * the failure of the lowest chunk after the last join and leaves the team as new.
 *
 * MEMBERS members, the caller among them, run CHUNKS chunks each in LOOPS loops, dealt in turn
 * (static_chunk); any chunk may be faulty. How members wait is launch.pml's subject: here a wait is one step.
 *
 * Checked: one writer of each `failure`; what is rethrown is the exception of the lowest faulty chunk, as in a
 * serial loop; nothing is rethrown when no chunk is faulty, and then every chunk ran; each loop starts from a
 * clean state.
 *
 * Mutants, each of which must fail: FAILURE_SHARED, ANY_FAILURE_STOPS, FAILED_KEPT,
 * FAILED_CLEARED_BEFORE_JOIN, RETHROWN_BEFORE_JOIN.
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
#define NO_FAILURE (MEMBERS * CHUNKS)

typedef launched {
    bit ticket;
    bit done;
    byte failure = NO_FAILURE; /* the plain exception_ptr with its place: whose exception */
    bit failure_in_use;        /* ghost */
};
launched member[MEMBERS];

byte failed_at = NO_FAILURE;

/* Ghosts. */
bit faulty[MEMBERS * CHUNKS];
byte chunks_run[MEMBERS];

#ifdef FAILURE_SHARED
#define OWN 0
#else
#define OWN rank
#endif

inline run_member(rank) {
    do
    :: chunks_run[rank] < CHUNKS ->
        chunk = chunks_run[rank] * MEMBERS + rank;
        if
#ifdef ANY_FAILURE_STOPS
        :: failed_at != NO_FAILURE -> break
#else
        :: chunk > failed_at -> break
#endif
        :: else
        fi;
        if
        :: !faulty[chunk] -> chunks_run[rank]++
        :: else ->
            d_step { assert(!member[OWN].failure_in_use); member[OWN].failure_in_use = 1 };
            member[OWN].failure = chunk;
            member[OWN].failure_in_use = 0;
            /* note_failure */
            d_step {
                if
                :: chunk < failed_at -> failed_at = chunk
                :: else
                fi
            };
            break
        fi
    :: else -> break
    od
}

proctype worker(byte rank) {
    byte chunk;
    bit last;
    byte loop;
    do
    :: loop < LOOPS ->
        member[rank].ticket != last;
        last = member[rank].ticket;
        loop++;
        run_member(rank);
        chunk = 0;
        member[rank].done = last
    :: else -> break
    od
}

active proctype caller() {
    byte rank;
    byte loop;
    byte chunk;
    byte least;
    bit failed;

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
            assert(failed_at == NO_FAILURE);
            rank = 0;
            do
            :: rank < MEMBERS ->
                assert(member[rank].failure == NO_FAILURE && !member[rank].failure_in_use);
                chunks_run[rank] = 0;
                rank++
            :: else -> break
            od
        };
        atomic {
            chunk = 0;
            do
            :: chunk < MEMBERS * CHUNKS ->
                if
                :: faulty[chunk] = 0
                :: faulty[chunk] = 1
                fi;
                chunk++
            :: else -> break
            od
        };
        rank = 1;
        do
        :: rank < MEMBERS -> member[rank].ticket = 1 - member[rank].ticket; rank++
        :: else -> break
        od;
        run_member(0);
#ifdef FAILED_CLEARED_BEFORE_JOIN
        failed = failed_at != NO_FAILURE;
        failed_at = NO_FAILURE;
#endif
#ifndef RETHROWN_BEFORE_JOIN
        rank = 1;
        do
        :: rank < MEMBERS -> member[rank].done == member[rank].ticket; rank++
        :: else -> break
        od;
#endif
        skip;
#ifndef FAILED_CLEARED_BEFORE_JOIN
        failed = failed_at != NO_FAILURE;
#endif
        d_step {
            least = NO_FAILURE;
            if
            :: failed ->
                /* rethrow_failure */
#ifndef FAILED_KEPT
                failed_at = NO_FAILURE;
#endif
                rank = 0;
                do
                :: rank < MEMBERS ->
                    assert(!member[rank].failure_in_use);
                    if
                    :: member[rank].failure < least -> least = member[rank].failure
                    :: else
                    fi;
                    member[rank].failure = NO_FAILURE;
                    rank++
                :: else -> break
                od;
                assert(least != NO_FAILURE)
            :: else ->
                rank = 0;
                do
                :: rank < MEMBERS -> assert(chunks_run[rank] == CHUNKS); rank++
                :: else -> break
                od
            fi;
            chunk = 0;
            do
            :: chunk < MEMBERS * CHUNKS && !faulty[chunk] -> chunk++
            :: else -> break
            od;
            assert(least == chunk);
            failed = 0;
            least = 0;
            rank = 0;
            chunk = 0
        }
    :: else -> break
    od
}
