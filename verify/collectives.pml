/* How the members of a run meet (include/tauto/collectives.hpp, runtime/collectives.cpp, runtime/body_runner.cpp), under
 * sequential consistency: rows and tournament, data in alternating buffers, data read where they lie, the barrier in
 * two phases, sleeping, operators that throw, and members that throw or return too soon.
 *
 * MEMBERS members do OPERATIONS operations in each of RUNS runs; which operation comes when is chosen freely but the
 * same for all. Epochs are kept modulo MASK + 1 and start short of the wrap-around. Every statement that touches shared
 * state is one step, and every interleaving of steps is searched.
 *
 * Checked:
 *   no lost wake-up    a sleeper nobody will wake is an invalid end state, and so is a member that waits for one who
 *                      has left
 *   meeting            who is past an epoch has seen all arrive at it (`arrived`)
 *   data               what is read of an epoch is what its owner brought to that epoch, never written meanwhile
 *   memory             what a member published lasts until nobody reads it, also when an operator throws or it leaves
 *   wrong calls        a barrier that one member splits ends for all (MIXED)
 *   leaving            a member is released, or told that another one has returned, only when that is so in this run
 *   no endless run     with `pan -l`
 *
 * What a member reads of itself it reads from a copy of its own, which nobody else sees: not part of the model.
 *
 * Mutants, each of which must fail: ONE_BUFFER, ANNOUNCE_FIRST, WORD_STORED, BIT_STORED, FUTEX_WITHOUT_RECHECK,
 * NO_EXIT_EPOCH, NO_MIDDLE_EPOCH, WAITS_FOR_FIRST, FAILED_AFTER_LEFT, LEFT_NOT_MARKED, LEFT_OVER_ARRIVAL,
 * LEFT_NOT_DATED, LEFT_DATED_FROM_START, OPERATOR_LEAVES, ONE_TAG, RELEASE_BEFORE_GATHER, RELEASE_OVERWRITTEN.
 */
#ifndef MEMBERS
#define MEMBERS 2
#endif
#ifndef OPERATIONS
#define OPERATIONS 3
#endif
#ifndef RUNS
#define RUNS 1
#endif
#ifndef THROWS
#define THROWS 0 /* how many bodies may throw */
#endif
#ifndef OPERATOR_THROWS
#define OPERATOR_THROWS 0 /* how many operators on data in place may throw */
#endif
#ifndef RETURNS
#define RETURNS 0 /* how many bodies may return too soon */
#endif
#ifndef SPURIOUS
#define SPURIOUS 1
#endif
#ifndef KINDS
#define KINDS 7 /* bit 0: copied, bit 1: in place, bit 2: split phase */
#endif
#define GROUP 2

#ifndef MASK
#define MASK 31
#endif
#define FIRST_EPOCH (MASK - 2)
#define WAITING 1
#define LEFT 2
#define CHANGED 255
#define WORD(epoch) (((epoch) & MASK) << 2)
#define SHOWS(word, epoch) (((word) >> 2) == (epoch))

/* Words: the slot of member m for even and odd epochs, and what it has released. */
#define SLOT(m, epoch) (3 * (m) + ((epoch) & 1))
#define RELEASED(m) (3 * (m) + 2)
#ifdef ONE_BUFFER
#define BUFFER(m, epoch) (2 * (m))
#else
#define BUFFER(m, epoch) (2 * (m) + ((epoch) & 1))
#endif

byte word[3 * MEMBERS];
byte buffer[2 * MEMBERS];       /* payload and buffer: the epoch that they were filled for */
byte asleep_on[MEMBERS];        /* 1 + the word; the kernel's */
byte spurious = SPURIOUS;

bit failed;
byte start_epoch = FIRST_EPOCH;

/* What is reduced in place: cell q of member m is its element of q's share. Shares are one element. */
byte cell_reads[MEMBERS * MEMBERS];
byte cell_state[MEMBERS * MEMBERS]; /* 0: being written or freed, 1: as brought, 2: reduced, or its operator threw */

