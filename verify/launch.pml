/* Launch and join with parking on both sides (include/tauto/team.hpp, runtime/launcher.cpp), under sequential
 * consistency; store_buffers.pml repeats the Dekker pair where stores are delayed.
 *
 * The caller runs LOOPS loops, each over any set of workers in any order, then ends the team. Before, between
 * and after them it shares tasks REGIONS times: it invites all workers, with or without
 * waking those that doze, and withdraws that without a join. Each worker dozes before it
 * sleeps, or sleeps at once.
 * Every statement below that touches shared state is one step, and every interleaving of steps is searched.
 *
 * Checked:
 *   no lost wake-up      a sleeper nobody will wake is an invalid end state
 *   plain fields         never written while being read (`writing`, `reading`), nor read when stale
 *   exactly once         each launched worker runs each loop once; others are not touched
 *   join                 the caller goes on only when every participant has run
 *   invitation           who is invited does not sleep once the caller has woken the sleepers, dozes at most
 *                        where those were left, and runs no task once it is withdrawn
 *   end                  every worker returns
 *   no endless run       with `pan -l` (non-progress cycles; nothing here is labelled as progress): a wait
 *                        that is not asleep comes to an end
 *
 * Mutants, each of which must fail: FUTEX_WITHOUT_RECHECK, PARKED_READ_FIRST, DONE_STORED, BIT_STORED,
 * DONE_BEFORE_RUN, JOIN_SKIPS_LAST, END_WITHOUT_WAKE, BIT_KEPT, INVITED_WITHOUT_WAKE, INVITATION_KEPT,
 * INVITATION_LAUNCHES, INVITATION_REMEMBERED, SLEEPERS_LEFT, SLEEP_UNSAID.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef LOOPS
#define LOOPS 3
#endif
#ifndef REGIONS
#define REGIONS 0
#endif
#ifndef SPURIOUS
#define SPURIOUS 2
#endif

/* Tickets modulo 4: the values 0 and 2 above the waiting bit, so that each second loop wraps around. */
#define NEXT(ticket) (((ticket) + 2) & 3)
#define PREVIOUS(ticket) (((ticket) + 2) & 3)
#define WAITING 1
/* In a ticket: the worker may share tasks. */
#define INVITED 1

/* What a mailbox's `parked` says. */
#define AWAKE 0
#define DOZES 1
#define SLEEPS 2

/* The task of a region, which one member runs. */
#define NONE 0
#define OFFERED 1
#define TAKEN 2
#define DONE 3

typedef mailbox {
    byte ticket;
    byte parked;
    byte loop;     /* stands for all plain fields: which loop they describe */
    bit mode_end;
};
typedef report_line {
    byte done;
};

mailbox box[WORKERS];
report_line report[WORKERS];
byte task = NONE;

/* The kernel: one possible sleeper a word, so that a wake has at most one to wake. */
bit asleep_on_ticket[WORKERS];
bit asleep_on_done[WORKERS];
/* Wake-ups for no reason. Bounded, for with an endless supply nobody would ever sleep for good. */
byte spurious = SPURIOUS;

/* Ghosts: no part of the protocol. */
byte current_loop;
bit in_region;
bit participant[WORKERS];
bit dozing[WORKERS];
bit writing[WORKERS];
bit reading[WORKERS];
byte ran[WORKERS];
bit ended[WORKERS];

/* Compares and goes to sleep in one step, as the kernel does under its lock. */
inline futex_wait(word, expected, asleep) {
#ifdef FUTEX_WITHOUT_RECHECK
    asleep = 1;
#else
    d_step {
        if
        :: (word) == (expected) -> asleep = 1
        :: else
        fi
    };
#endif
    if
    :: !asleep
    :: d_step { asleep && spurious > 0 -> spurious--; asleep = 0 }
    fi
}

inline futex_wake(asleep) {
    asleep = 0
}

