/* Threads that use one team take turns, and a loop that runs on its thread alone has no turn meanwhile (turns in
 * runtime/turns.cpp; run_alone and ~team_state in runtime/team.cpp), under sequential consistency.
 *
 * CALLERS threads make CALLS calls each: a loop that forks, or one that runs alone, either at will. Who waits may
 * give up (GIVE_UPS times in all) and then runs without a turn. Once each thread's last call has the turn or a place
 * in the queue, one more thread ends the team.
 *
 * Checked:
 *   one turn           one thread at a time uses the members, and who has the turn alone touches a model
 *   no endless wait    a turn that is never passed on is an invalid end state
 *   first come, first  the turn goes to the first of the queue, or to a thread that finds it free; with LOW the
 *                      first thread's calls come behind all others that wait, may have two turns, and
 *                      so does the end
 *   the end            nothing of the team is touched after it
 *
 * Mutants, each of which must fail: COUNTED_LATE, COUNTED_OUT_EARLY, NOT_COUNTED, TAUGHT_WITHOUT_TURN,
 * WAITS_TO_TEACH, COUNT_READ_FIRST, WANTED_MISSED, GIVEN_BACK_BLINDLY, NO_SECOND_LOOK, ENDED_AT_ONCE; and with LOW
 * PAUSES_NOT_COUNTED, CALLERS_LAST.
 */
#ifndef CALLERS
#define CALLERS 2
#endif
#ifndef CALLS
#define CALLS 2
#endif
#ifndef GIVE_UPS
#define GIVE_UPS 1
#endif
#define THREADS (CALLERS + 1)
#ifdef LOW
#ifdef CALLERS_LAST
#define IS_LOW(thread) (thread == 0)
#else
#define IS_LOW(thread) (thread == 0 || thread == CALLERS)
#endif
#else
#define IS_LOW(thread) 0
#endif

#define FREE 0
#define TAKEN 1
#define WANTED 2

byte state;                                  /* turns::state_ */
bit queue;                                   /* the mutex: taken */
chan waiting = [THREADS] of { byte };        /* turns::waiting_: those of normal priority, */
chan waiting_low = [THREADS] of { byte };    /* and behind them those of low */
bit has_turn[THREADS];
byte alone;                                  /* team_state::alone */
byte pausing;                                /* team_state::pausing */

/* Ghosts. */
bit ended;
byte holders;
byte last_calls;                             /* that have the turn or a place in the queue */
bit noted[THREADS];
byte give_ups = GIVE_UPS;

#define TOUCH assert(!ended)

inline lock_queue() {
    atomic { queue == 0 -> TOUCH; queue = 1 }
}
inline unlock_queue() {
    d_step { TOUCH; queue = 0 }
}

inline note_place() {
    if
    :: call == CALLS && !noted[me] -> noted[me] = 1; last_calls++
    :: else
    fi
}

inline take_if_free() {
    d_step {
        TOUCH;
        if
        :: state == FREE -> state = TAKEN; got = 1
        :: else -> got = 0
        fi
    }
}

/* turns::wait_for_turn after take_if_free. */
inline take(may_give_up) {
    atomic {
        take_if_free();
        if
        :: got -> note_place()
        :: else
        fi
    };
    if
    :: got
    :: else ->
        lock_queue();
#ifdef WANTED_MISSED
        was_free = 0;
#else
        d_step { was_free = (state == FREE); state = WANTED };
#endif
        if
        :: was_free -> d_step { note_place() }; got = 1
        :: else ->
            d_step {
                has_turn[me] = 0;
                if
                :: IS_LOW(me) -> waiting_low ! me
                :: else -> waiting ! me
                fi;
                note_place()
            };
            unlock_queue();
            if
            :: atomic { has_turn[me] && queue == 0 -> queue = 1 };
                got = 1
            :: atomic { may_give_up && give_ups > 0 -> give_ups-- };
                lock_queue();
                if
#ifndef NO_SECOND_LOOK
                :: has_turn[me] -> got = 1
                :: !has_turn[me] && IS_LOW(me) -> waiting_low ?? eval(me)
                :: !has_turn[me] && !IS_LOW(me) -> waiting ?? eval(me)
#else
                :: has_turn[me]
                :: else -> waiting ?? eval(me)
#endif
                fi
            fi
        fi;
        unlock_queue()
    fi;
    if
    :: got -> d_step { holders++; assert(holders == 1) }
    :: else
    fi
}

inline give_back() {
    d_step { holders-- };
#ifdef GIVEN_BACK_BLINDLY
    d_step { TOUCH; state = FREE; passes = 0 };
#else
    d_step {
        TOUCH;
        if
        :: state == TAKEN -> state = FREE; passes = 0
        :: else -> passes = 1
        fi
    };
#endif
    if
    :: passes ->
        lock_queue();
        if
        :: empty(waiting) && empty(waiting_low) -> state = FREE
        :: nempty(waiting) -> d_step { waiting ? first; has_turn[first] = 1 }
        :: empty(waiting) && nempty(waiting_low) -> d_step { waiting_low ? first; has_turn[first] = 1 }
        fi;
        unlock_queue()
    :: else
    fi
}

inline run_alone() {
#if !defined(COUNTED_LATE) && !defined(NOT_COUNTED)
    d_step { TOUCH; alone++ };
#endif
    give_back();
#ifdef COUNTED_LATE
    d_step { TOUCH; alone++ };
#endif
    /* the loop */
#ifdef COUNTED_OUT_EARLY
    alone--;
#endif
#if defined(TAUGHT_WITHOUT_TURN)
    d_step { TOUCH; assert(holders == 0) };
#elif defined(WAITS_TO_TEACH)
    take(0);
    give_back();
#else
    take_if_free(); /* take_at_once */
    if
    :: got ->
        d_step { holders++; assert(holders == 1) };
        give_back()
    :: else
    fi;
#endif
#if !defined(COUNTED_OUT_EARLY) && !defined(NOT_COUNTED)
    d_step { TOUCH; alone-- };
#endif
}

proctype caller(byte me) {
    byte call;
    byte first;
    bit got;
    bit was_free;
    bit passes;

    do
    :: call < CALLS ->
        call++;
        take(1);
        if
        :: got -> give_back()
        :: got -> run_alone()
        :: !got /* runs without a turn */
        fi
#ifdef LOW
    :: call < CALLS && me == 0 -> /* run_with_pauses */
        call++;
#ifndef PAUSES_NOT_COUNTED
        d_step { TOUCH; pausing++ };
#endif
        take(1);
        if
        :: got -> give_back()
        :: else
        fi;
        take(1);
        if
        :: got -> give_back()
        :: else
        fi;
#ifndef PAUSES_NOT_COUNTED
        d_step { TOUCH; pausing-- }
#endif
#endif
    :: else -> break
    od
}

active proctype ender() {
    byte me = CALLERS;
    byte call;
    byte first;
    bit got;
    bit was_free;
    bit passes;

    atomic {
        do
        :: first < CALLERS -> run caller(first); first++
        :: else -> break
        od;
        first = 0
    };
    last_calls == CALLERS;
#ifdef COUNT_READ_FIRST
    alone == 0;
    take(0);
#else
again:
    take(0);
    if
    :: pausing > 0 -> give_back(); goto again
    :: else
    fi;
    alone == 0;
#endif
#ifndef ENDED_AT_ONCE
    lock_queue();
    unlock_queue();
#endif
    give_back();
    assert(empty(waiting));
    ended = 1
}
