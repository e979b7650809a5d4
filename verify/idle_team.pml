/* The team that makes libgomp's waits sleep soon (balance/waits/idle_team.cpp), under sequential consistency.
 *
 * A controller changes its wish WISHES times. The program's own thread looks at it at each of its forks, and
 * begins or ends a team; a team's thread sleeps on a futex while the number is the one that it began with.
 *
 * Checked:
 *   one team      of the teams that have not ended, at most one has the number of now
 *   as wished     behind the last fork there is a team exactly where it was wished
 *   no leftover   all others end; an invalid end state of the program otherwise
 *
 * Mutants, each of which must fail: END_WITHOUT_WAKE, WAITS_WHILE_ODD, WAKES_FIRST.
 */
#ifndef WISHES
#define WISHES 4
#endif
#define MOST (WISHES + 2)

byte turn;
bit wish;
byte changes;
bit asleep[MOST];
bit there[MOST];

#ifdef WAITS_WHILE_ODD
#define is_own(own) (turn % 2 == 1)
#else
#define is_own(own) (turn == own)
#endif

proctype team(byte own) {
    do
    :: atomic { is_own(own) -> asleep[own] = 1 };  /* the futex compares, and sleeps */
       end_asleep: !asleep[own]  /* the last team may; of others the program waits for the end */
    :: atomic { !is_own(own) -> there[own] = 0; break }
    od
}

inline wake_all() {
    d_step {
        k = 0;
        do
        :: k < MOST -> asleep[k] = 0; k++
        :: else -> break
        od;
        k = 0
    }
}

/* What is done about the wish as it is seen now. */
inline follow() {
    seen = wish;
    if
    :: seen == turn % 2 -> skip
    :: seen != turn % 2 && turn % 2 == 1 ->
#ifdef WAKES_FIRST
        wake_all();
        turn++
#else
        turn++;
#ifndef END_WITHOUT_WAKE
        wake_all()
#endif
#endif
    :: seen != turn % 2 && turn % 2 == 0 ->
        atomic { turn++; there[turn] = 1; run team(turn) }
    fi
}

active proctype controller() {
    do
    :: changes < WISHES -> atomic { wish = 1 - wish; changes++ }
    :: else -> break
    od
}

active proctype program() {
    byte k;
    byte others;
    bit seen;
    do
    :: follow()
    :: changes == WISHES -> break
    od;
    follow();
    assert(turn % 2 == wish);
    /* The others come to their end: or else this one waits for ever. */
    k = 0;
    do
    :: k < MOST ->
        (k == turn && turn % 2 == 1) || !there[k];
        assert(!(k == turn && turn % 2 == 1) || there[k]);
        k++
    :: else -> break
    od;
    k = 0;
    end_of_program:
    (false)
}