proctype worker(byte rank) {
    byte last = report[rank].done & 2;
    byte ticket;
    bit waiting;
    bit dozes;

    do
    ::  /* spin_while_equal: the budget may end after any number of reads, so only the last one counts. */
        ticket = box[rank].ticket;
        if
        :: ticket == last ->
            /* park */
            if
            :: REGIONS > 0 -> dozes = 1; box[rank].parked = DOZES
            :: dozes = 0; box[rank].parked = SLEEPS
            fi;
            do
            :: ticket = box[rank].ticket;
               if
               :: ticket != last -> break
               :: else
               fi;
               if
               :: dozes ->
                   /* futex_wait_for: it is woken, or wakes by itself. */
                   d_step {
                       if
                       :: box[rank].ticket == last -> asleep_on_ticket[rank] = 1; dozing[rank] = 1
                       :: else
                       fi
                   };
                   d_step { asleep_on_ticket[rank] = 0; dozing[rank] = 0 };
                   dozes = 0;
#ifndef SLEEP_UNSAID
                   box[rank].parked = SLEEPS
#endif
               :: else -> futex_wait(box[rank].ticket, last, asleep_on_ticket[rank])
               fi
            od;
            box[rank].parked = AWAKE
        :: else
        fi;
#ifndef INVITATION_LAUNCHES
        if
        :: ticket & INVITED ->
            /* take_part: it touches no plain field, and no word but the ticket once that has changed. */
            do
            :: box[rank].ticket != ticket -> break
            :: d_step { task == OFFERED -> task = TAKEN; assert(in_region) };
               d_step { assert(in_region); task = DONE }
            od;
#ifdef INVITATION_REMEMBERED
            last = ticket;
#endif
            goto next
        :: else
        fi;
#endif
        last = ticket;
#ifdef DONE_BEFORE_RUN
        d_step { waiting = report[rank].done & WAITING; report[rank].done = ticket };
#endif
        d_step { assert(!writing[rank]); reading[rank] = 1 };
        if
        :: box[rank].mode_end ->
            d_step { reading[rank] = 0; ended[rank] = 1 };
            break
        :: else
        fi;
        /* run_member */
        d_step {
            assert(participant[rank]);
            assert(box[rank].loop == current_loop);
            ran[rank]++;
            assert(ran[rank] == 1)
        };
#if defined(DONE_BEFORE_RUN)
        reading[rank] = 0;
#elif defined(DONE_STORED)
        waiting = report[rank].done & WAITING;
        d_step { reading[rank] = 0; report[rank].done = ticket };
#elif defined(BIT_KEPT)
        d_step { reading[rank] = 0; waiting = report[rank].done & WAITING; report[rank].done = ticket | waiting };
#else
        d_step { reading[rank] = 0; waiting = report[rank].done & WAITING; report[rank].done = ticket };
#endif
        if
        :: waiting -> futex_wake(asleep_on_done[rank])
        :: else
        fi;
next:   skip
    od
}

inline launch(rank, end) {
    d_step { assert(!reading[rank]); writing[rank] = 1 };
    d_step { box[rank].loop = current_loop; box[rank].mode_end = end };
    writing[rank] = 0;
    box[rank].ticket = NEXT(box[rank].ticket)
}

inline wake_parked(rank, least) {
    if
    :: box[rank].parked >= least -> futex_wake(asleep_on_ticket[rank])
    :: else
    fi
}

inline join(rank) {
    ticket = box[rank].ticket;
    before = PREVIOUS(ticket);
    seen = report[rank].done; /* spin_while_equal */
    do
    :: seen == ticket -> break
    :: else ->
        retry = 0;
        if
        :: seen == before ->
#ifdef BIT_STORED
            report[rank].done = before | WAITING
#else
            d_step {
                if
                :: report[rank].done == before -> report[rank].done = before | WAITING
                :: else -> seen = report[rank].done; retry = 1
                fi
            }
#endif
        :: else
        fi;
        if
        :: retry
        :: else ->
            futex_wait(report[rank].done, before | WAITING, asleep_on_done[rank]);
            seen = report[rank].done
        fi
    od
}

