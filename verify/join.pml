/* Members with nothing to do join a loop in a body (include/tauto/open_loops.hpp), under sequential consistency.
 *
 * Member 0 opens LOOPS loops of UNITS units, one after the other, at one place. The others look there TRIES times
 * each, at any moment. How units are given to members is that of adaptive.pml in short: a member runs its own, and
 * with none left steals all of another one, of which it keeps the first in hand. With DEALT each member has a unit
 * from the start.
 *
 * Checked:
 *   the frame    nobody touches a loop that has ended
 *   every unit   runs, once, before its loop ends
 *
 * Mutants, each of which must fail: LOOKS_FIRST, NOT_CLOSED, NOT_AWAITED, COUNTED_OUT_EARLY, CLOSED_LAST.
 */
#ifndef MEMBERS
#define MEMBERS 3
#endif
#ifndef LOOPS
#define LOOPS 2
#endif
#ifndef UNITS
#define UNITS 3
#endif
#ifndef TRIES
#define TRIES 2
#endif

byte loop;            /* place::loop: its number, 0 for null */
byte inside;          /* place::inside */
byte share[MEMBERS];  /* line::share: how many units */

/* Ghosts. */
byte alive;           /* the loop whose frame exists */
byte ran;

#define TOUCH assert(alive == mine)

/* open_loop::work */
inline work() {
    do
    :: atomic { share[me] > 0 -> TOUCH; share[me]-- };
        ran++
    :: atomic {
            share[me] == 0 ->
            TOUCH;
            victim = 0;
            do
            :: victim < MEMBERS && share[victim] == 0 -> victim++
            :: else -> break
            od;
            if
            :: victim == MEMBERS -> in_hand = 0
            :: else -> in_hand = share[victim]; share[victim] = 0
            fi
        };
        if
        :: in_hand == 0 -> break
        :: else ->
            atomic { TOUCH; share[me] = in_hand - 1; in_hand = 0 };
            ran++
        fi
    od
}

active proctype opener() {
    byte me = 0;
    byte mine;
    byte victim;
    byte in_hand;

    do
    :: mine < LOOPS ->
        mine++;
        atomic {
            alive = mine;
            ran = 0;
#ifdef DEALT
            share[0] = UNITS - (MEMBERS - 1);
            for (victim : 1 .. MEMBERS - 1) { share[victim] = 1 }
#else
            share[0] = UNITS
#endif
        };
        loop = mine;
        work();
#if !defined(NOT_CLOSED) && !defined(CLOSED_LAST)
        loop = 0;
#endif
#ifndef NOT_AWAITED
        do
        :: inside == 0 -> break
        :: inside > 0 -> work()
        od;
#endif
#ifdef CLOSED_LAST
        loop = 0;
#endif
        atomic { assert(ran == UNITS); alive = 0 }
    :: else -> break
    od
}

/* open_loops::join_at */
active [MEMBERS - 1] proctype joiner() {
    byte me = _pid;
    byte mine;
    byte victim;
    byte in_hand;
    byte tries;

    do
    :: tries < TRIES ->
        tries++;
#ifdef LOOKS_FIRST
        mine = loop;
        atomic { inside++ };
#else
        atomic { inside++ };
        mine = loop;
#endif
#ifdef COUNTED_OUT_EARLY
        atomic { inside-- };
#endif
        if
        :: mine != 0 -> work()
        :: else
        fi;
#ifndef COUNTED_OUT_EARLY
        atomic { inside--; mine = 0 }
#endif
    :: else -> break
    od
}