/* Ghosts. */
byte kind[OPERATIONS];
byte arrived[MEMBERS];          /* epochs arrived at in this run */
byte buffer_reads[2 * MEMBERS];
byte throws = THROWS;
byte operator_throws = OPERATOR_THROWS;
byte returns = RETURNS;
bit has_left[MEMBERS];
bit has_returned;               /* too soon, in this run */
byte run_number;
byte at_end[MEMBERS];
byte caller_epoch;

inline futex_wake_all(which) {
    d_step {
        sleeper = 0;
        do
        :: sleeper < MEMBERS ->
            if
            :: asleep_on[sleeper] == (which) + 1 -> asleep_on[sleeper] = 0
            :: else
            fi;
            sleeper++
        :: else -> break
        od;
        sleeper = 0
    }
}

inline set_word(which, value) {
#ifdef WORD_STORED
    was_waited = word[which] & WAITING;
    word[which] = value;
#else
    d_step { was_waited = word[which] & WAITING; word[which] = value };
#endif
    if
    :: was_waited -> futex_wake_all(which)
    :: else
    fi
}

/* A poll may be followed by sleep at once: the budget may end after any of them. gone: the member must leave. */
inline await(which, wanted) {
    do
    ::  seen = word[which];
        if
        :: SHOWS(seen, wanted) -> break
        :: else
        fi;
        if
#ifdef LEFT_NOT_DATED
        :: (seen & LEFT) ->
#elif defined(LEFT_DATED_FROM_START)
        :: (seen & LEFT) && (((seen >> 2) - (start_epoch - 1)) & MASK) <= MASK / 2 ->
#else
        :: (seen & LEFT) && (((wanted) - (seen >> 2)) & MASK) <= 2 ->
#endif
            d_step {
                assert(has_left[(which) / 3]);
                if
                :: failed
                :: else -> assert(has_returned); failed = 1
                fi
            };
            gone = 1;
            break
        :: else
        fi;
        /* park */
#ifdef BIT_STORED
        word[which] = seen | WAITING;
        seen = seen | WAITING;
#else
        d_step {
            if
            :: word[which] == seen -> word[which] = seen | WAITING; seen = seen | WAITING
            :: else -> seen = CHANGED
            fi
        };
#endif
        if
        :: seen != CHANGED ->
            d_step {
                if
#ifdef FUTEX_WITHOUT_RECHECK
                :: true -> asleep_on[me] = (which) + 1
#else
                :: word[which] == seen -> asleep_on[me] = (which) + 1
                :: else
#endif
                fi
            };
            if
            :: asleep_on[me] == 0
            :: d_step { asleep_on[me] != 0 && spurious > 0 -> spurious--; asleep_on[me] = 0 }
            fi
        :: else
        fi
    od
}

/* MIXED: member ODD splits the barrier that the others meet in. */
#ifdef MIXED
#ifndef ODD
#define ODD 0
#endif
byte tag[2 * MEMBERS];
#define OWN_TAG (me == ODD -> 4 : 1)
#define TAG(m, epoch) tag[2 * (m) + ((epoch) & 1)]

inline compare(m, epoch) {
    if
    :: !gone && TAG(m, epoch) != OWN_TAG -> d_step { failed = 1; announced = 0; gone = 1 }
    :: else
    fi
}
#endif

inline announce() {
    d_step { epoch = (epoch + 1) & MASK; arrived[me]++; announced = 1 };
#ifdef MIXED
    TAG(me, epoch) = OWN_TAG;
#endif
    set_word(SLOT(me, epoch), WORD(epoch))
}

inline await_rows() {
    other = 0;
    do
    :: other < MEMBERS && !gone ->
        if
        :: other != me -> await(SLOT(other, epoch), epoch)
        :: else
        fi;
#ifdef WAITS_FOR_FIRST
        break;
#endif
        other++
    :: else -> break
    od;
#if defined(MIXED) && !defined(ONE_TAG)
    other = 0;
    do
    :: other < MEMBERS && !gone -> compare(other, epoch); other++
    :: else -> break
    od;
#endif
    other = 0
}

