/* Shares of an adaptive loop (include/tauto/schedule.hpp): the owner takes from the front of its word, an
 * idle member takes from the back of the word that would finish last, then stores to its own.
 *
 * Three members share UNITS units. A load, a compare-exchange and a store are one step each, the look
 * around of last_to_finish is one step a word, and every interleaving is searched.
 *
 * With LEAVING a member may leave at any chunk with units in its share, or turn a steal down; when all have
 * finished, member 0 runs what the shares still have (run_what_was_left) if one left early.
 *
 * Checked: no unit is handed out twice; when all members have finished, all units have been handed out.
 * With `pan -l` (PROGRESS): no endless run in which no unit is handed out.
 *
 * Mutants, each of which must fail: THIEF_STORES, OWNER_STORES, STORE_BEFORE_EXCHANGE, BUSY_THIEF,
 * SIZE_COMPARED (with PUBLISH_FIRST), with LEAVING also NO_REST, REST_BEFORE_JOIN, LEFT_UNSAID, and, in the search for endless runs, PUBLISH_FIRST: a thief that stores all it stole and
 * then takes its first chunk from there may be robbed of it in between, and rob back, for ever.
 * ABA_WITNESS asserts that no compare-exchange ever succeeds on a word that has changed and come back.
 */
#define MEMBERS 3
#ifndef UNITS
#define UNITS 6
#endif
#ifndef GRAIN
#define GRAIN 1
#endif
#ifndef DIVISOR
#define DIVISOR 2
#endif
/* Speeds of the members, and the bounds of their shares: 0, BOUND1, BOUND2, UNITS. */
#ifndef SPEED0
#define SPEED0 1
#define SPEED1 2
#define SPEED2 3
#endif
#ifndef BOUND1
#define BOUND1 1
#define BOUND2 3
#endif
/* Bit of each member that may steal; the caller's, bit 0, is always set. */
#ifndef MAY_STEAL
#define MAY_STEAL 7
#endif

#define PACK(begin, end) ((end) << 4 | (begin))
#define BEGIN(word) ((word) & 15)
#define END(word) ((word) >> 4)
#define SIZE(word) (END(word) - BEGIN(word))
#define SPEED(rank) (rank == 0 -> SPEED0 : (rank == 1 -> SPEED1 : SPEED2))

byte share[MEMBERS];

#ifdef LEAVING
bool left_early;
#endif

/* Ghosts. */
short handed_out; /* bit of each unit */
byte finished;
#ifdef ABA_WITNESS
byte version[MEMBERS];
/* Modulo 16: a run may change a word without end. */
#define CHANGED(rank) version[rank] = (version[rank] + 1) & 15
#else
#define CHANGED(rank) skip
#endif

/* A chunk leaves the words for a body. */
inline hand_out(begin, size) {
    assert((handed_out & (((1 << (size)) - 1) << (begin))) == 0);
    handed_out = handed_out | (((1 << (size)) - 1) << (begin))
}

/* How many units an owner takes of `left`. */
inline front_count() {
    count = left / DIVISOR;
    if
    :: count < GRAIN -> count = GRAIN
    :: else
    fi;
    if
    :: count >= left -> count = left
    :: else ->
        if
        :: left - count < (GRAIN + 1) / 2 -> count = left
        :: else
        fi
    fi
}

