/* Who decides where a thread of a balanced program runs (balance/hold.hpp; hold and widen in balance/moves.cpp; put
 * in balance/waits/lending.cpp), under sequential consistency.
 *
 * One thread. Its owner, which is the thread itself, now and then starts what would inherit its mask, and may pin
 * itself. The controller puts it on one seat and later on another, and releases it each time. LENDERS threads that
 * wait take it onto their CPUs and send it home. KILLS processes (the controller, or that of a lender) are killed at
 * any step; a guard releases what a killed controller held. A word that nobody gives back is taken away; with LATE
 * also one whose holder is only slow, and then nobody is killed.
 *
 * Checked:
 *   what is inherited  the program's mask: what the owner starts gets no other (not with LATE)
 *   the end            whoever was killed, the thread has the program's mask, or the one that it gave itself
 *   no endless wait    nobody waits for a word that does not come back
 *
 * Mutants, each of which must fail: NO_WORD_TO_MOVE, GUEST_UNKNOWN, LOST_WORD_IGNORED, LOST_HOLD_IGNORED,
 * OWN_MASK_WIDENED, GUARD_AS_CONTROLLER, ASKED_AS_HELD, NEXT_UNKNOWN.
 */
#ifndef LENDERS
#define LENDERS 2
#endif
#ifndef STARTS
#define STARTS 2
#endif
#ifndef KILLS
#define KILLS 1
#endif

/* Words. */
#define OWN 0
#define BECOMES 1
#define HELD 2
#define STAYS 3
#define GUEST 4
#define GUARDED 5
#define ASKED 6
#define MOVING 7

/* Masks: the CPUs 1 and 2 are seats, 3 and more those of lenders. */
#define GIVEN 0
#define PINNED 9
#define SEATS 2

/* hold_word: these four change in one step. */
byte word = OWN; /* its state */
byte seat;
byte on;
byte next;
bit lending;
byte mask = GIVEN;
byte narrow; /* the mask in the controller's list, which its guard reads; 0: none */

/* Ghosts. */
byte mover;             /* who has the word MOVING */
bit dead[LENDERS + 1];
bit ended[LENDERS + 1]; /* the last is the controller */
byte kills = KILLS;
bit owner_ended;
bit guard_ended;
bit has_pinned;

#define CONTROLLER LENDERS
#ifdef LATE
#define IS_LOST(who) (1)
#else
#define IS_LOST(who) (dead[who])
#endif

inline may_die(who) {
    if
    :: true
#ifndef LATE
    :: kills > 0 -> kills--; dead[who] = 1; goto killed
#endif
    fi
}

inline begin_release(by) {
    atomic {
        if
        :: word == OWN || word == STAYS -> got = 0
        :: word == ASKED -> word = OWN; got = 0
        :: word == BECOMES || word == HELD || word == GUEST -> word = by; got = 1
        :: word == MOVING && IS_LOST(mover) -> word = by; got = 1
        fi;
        was_on = on;
        was_next = next
    }
}

inline leave_hold() {
    d_step {
        if
        :: word == ASKED || word == BECOMES || word == GUARDED -> word = OWN; seat = 0; on = 0; next = 0
        :: else
        fi
    }
}

#ifdef ASKED_AS_HELD
#define ASKED_WORD BECOMES
#else
#define ASKED_WORD ASKED
#endif
#ifdef GUARD_AS_CONTROLLER
#define AS_GUARD BECOMES
#else
#define AS_GUARD GUARDED
#endif
#ifdef OWN_MASK_WIDENED
#define MAY_WIDEN 1
#else
#define MAY_WIDEN got
#endif
#if defined(GUEST_UNKNOWN)
#define IS_OURS (now == narrow)
#elif defined(NEXT_UNKNOWN)
#define IS_OURS (now == narrow || now == was_on)
#else
#define IS_OURS (now == narrow || now == was_on || now == was_next)
#endif

