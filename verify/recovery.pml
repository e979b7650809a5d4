/* A child of fork that uses its parent's team (team_state::take_turn in runtime/team.cpp, start_workers in
 * runtime/launcher.cpp), under sequential consistency.
 *
 * The fork came while a thread of the parent had the turn. CALLERS threads of the child make CALLS calls each; the
 * system refuses to give threads FAILS times.
 *
 * Checked:
 *   no endless wait    a call that waits for members that do not exist, or for a turn that a thread of the parent
 *                      has, is an invalid end state
 *   one recovery       members are made once, by one thread, while nobody has the turn
 *   one turn           one thread at a time uses the team
 *
 * Mutants, each of which must fail: STORED_FIRST, NO_RECOVERY_LOCK, NO_SECOND_LOOK, TURN_KEPT.
 */
#ifndef CALLERS
#define CALLERS 3
#endif
#ifndef CALLS
#define CALLS 2
#endif
#ifndef FAILS
#define FAILS 2
#endif

bit lost = 1;        /* the launcher's generation is not that of the process */
bit turn = 1;        /* the mutex: taken */
bit recovery;        /* the mutex: taken */
bit members;         /* they exist */

/* Ghosts. */
byte fails = FAILS;
byte recovering;
byte holders;        /* of the turn, in this process */

inline recover() {
    d_step { assert(recovering == 0 && holders == 0 && !members); recovering++ };
#ifndef TURN_KEPT
    turn = 0;
#endif
#ifdef STORED_FIRST
    lost = 0;
#endif
    if
    :: true -> members = 1
    :: d_step { fails > 0 -> fails--; refused = 1 }
    fi;
    d_step { recovering-- };
#ifndef STORED_FIRST
    if
    :: !refused -> lost = 0
    :: else
    fi
#endif
}

proctype caller() {
    byte call;
    bit refused;

    do
    :: call < CALLS ->
        refused = 0;
        if
        :: lost ->
#ifndef NO_RECOVERY_LOCK
            atomic { !recovery -> recovery = 1 };
#endif
            if
#ifdef NO_SECOND_LOOK
            :: true -> recover()
#else
            :: lost -> recover()
            :: else
#endif
            fi;
#ifndef NO_RECOVERY_LOCK
            recovery = 0
#endif
        :: else
        fi;
        if
        :: refused /* tauto::error */
        :: else ->
            atomic { !turn -> turn = 1; holders++ };
            assert(holders == 1 && recovering == 0);
            members; /* launch and join */
            d_step { holders--; turn = 0 }
        fi;
        call++
    :: else -> break
    od
}

active proctype child() {
    byte started;
    atomic {
        do
        :: started < CALLERS -> run caller(); started++
        :: else -> break
        od
    }
}