/* Sets `taken` to the size of the chunk, 0 for none. */
inline take_front(rank) {
    word = share[rank];
    do
    :: SIZE(word) == 0 -> taken = 0; break
    :: else ->
        d_step { left = SIZE(word); front_count(); left = 0 };
#ifdef OWNER_STORES
        d_step {
            share[rank] = PACK(BEGIN(word) + count, END(word));
#else
        d_step {
            if
            :: share[rank] == word ->
                share[rank] = PACK(BEGIN(word) + count, END(word));
                CHANGED(rank);
#endif
                hand_out(BEGIN(word), count);
                taken = count;
                word = 0;
                count = 0
#ifndef OWNER_STORES
            :: else -> word = share[rank]; taken = 0; count = 0
            fi
#endif
        };
        if
        :: taken > 0 -> break
        :: else
        fi
    od
}

/* Sets `victim`, MEMBERS for none. left_1 / speed_1 > left_2 / speed_2 is compared crosswise. */
inline last_to_finish(thief) {
    victim = MEMBERS;
    step = 1;
    do
    :: step < MEMBERS ->
        d_step {
            other = (thief + step) % MEMBERS;
            left = SIZE(share[other]);
            if
            :: left > 0 && (victim == MEMBERS -> true : left * SPEED(victim) > longest * SPEED(other)) ->
                victim = other;
                longest = left
            :: else
            fi;
            step++;
            other = 0;
            left = 0
        }
    :: else -> d_step { longest = 0; step = 0 }; break
    od
}

/* How many units a thief takes of `left`: in proportion to the speeds, rounded. */
inline back_count(thief) {
    count = (2 * left * SPEED(thief) + SPEED(thief) + SPEED(victim)) / (2 * (SPEED(thief) + SPEED(victim)));
    if
    :: count < GRAIN -> count = GRAIN
    :: else
    fi;
    if
    :: count >= left -> count = left
    :: else
    fi;
    if
    :: left - count < GRAIN / 2 -> count = left
    :: else
    fi
}

/* Sets `word` to the stolen range, 0 for none. */
inline steal_from(thief) {
    d_step {
        word = share[victim];
#ifdef ABA_WITNESS
        seen_version = version[victim];
#endif
    };
    if
    :: SIZE(word) == 0 -> word = 0
    :: else ->
        d_step { left = SIZE(word); back_count(thief); left = 0 };
#ifdef STORE_BEFORE_EXCHANGE
        share[thief] = PACK(END(word) - count, END(word));
#endif
        d_step {
#if defined(THIEF_STORES)
            if
            :: true ->
#elif defined(SIZE_COMPARED)
            if
            :: SIZE(share[victim]) == SIZE(word) ->
#else
            if
            :: share[victim] == word ->
#endif
#ifdef ABA_WITNESS
                assert(version[victim] == seen_version);
#endif
                share[victim] = PACK(BEGIN(word), END(word) - count);
                CHANGED(victim);
                word = PACK(END(word) - count, END(word))
            :: else -> word = 0
            fi;
            count = 0
        };
        /* Here the units are in this member's hands alone. */
        if
        :: word == 0
        :: else ->
#ifndef PUBLISH_FIRST
            /* The first chunk never enters the word. */
            d_step {
                left = SIZE(word);
                front_count();
                hand_out(BEGIN(word), count);
                taken = count;
                share[thief] = PACK(BEGIN(word) + count, END(word));
                CHANGED(thief);
                left = 0;
                count = 0
            };
#else
            d_step { share[thief] = word; CHANGED(thief) };
            take_front(thief);
#endif
            word = 0
        fi
    fi;
    victim = 0
}

proctype member(byte rank) {
    byte word;
    byte left;
    byte count;
    byte taken;
    byte victim;
    byte longest;
    byte step;
    byte other;
#ifdef ABA_WITNESS
    byte seen_version;
#endif

next:
#ifdef LEAVING
    if
    :: SIZE(share[rank]) > 0 ->
#ifndef LEFT_UNSAID
        left_early = true;
#endif
        goto out
    :: true
    fi;
#endif
    take_front(rank);
#ifdef BUSY_THIEF
    if
    :: taken > 0 && (MAY_STEAL >> rank & 1) -> last_to_finish(rank)
    :: else -> victim = MEMBERS
    fi;
    if
    :: victim < MEMBERS -> steal_from(rank)
    :: else
    fi;
#endif
    do
    :: taken > 0 -> break
    :: taken == 0 && !(MAY_STEAL >> rank & 1) -> goto out
    :: taken == 0 && (MAY_STEAL >> rank & 1) ->
        last_to_finish(rank);
        if
        :: victim == MEMBERS -> goto out
        :: victim < MEMBERS -> steal_from(rank)
#ifdef LEAVING
        /* Better left to its owner, who has not left, or said so. */
        :: victim < MEMBERS -> goto out
#endif
        fi
    od;
progress_of_handing_out:
    taken = 0;
    goto next;
out:
    victim = 0;
#ifdef LEAVING
    finished++;
    if
    :: rank > 0 -> goto end_of_worker
    :: else
    fi;
#ifndef REST_BEFORE_JOIN
    finished == MEMBERS;
#endif
#ifndef NO_REST
    if
    :: left_early ->
        do
        :: victim < MEMBERS ->
            /* Not in one step: nobody else may be about. */
            word = share[victim];
            hand_out(BEGIN(word), SIZE(word));
            victim++
        :: else -> break
        od
    :: else
    fi;
#endif
    finished == MEMBERS;
    assert(handed_out == (1 << UNITS) - 1);
end_of_worker:
    skip
#else
    atomic {
        finished++;
        assert(finished < MEMBERS || handed_out == (1 << UNITS) - 1)
    }
#endif
}

init {
    d_step {
        share[0] = PACK(0, BOUND1);
        share[1] = PACK(BOUND1, BOUND2);
        share[2] = PACK(BOUND2, UNITS)
    };
    atomic {
        run member(0);
        run member(1);
        run member(2)
    }
}