proctype controller() {
    byte turn;
    byte now;
    byte was_on;
    byte was_next;
    bit got;

    do
    :: turn == SEATS -> break
    :: turn < SEATS ->
        turn++;
        /* holding::hold */
        d_step {
            got = (word == OWN);
            if
            :: got -> word = ASKED_WORD
            :: else
            fi
        };
        if
        :: !got
        :: got ->
            may_die(CONTROLLER);
            now = mask;
            if
            :: now != GIVEN -> leave_hold() /* it was pinned */
            :: now == GIVEN ->
                narrow = turn;
                may_die(CONTROLLER);
#ifndef ASKED_AS_HELD
                /* confirm_hold */
                d_step {
                    got = (word == ASKED);
                    if
                    :: got -> word = BECOMES; seat = turn; on = turn
                    :: else
                    fi
                };
                if
                :: got
                :: !got -> leave_hold(); narrow = 0; goto next_turn
                fi;
                may_die(CONTROLLER);
#endif
                mask = turn;
                may_die(CONTROLLER);
                d_step {
                    got = (word == BECOMES);
                    if
                    :: got -> word = HELD
                    :: else
                    fi
                };
                if
                :: got
#ifdef LOST_HOLD_IGNORED
                :: !got -> narrow = 0
#else
                :: !got -> now = mask;
                    if
                    :: now == narrow -> mask = GIVEN
                    :: else
                    fi;
                    narrow = 0
#endif
                fi;
                lending = 1;
                may_die(CONTROLLER);
                lending = 0;
                may_die(CONTROLLER);
                if
                :: narrow == 0
                :: narrow != 0 ->
                    /* moves::widen */
                    begin_release(BECOMES);
                    now = mask;
                    if
                    :: MAY_WIDEN && IS_OURS -> mask = GIVEN
                    :: else
                    fi;
                    may_die(CONTROLLER);
                    leave_hold();
                    narrow = 0;
                    d_step { now = 0; was_on = 0; was_next = 0 }
                fi
            fi
        fi;
next_turn:
        skip
    od;
killed:
    ended[CONTROLLER] = 1
}

proctype guard() {
    byte now;
    byte look;
    byte was_on;
    byte was_next;
    bit got;

    ended[CONTROLLER];
    do
    :: look == 2 || narrow == 0 -> break
    :: look < 2 && narrow != 0 ->
        look++;
        begin_release(AS_GUARD);
        now = mask;
        if
        :: MAY_WIDEN && IS_OURS -> mask = GIVEN
        :: else
        fi;
        leave_hold()
    od;
    guard_ended = 1
}

/* `home`: to its seat, else to this lender's CPU. */
inline put(from, to, home) {
    d_step {
        got = (word == from);
        if
        :: got ->
            was_seat = seat;
            was_on = on;
            put_on = (home -> seat : me + SEATS + 1);
#ifdef NO_WORD_TO_MOVE
            word = to
#else
            word = MOVING;
            mover = me;
            next = put_on
#endif
        :: else
        fi
    };
    if
    :: !got
    :: got ->
        may_die(me);
        may = (lending && mask == was_on);
        if
        :: may -> mask = put_on; may_die(me)
        :: else
        fi;
#ifndef NO_WORD_TO_MOVE
        d_step {
            got = (word == MOVING && seat == was_seat && on == was_on && next == put_on);
            if
            :: got && may -> word = to; on = put_on; next = 0
            :: got && !may -> word = from; next = 0
            :: else
            fi
        };
#ifndef LOST_WORD_IGNORED
        if
        :: !got && may -> mask = GIVEN
        :: else
        fi;
#endif
        got = 0;
        may = 0;
        put_on = 0;
        was_on = 0;
        was_seat = 0
#endif
    fi
}

proctype lender(byte me) {
    byte put_on;
    byte was_seat;
    byte was_on;
    bit got;
    bit may;

    put(HELD, GUEST, 0);
    may_die(me);
    put(GUEST, HELD, 1);
killed:
    ended[me] = 1
}

proctype owner() {
    byte start;
    bit was_held;

    do
    :: start == STARTS -> break
    :: start < STARTS ->
        start++;
        /* refuse_hold */
        atomic {
            if
            :: word == OWN || word == ASKED -> was_held = 0
            :: word == HELD || word == GUEST -> was_held = 1
            :: word == BECOMES && IS_LOST(CONTROLLER) -> was_held = 1
#ifdef LATE
            :: word == GUARDED -> was_held = 1
#endif
            :: word == MOVING && IS_LOST(mover) -> was_held = 1
            fi;
            word = STAYS;
            seat = 0;
            on = 0;
            next = 0
        };
        if
        :: was_held -> mask = GIVEN
        :: else
        fi;
#ifndef LATE
        assert(mask == (has_pinned -> PINNED : GIVEN));
#endif
        if
        :: true
        :: !has_pinned -> mask = PINNED; has_pinned = 1
        fi;
#ifndef LATE
        assert(mask == (has_pinned -> PINNED : GIVEN));
#endif
        word = OWN /* allow_hold */
    od;
    owner_ended = 1
}

init {
    byte k;
    atomic {
        run controller();
        run guard();
        run owner();
        for (k : 0 .. LENDERS - 1) {
            run lender(k)
        }
    };
    owner_ended && guard_ended;
    for (k : 0 .. LENDERS - 1) {
        ended[k]
    };
    assert(mask == GIVEN || (mask == PINNED && has_pinned));
#ifndef LATE
    assert(!has_pinned || mask == PINNED);
#endif
}