inline pass_tournament() {
    next = (epoch + 1) & MASK;
    winner = me;
    stride = 1;
#ifdef RELEASE_BEFORE_GATHER
    if
    :: me % GROUP == 0 -> set_word(RELEASED(me), WORD(next))
    :: else
    fi;
#endif
    do
    :: stride < MEMBERS && winner == me && !gone ->
        winner = me - me % (stride * GROUP);
        if
        :: winner == me && me + stride < MEMBERS ->
            await(SLOT(me + stride, next), next);
#if defined(MIXED) && !defined(ONE_TAG)
            compare(me + stride, next)
#endif
        :: else
        fi;
        stride = stride * GROUP
    :: else -> break
    od;
    stride = 0;
    if
    :: !gone -> announce()
    :: else
    fi;
    if
    :: !gone && winner != me -> await(RELEASED(winner), next)
    :: else
    fi;
#ifndef RELEASE_BEFORE_GATHER
    if
    :: !gone && me % GROUP == 0 -> set_word(RELEASED(me), WORD(next))
    :: else
    fi;
#endif
    next = 0;
    winner = 0
}

inline finish_meeting() {
    d_step {
        if
        :: !gone ->
            announced = 0;
            other = 0;
            do
            :: other < MEMBERS -> assert(arrived[other] >= arrived[me]); other++
            :: else -> break
            od;
            other = 0
        :: else
        fi
    }
}

inline meet() {
#ifdef TOURNAMENT
    pass_tournament();
#else
    announce();
    await_rows();
#endif
    finish_meeting()
}

/* Fill the own buffer, meet, read all buffers. */
inline copied() {
#ifndef ANNOUNCE_FIRST
    d_step { assert(buffer_reads[BUFFER(me, epoch + 1)] == 0); buffer[BUFFER(me, epoch + 1)] = 255 };
    buffer[BUFFER(me, epoch + 1)] = (epoch + 1) & MASK;
#endif
    meet();
#ifdef ANNOUNCE_FIRST
    buffer[BUFFER(me, epoch)] = epoch;
#endif
    from = 0;
    do
    :: from < MEMBERS && !gone ->
        d_step { assert(buffer[BUFFER(from, epoch)] == epoch); buffer_reads[BUFFER(from, epoch)]++ };
        d_step { assert(buffer[BUFFER(from, epoch)] == epoch); buffer_reads[BUFFER(from, epoch)]-- };
        from++
    :: else -> break
    od;
    from = 0
}

#define CELL(m, share) (MEMBERS * (m) + (share))

inline write_cell(m, share, value) {
    d_step { assert(cell_reads[CELL(m, share)] == 0); cell_state[CELL(m, share)] = 0 };
    cell_state[CELL(m, share)] = value
}

inline read_cell(m, share, value) {
    d_step { assert(cell_state[CELL(m, share)] == value); cell_reads[CELL(m, share)]++ };
    d_step { assert(cell_state[CELL(m, share)] == value); cell_reads[CELL(m, share)]-- }
}

/* reduce_in_place: the caller fills its data, all reduce their shares, all copy the others'. */
inline in_place() {
    from = 0;
    do
    :: from < MEMBERS -> write_cell(me, from, 1); from++
    :: else -> break
    od;
    meet();
    from = 0;
    do
    :: from < MEMBERS && !gone ->
        if
        :: from != me -> read_cell(from, me, 1)
        :: else
        fi;
        from++
    :: else -> break
    od;
    if
    :: !gone -> write_cell(me, me, 2)
    :: !gone && operator_throws > 0 ->
        d_step {
            if
            :: operator_throws > 0 -> operator_throws--; failed = 1
            :: else
            fi
        };
#ifdef OPERATOR_LEAVES
        gone = failed;
#else
        write_cell(me, me, 2)
#endif
    :: else
    fi;
#ifndef NO_MIDDLE_EPOCH
    if
    :: !gone -> meet()
    :: else
    fi;
#endif
    from = 0;
    do
    :: from < MEMBERS && !gone ->
        if
        :: from != me -> read_cell(from, from, 2); write_cell(me, from, 2)
        :: else
        fi;
        from++
    :: else -> break
    od;
    from = 0;
#ifndef NO_EXIT_EPOCH
    if
    :: !gone -> meet()
    :: else
    fi;
#endif
    if
    :: !gone && failed -> gone = 1 /* meet_last */
    :: else
    fi;
    /* The caller's memory goes, also when it leaves. */
    from = 0;
    do
    :: from < MEMBERS -> write_cell(me, from, 0); from++
    :: else -> break
    od;
    from = 0
}

