/* Who decides where a thread of a balanced program runs (balance/hold.hpp; make, hold and widen in balance/moves.cpp;
 * put in balance/waits/lending.cpp; pull in balance/waits/steps.cpp), under sequential consistency.
 *
 * One thread. Its owner, which is the thread itself, now and then starts what would inherit its mask, and may pin
 * itself. The controller puts it on one seat and later on another, and releases it each time. LENDERS threads that
 * wait take it onto their CPUs and send it home, and go on with what another one has begun once they see the mask;
 * each has TURNS, the first lender MORE_TURNS more.
 * A thread of the owner's own process puts it on a CPU PULLS times while nobody holds it, and gives it its mask back.
 * KILLS processes (the controller, or that of a lender) are killed at
 * any step; a guard releases what a killed controller held. A word that nobody gives back is taken away; with LATE
 * also one whose holder is only slow, and then nobody is killed.
 *
 * Checked:
 *   what is inherited  the program's mask: what the owner starts gets no other (not with LATE)
 *   the end            whoever was killed, the thread has the program's mask, or the one that it gave itself
 *   no endless wait    nobody waits for a word that does not come back
 *
 * Mutants, each of which must fail: NO_WORD_TO_MOVE, GUEST_UNKNOWN, LOST_WORD_IGNORED, LOST_HOLD_IGNORED,
 * OWN_MASK_WIDENED, GUARD_AS_CONTROLLER, ASKED_AS_HELD, NEXT_UNKNOWN, MASK_NOT_SEEN,
 * SET_RIGHT_WITHOUT_WORD, NOT_CLAIMED, MOVES_ALIKE, PULLED_WITHOUT_WORD.
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
#ifndef TURNS
#define TURNS 2
#endif
#ifndef MORE_TURNS
#define MORE_TURNS 0
#endif
#ifndef PULLS
#define PULLS 0
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

/* Masks: the CPUs 1 and 2 are seats, 3 and more those of lenders, 8 that of who pulls. */
#define GIVEN 0
#define PULLED 8
#define PINNED 9
#define SEATS 2

/* hold_word: these six change in one step. */
byte word = OWN; /* its state */
byte seat;
byte on;
byte next;
byte mover;  /* whose move it is */
bit claimed; /* by another lender, which looks at the mask */
bit lending;
byte mask = GIVEN;
byte narrow; /* the mask in the controller's list, which its guard reads; 0: none */

/* Ghosts. */
byte has_it;            /* who has the word MOVING */
bit dead[LENDERS + 1];
bit ended[LENDERS + 2]; /* the last but one is the controller, the last who pulls */
byte kills = KILLS;
bit owner_ended;
bit guard_ended;
bit has_pinned;

#define CONTROLLER LENDERS
#define PULLER (LENDERS + 1)
#ifdef LATE
#define IS_LOST(who) (1)
#else
#define IS_LOST(who) ((who) <= CONTROLLER && dead[who])
#endif

inline may_die(who) {
    if
    :: true
#ifndef LATE
    :: atomic { kills > 0 -> kills--; dead[who] = 1; goto killed }
#endif
    fi
}