/* begin_tasks, the tasks of a root, end_tasks. Who dozes may be left so. */
inline share_tasks() {
    in_region = 1;
    if
    :: least = DOZES
    :: least = SLEEPS
    fi;
    rank = 0;
    do
    :: rank < WORKERS -> box[rank].ticket = box[rank].ticket | INVITED; rank++
    :: else -> break
    od;
#ifndef INVITED_WITHOUT_WAKE
    rank = 0;
    do
#ifdef SLEEPERS_LEFT
    :: least == DOZES && rank < WORKERS -> wake_parked(rank, least); rank++
#else
    :: rank < WORKERS -> wake_parked(rank, least); rank++
#endif
    :: else -> break
    od;
#endif
    task = OFFERED;
    d_step {
        rank = 0;
        do
        :: rank < WORKERS ->
            assert(!asleep_on_ticket[rank] || (least == SLEEPS && dozing[rank]));
            rank++
        :: else -> break
        od
    };
    if
    :: d_step { task == OFFERED -> task = NONE }
    :: d_step { task == DONE -> task = NONE }
    fi;
    d_step { in_region = 0; rank = 0 };
#ifndef INVITATION_KEPT
    do
    :: rank < WORKERS -> box[rank].ticket = box[rank].ticket - INVITED; rank++
    :: else -> break
    od;
#endif
    rank = 0
}

active proctype caller() {
    byte ranks[WORKERS]; /* the participants, without the caller */
    byte width;
    byte position;
    byte rank;
    byte ticket;
    byte before;
    byte seen;
    bit retry;
    byte was_parked;
    byte regions;
    byte least;

    atomic {
        rank = 0;
        do
        :: rank < WORKERS -> run worker(rank); rank++
        :: else -> break
        od
    };
    do
    :: regions < REGIONS -> regions++; share_tasks()
    :: current_loop < LOOPS ->
        atomic {
            current_loop++;
            width = 0;
            rank = 0;
            do
            :: rank < WORKERS -> participant[rank] = 0; ran[rank] = 0; rank++
            :: else -> break
            od;
            /* Any workers in any order. */
            do
            :: width < WORKERS && !participant[0] -> participant[0] = 1; ranks[width] = 0; width++
            :: width < WORKERS && !participant[1] -> participant[1] = 1; ranks[width] = 1; width++
#if WORKERS > 2
            :: width < WORKERS && !participant[2] -> participant[2] = 1; ranks[width] = 2; width++
#endif
            :: break
            od
        };
        position = width;
        do
        :: position > 0 ->
            position--;
            rank = ranks[position];
#ifdef PARKED_READ_FIRST
            was_parked = box[rank].parked;
            launch(rank, 0);
            if
            :: was_parked != AWAKE -> futex_wake(asleep_on_ticket[rank])
            :: else
            fi
#else
            launch(rank, 0)
#endif
        :: else -> break
        od;
#ifndef PARKED_READ_FIRST
        position = 0;
        do
        :: position < width -> rank = ranks[position]; wake_parked(rank, DOZES); position++
        :: else -> break
        od;
#endif
        position = 0;
        do
#ifdef JOIN_SKIPS_LAST
        :: position + 1 < width ->
#else
        :: position < width ->
#endif
            rank = ranks[position];
            join(rank);
            position++
        :: else -> break
        od;
        atomic {
            rank = 0;
            do
            :: rank < WORKERS ->
                assert(ran[rank] == participant[rank]);
                assert(report[rank].done == box[rank].ticket);
                assert(!reading[rank]);
                rank++
            :: else -> break
            od;
            rank = 0;
            position = 0
        }
    :: current_loop == LOOPS -> break
    od;
    /* stop_workers */
    rank = 0;
    do
    :: rank < WORKERS ->
        launch(rank, 1);
#ifndef END_WITHOUT_WAKE
        wake_parked(rank, DOZES);
#endif
        ended[rank]; /* pthread_join */
        rank++
    :: else -> break
    od
}
