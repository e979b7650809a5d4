/* Launch and join with one worker where stores reach memory late: each location has a store buffer, and
 * the buffers drain in any order (partial store order, which allows all that x86's TSO allows and more).
 * A release store waits for the stores before it, a release exchange and a seq_cst fence wait for all.
 *
 * Checked: no lost wake-up (invalid end state); the worker reads the fields of the loop it was launched for;
 * the caller reads the results of the loop it has joined.
 *
 * Mutants, each of which must fail: NO_CALLER_FENCE, NO_WORKER_FENCE, TICKET_STORE_RELAXED,
 * DONE_EXCHANGE_RELAXED, and, as what a relaxed load allows, a plain load done before it:
 * TICKET_LOAD_RELAXED, DONE_LOAD_RELAXED.
 * TSO (buffers drain in the order of the stores) restricts the search to x86: the fence mutants must fail
 * there too, and TICKET_STORE_RELAXED must pass, which shows that the two models differ as they should.
 */
#ifndef LOOPS
#define LOOPS 3
#endif

#define NEXT(ticket) (((ticket) + 2) & 3)
#define WAITING 1

/* Memory, as other processors see it. */
byte ticket_word;
bit parked_word;
byte done_word;
byte fields;  /* the mailbox's plain fields: which loop they describe */
byte results; /* the report's plain fields: which loop they come from */

/* Store buffers of one entry a location: the protocol never stores to one again before it has drained. */
typedef entry {
    bit pending;
    byte value;
};
entry caller_ticket;
entry caller_fields;
entry worker_parked;
entry worker_results;

bit asleep_on_ticket;
bit asleep_on_done;
bit spurious = 1;

#define CALLER_DRAINED (!caller_ticket.pending && !caller_fields.pending)
#define WORKER_DRAINED (!worker_parked.pending && !worker_results.pending)

inline put(buffer, what) {
    d_step { !buffer.pending -> buffer.pending = 1; buffer.value = what }
}

/* When a buffer may drain: its release store's turn, or program order. */
#if defined(TICKET_STORE_RELAXED) && !defined(TSO)
#define TICKET_MAY_DRAIN true
#else
#define TICKET_MAY_DRAIN (!caller_fields.pending)
#endif
#ifdef TSO
#define RESULTS_MAY_DRAIN (!worker_parked.pending)
#else
#define RESULTS_MAY_DRAIN true
#endif

inline drain(location, buffer) {
    location = buffer.value;
    buffer.pending = 0;
    buffer.value = 0
}

/* The two processors' buffers drain whenever they please. */
active proctype memory() {
end:
    do
    :: d_step { caller_fields.pending -> drain(fields, caller_fields) }
    :: d_step { caller_ticket.pending && TICKET_MAY_DRAIN -> drain(ticket_word, caller_ticket) }
    :: d_step { worker_parked.pending -> drain(parked_word, worker_parked) }
    :: d_step { worker_results.pending && RESULTS_MAY_DRAIN -> drain(results, worker_results) }
    od
}

/* Conservative: the system call is taken to be no fence for the processor that makes it. */
inline futex_wait(word, expected, asleep) {
    d_step {
        if
        :: (word) == (expected) -> asleep = 1
        :: else
        fi
    };
    if
    :: !asleep
    :: d_step { asleep && spurious -> spurious = 0; asleep = 0 }
    fi
}

active proctype worker() {
    byte last;
    byte ticket;
    byte loop;
    byte early;
    bit waiting;

    do
    :: loop < LOOPS ->
        early = fields;
        ticket = ticket_word;
        if
        :: ticket == last ->
            put(worker_parked, 1);
#ifndef NO_WORKER_FENCE
            WORKER_DRAINED;
#endif
            do
            :: early = fields;
               ticket = ticket_word;
               if
               :: ticket != last -> break
               :: else
               fi;
               futex_wait(ticket_word, last, asleep_on_ticket)
            od;
            put(worker_parked, 0)
        :: else
        fi;
        last = ticket;
        loop++;
#ifdef TICKET_LOAD_RELAXED
        assert(early == loop);
#else
        assert(fields == loop);
#endif
        early = 0;
        put(worker_results, loop);
#ifndef DONE_EXCHANGE_RELAXED
        WORKER_DRAINED;
#endif
        d_step { waiting = done_word & WAITING; done_word = ticket };
        if
        :: waiting -> asleep_on_done = 0
        :: else
        fi
    :: else -> break
    od
}

active proctype caller() {
    byte ticket;
    byte before;
    byte seen;
    byte loop;
    byte early;
    bit retry;

    do
    :: loop < LOOPS ->
        loop++;
        before = ticket;
        ticket = NEXT(ticket);
        put(caller_fields, loop);
        put(caller_ticket, ticket);
#ifndef NO_CALLER_FENCE
        CALLER_DRAINED;
#endif
        if
        :: parked_word -> asleep_on_ticket = 0
        :: else
        fi;
        early = results;
        seen = done_word;
        do
        :: seen == ticket -> break
        :: else ->
            retry = 0;
            if
            :: seen == before ->
                early = results;
                d_step {
                    if
                    :: done_word == before -> done_word = before | WAITING
                    :: else -> seen = done_word; retry = 1
                    fi
                }
            :: else
            fi;
            if
            :: retry
            :: else ->
                futex_wait(done_word, before | WAITING, asleep_on_done);
                early = results;
                seen = done_word
            fi
        od;
#ifdef DONE_LOAD_RELAXED
        assert(early == loop);
#else
        assert(results == loop);
#endif
        early = 0
    :: else -> break
    od
}
