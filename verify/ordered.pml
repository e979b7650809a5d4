/* The one share of an ordered loop (take_in_order in include/tauto/schedule.hpp): fast members take from its
 * front, slow ones from its back, and a slow one may leave at any part.
 *
 * Member 0 is fast, the others are slow or fast. A load and a compare-exchange are one step each, and every
 * interleaving is searched.
 *
 * Checked: no part is handed out twice; when all members have finished, all parts have been handed out.
 * With `pan -l` (PROGRESS): no endless run in which no part is handed out.
 *
 * Mutants, each of which must fail: TAKER_STORES (no compare-exchange), END_COMPARED (only the end that is
 * moved is compared), FAST_LEAVES.
 */
#define MEMBERS 3
#ifndef PARTS
#define PARTS 5
#endif
/* Bit of each slow member. */
#ifndef SLOW
#define SLOW 6
#endif

#define PACK(begin, end) ((end) << 4 | (begin))
#define BEGIN(word) ((word) & 15)
#define END(word) ((word) >> 4)

byte share = PACK(0, PARTS);

/* Ghosts. */
short handed_out; /* bit of each part */
byte finished;

#ifdef TAKER_STORES
#define UNCHANGED true
#else
#ifdef END_COMPARED
#define UNCHANGED (slow -> END(share) == END(word) : BEGIN(share) == BEGIN(word))
#else
#define UNCHANGED share == word
#endif
#endif

active [MEMBERS] proctype member() {
    byte word;
    byte part;
    bool slow = (SLOW >> _pid) & 1;

    word = share;
    do
    :: BEGIN(word) >= END(word) -> break
    :: BEGIN(word) < END(word) ->
        if
#ifdef FAST_LEAVES
        :: true -> break
#else
        :: slow -> break /* the others would end sooner */
#endif
        :: true ->
            atomic {
                if
                :: UNCHANGED ->
                    if
                    :: slow -> part = END(word) - 1; share = PACK(BEGIN(word), part)
                    :: else -> part = BEGIN(word); share = PACK(part + 1, END(word))
                    fi;
                    assert((handed_out & (1 << part)) == 0);
                    handed_out = handed_out | (1 << part);
                    part = 0
                :: else -> word = share; goto again
                fi
            };
#ifdef PROGRESS
progress:
#endif
            word = share;
again:      skip
        fi
    od;

    atomic {
        word = 0;
        finished++;
        assert(finished < MEMBERS || handed_out == (1 << PARTS) - 1)
    }
}