inline begin_release(by) {
    atomic {
        if
        :: word == OWN || word == STAYS -> got = 0
        :: word == ASKED -> word = OWN; got = 0
        :: word == BECOMES || word == HELD || word == GUEST -> word = by; got = 1
        :: word == MOVING && IS_LOST(has_it) -> word = by; claimed = 0; got = 1
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
                atomic {
                    got = (word == BECOMES);
                    if
                    :: got -> word = HELD
                    :: got /* moves::make gives it back at once */
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

#ifdef MOVES_ALIKE
#define IS_SAME_MOVER(who) (1)
#else
#define IS_SAME_MOVER(who) (mover == (who))
#endif
/* Of a lender that has begun a move from `was_on` to `put_on`. */
#define IS_MY_MOVE \
    (word == MOVING && IS_SAME_MOVER(me) && !claimed && seat == was_seat && on == was_on && next == put_on)
/* Perhaps claimed. */
#define SAYS_MY_MOVE \
    (word == MOVING && IS_SAME_MOVER(me) && seat == was_seat && on == was_on && next == put_on)
/* end_move, or cancel_move: `back` is what the word was. */
inline leave_my_move(back) {
    do
    ::  d_step {
            got = IS_MY_MOVE;
            if
            :: got && may -> end_my_move()
            :: got && !may -> word = back; next = 0
            :: else
            fi
        };
        if
        :: got || may || !SAYS_MY_MOVE -> break
        :: !got && !may && SAYS_MY_MOVE ->
            !claimed || !SAYS_MY_MOVE || IS_LOST(has_it);
            if
            :: claimed && SAYS_MY_MOVE -> break
            :: else
            fi
        fi
    od
}
inline end_my_move() {
    word = (next == seat -> HELD : GUEST);
    on = next;
    next = 0
}

/* By a lender that has set the mask `put_on` and finds that the word is not his any more: gives back the program's
 * mask, with the word in his hands, unless the mask has changed or is what the word says. */
inline set_right() {
#ifdef SET_RIGHT_WITHOUT_WORD
    do
    ::  d_step {
            got = IS_MY_MOVE;
            if
            :: got -> end_my_move()
            :: else
            fi
        };
        if
        :: got || !SAYS_MY_MOVE -> break
        :: else -> !claimed || !SAYS_MY_MOVE
        fi
    od;
    if
    :: !got && mask == put_on -> mask = GIVEN
    :: else
    fi
#else
    do
    :: mask != put_on || ((word == HELD || word == GUEST) && on == put_on) -> break
    :: mask == put_on ->
        d_step {
            got = IS_MY_MOVE;
            if
            :: got -> end_my_move()
            :: else
            fi
        };
        if
        :: got -> break
        :: else
        fi;
        d_step {
            got = (word == OWN || word == ASKED || ((word == HELD || word == GUEST) && on != put_on) ||
                   (word == MOVING && IS_LOST(has_it)));
            if
            :: got ->
                if
                :: word == OWN || word == ASKED -> was_word = OWN; seat = put_on; on = put_on
                :: word == MOVING -> was_word = (on == seat -> HELD : GUEST)
                :: else -> was_word = word
                fi;
                was_seat = seat;
                was_on = on;
                next = 0;
                word = MOVING;
                claimed = 0;
                mover = me;
                has_it = me
            :: else
            fi
        };
        if
        :: got ->
            may_die(me);
            if
            :: was_word != OWN || mask == put_on -> mask = GIVEN
            :: else
            fi;
            may_die(me);
            d_step {
                got = (word == MOVING && IS_SAME_MOVER(me) && seat == was_seat && on == was_on && next == 0);
                if
                :: got && was_word == OWN -> word = OWN; seat = 0; on = 0
                :: got && was_word != OWN -> word = was_word
                :: else
                fi
            };
            break
        :: !got -> /* it comes back, if need be by the guard */
            word == OWN || word == ASKED || word == HELD || word == GUEST || (word == MOVING && IS_LOST(has_it)) ||
                IS_MY_MOVE
        fi
    od;
    skip
#endif
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
            has_it = me;
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
        leave_my_move(from);
#ifndef LOST_WORD_IGNORED
        if
        :: !got && may -> set_right()
        :: else
        fi;
#endif
        got = 0;
        may = 0;
        put_on = 0;
        was_on = 0;
        was_seat = 0;
        was_word = 0
#endif
    fi
}

/* The same, where another lender has put it somewhere and has not said so yet. */
inline go_on() {
#ifdef MASK_NOT_SEEN
#define IS_SEEN(cpu) (1)
#else
#define IS_SEEN(cpu) (mask == (cpu))
#endif
    d_step {
        got = (word == MOVING && mover != me && !claimed && next != 0 && next != on && IS_SEEN(next));
        was_mover = mover;
        was_seat = seat;
        from_on = on;
        was_on = next;
        put_on = (was_on == was_seat -> me + SEATS + 1 : was_seat)
    };
#define IS_FOUND \
    (word == MOVING && IS_SAME_MOVER(was_mover) && seat == was_seat && on == from_on && next == was_on)
    /* begin_move */
    if
    :: !got
    :: got ->
#ifndef NOT_CLAIMED
        d_step {
            got = (IS_FOUND && !claimed);
            if
            :: got -> claimed = 1; has_it = me
            :: else
            fi
        };
        if
        :: got ->
            may_die(me);
            got = IS_SEEN(was_on);
            if
            :: !got ->
                d_step {
                    if
                    :: IS_FOUND && claimed -> claimed = 0; has_it = mover
                    :: else
                    fi
                }
            :: else
            fi
        :: else
        fi;
#endif
        if
        :: got ->
            d_step {
#ifdef NOT_CLAIMED
                got = (IS_FOUND && !claimed);
#else
                got = (IS_FOUND && claimed);
#endif
                if
                :: got -> claimed = 0; mover = me; has_it = me; on = was_on; next = put_on
                :: else
                fi
            }
        :: else
        fi;
        if
        :: !got
        :: got ->
            may_die(me);
            may = (lending && mask == was_on);
            if
            :: may -> mask = put_on; may_die(me)
            :: else
            fi;
            leave_my_move((was_on == was_seat -> HELD : GUEST));
            if
            :: !got && may -> set_right()
            :: else
            fi
        fi
    fi;
    d_step { got = 0; may = 0; put_on = 0; was_on = 0; was_seat = 0; from_on = 0; was_word = 0; was_mover = 0 }
}

proctype lender(byte me) {
    byte put_on;
    byte was_seat;
    byte was_on;
    byte from_on;
    byte was_word;
    byte was_mover;
    byte turn = 0;
    bit got;
    bit may;

    do
    :: turn < TURNS + (me == 0 -> MORE_TURNS : 0) ->
        if
        :: turn % 2 == 0 -> put(HELD, GUEST, 0)
        :: turn % 2 == 1 -> put(GUEST, HELD, 1)
        :: go_on()
        fi;
        turn++;
        may_die(me)
    :: else -> break
    od;
killed:
    ended[me] = 1
}

/* It is never killed alone: with it ends the thread that it pulls. */
proctype puller() {
    byte pulls;
    bit got;

    do
    :: pulls == PULLS -> break
    :: pulls < PULLS ->
        pulls++;
        /* begin_pull */
        d_step {
            got = (word == OWN);
            if
            :: got ->
#ifndef PULLED_WITHOUT_WORD
                word = MOVING;
                seat = PULLED;
                on = PULLED;
                next = 0;
                mover = PULLER;
                has_it = PULLER
#endif
            :: else
            fi
        };
        if
        :: got && mask == GIVEN ->
            mask = PULLED;
            if
            :: mask == PULLED -> mask = GIVEN
            :: else
            fi
        :: else
        fi;
        /* end_giving_back */
        d_step {
            if
            :: word == MOVING && IS_SAME_MOVER(PULLER) && seat == PULLED && on == PULLED && next == 0 ->
                word = OWN;
                seat = 0;
                on = 0
            :: else
            fi
        }
    od;
    ended[PULLER] = 1
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
            :: word == MOVING && IS_LOST(has_it) -> was_held = 1
            fi;
            word = STAYS;
            seat = 0;
            on = 0;
            next = 0;
            claimed = 0
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
#if PULLS > 0
        run puller();
#endif
        for (k : 0 .. LENDERS - 1) {
            run lender(k)
        }
    };
    owner_ended && guard_ended && (PULLS == 0 || ended[PULLER]);
    for (k : 0 .. LENDERS - 1) {
        ended[k]
    };
    assert(mask == GIVEN || (mask == PINNED && has_pinned));
#ifndef LATE
    assert(!has_pinned || mask == PINNED);
#endif
}