inline split_phase() {
    announce();
    /* Anything may happen here. */
    await_rows();
    finish_meeting()
}

inline leave() {
    has_left[me] = 1;
#ifdef LEFT_OVER_ARRIVAL
    set_word(SLOT(me, epoch), WORD(epoch - 2) | LEFT);
#else
#ifndef LEFT_NOT_MARKED
    set_word(SLOT(me, epoch + 1), WORD(epoch - 1) | LEFT);
#endif
#endif
#ifdef TOURNAMENT
#ifdef RELEASE_OVERWRITTEN
    set_word(RELEASED(me), WORD(epoch - 1) | LEFT)
#else
    if
    :: announced -> set_word(RELEASED(me), WORD(epoch - 1) | LEFT)
    :: else -> set_word(RELEASED(me), WORD(epoch) | LEFT)
    fi
#endif
#endif
}

proctype member(byte me) {
    byte epoch;
    byte operation;
    byte other;
    byte from;
    byte seen;
    byte sleeper;
    byte next;
    byte winner;
    byte stride;
    byte run_done;
    bit was_waited;
    bit announced;
    bit gone;

    do
    :: run_done < RUNS ->
        run_number > run_done;  /* the launch */
        d_step { run_done++; epoch = start_epoch; gone = 0; announced = 0; operation = 0 };
        do
        :: operation < OPERATIONS && !gone ->
            /* The body: goes on, throws, or returns too soon. */
            if
            :: true
            :: throws > 0 ->
#ifdef FAILED_AFTER_LEFT
                d_step { throws--; gone = 1 };
                leave();
                failed = 1
#else
                d_step {
                    if
                    :: throws > 0 -> throws--; failed = 1; gone = 1
                    :: else
                    fi
                }
#endif
            :: returns > 0 ->
                d_step {
                    if
                    :: returns > 0 -> returns--; has_returned = 1; gone = 1
                    :: else
                    fi
                }
            fi;
            if
            :: gone
#ifdef MIXED
            :: !gone && me == ODD -> split_phase()
            :: !gone && me != ODD -> meet()
#else
            :: !gone && kind[operation] == 1 -> copied()
            :: !gone && kind[operation] == 2 -> in_place()
            :: !gone && kind[operation] == 4 -> split_phase()
#endif
            fi;
            operation++
        :: else -> break
        od;
        leave();
        if
        :: me == 0 -> caller_epoch = epoch
        :: else
        fi;
        at_end[me]++
    :: else -> break
    od
}

active proctype team() {
    byte m;

    atomic {
        do
        :: m < OPERATIONS ->
            if
            :: KINDS & 1 -> kind[m] = 1
            :: KINDS & 2 -> kind[m] = 2
            :: KINDS & 4 -> kind[m] = 4
            fi;
            m++
        :: else -> break
        od;
        m = 0;
        do
        :: m < 3 * MEMBERS -> word[m] = WORD(FIRST_EPOCH); m++
        :: else -> break
        od;
        m = 0;
        do
        :: m < MEMBERS -> run member(m); m++
        :: else -> break
        od
    };
    do
    :: run_number < RUNS ->
        run_number++;
        m = 0;
        do
        :: m < MEMBERS -> at_end[m] == run_number; m++ /* the join */
        :: else -> break
        od;
        m = 0;
        d_step {
            start_epoch = (caller_epoch + 4) & MASK;
            failed = 0;
            has_returned = 0;
            do
            :: m < MEMBERS -> has_left[m] = 0; arrived[m] = 0; m++
            :: else -> break
            od;
            m = 0
        }
    :: else -> break
    od
}
