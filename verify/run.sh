#!/usr/bin/env bash
# Searches every model with spin: what must hold is proved for its bounds, and what must fail has to fail
# in the way given. One line a model, then the count; exit code 1 on any surprise.
#
#   verify/run.sh                    all models
#   verify/run.sh launch             those of launch.pml
#   verify/run.sh --short launch     without its longest searches
set -u
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
compiler=${CC:-gcc}
memory_limit_mb=1500
time_limit_seconds=80  # of a CPU: a busy machine is no reason to give up

die() {
    echo "verify: error: $*" >&2
    exit 1
}
command -v spin >/dev/null || die "spin was not found; install the package spin (Debian, Ubuntu: apt install spin)"
command -v "${compiler%% *}" >/dev/null || die "$compiler was not found; install the package gcc"

short=
if [[ ${1:-} == --short ]]; then
    short=yes
    shift
fi

# model | search: safety or cycles | must: pass, deadlock, assertion or cycle | definitions; LONG: not with --short
models='
launch         safety  pass
launch         safety  pass       WORKERS=3 LOOPS=1 SPURIOUS=1
launch         cycles  pass       LOOPS=2
launch         safety  pass       LONG LOOPS=2 REGIONS=1
launch         safety  pass       LOOPS=1 REGIONS=2
launch         safety  pass       WORKERS=3 LOOPS=0 REGIONS=2 SPURIOUS=1
launch         cycles  pass       LOOPS=1 REGIONS=1
launch         safety  deadlock   FUTEX_WITHOUT_RECHECK
launch         safety  deadlock   PARKED_READ_FIRST
launch         safety  deadlock   DONE_STORED
launch         safety  deadlock   BIT_STORED
launch         safety  assertion  DONE_BEFORE_RUN
launch         safety  assertion  JOIN_SKIPS_LAST
launch         safety  deadlock   END_WITHOUT_WAKE
launch         cycles  cycle      BIT_KEPT
launch         safety  assertion  LOOPS=1 REGIONS=1 INVITED_WITHOUT_WAKE
launch         safety  assertion  LOOPS=1 REGIONS=1 INVITATION_KEPT
launch         safety  assertion  LOOPS=1 REGIONS=1 INVITATION_LAUNCHES
launch         safety  assertion  LOOPS=1 REGIONS=1 INVITATION_REMEMBERED
launch         safety  assertion  LOOPS=1 REGIONS=1 SLEEPERS_LEFT
launch         safety  assertion  LOOPS=1 REGIONS=1 SLEEP_UNSAID
store_buffers  safety  pass
store_buffers  cycles  pass
store_buffers  safety  deadlock   NO_CALLER_FENCE
store_buffers  safety  deadlock   NO_WORKER_FENCE
store_buffers  safety  assertion  TICKET_STORE_RELAXED
store_buffers  safety  assertion  TICKET_LOAD_RELAXED
store_buffers  safety  assertion  DONE_EXCHANGE_RELAXED
store_buffers  safety  assertion  DONE_LOAD_RELAXED
store_buffers  safety  pass       TSO
store_buffers  safety  deadlock   TSO NO_CALLER_FENCE
store_buffers  safety  deadlock   TSO NO_WORKER_FENCE
store_buffers  safety  pass       TSO TICKET_STORE_RELAXED
adaptive       safety  pass
adaptive       safety  pass       GRAIN=2 DIVISOR=4 SPEED0=1 SPEED1=1 SPEED2=1 BOUND1=2 BOUND2=4
adaptive       safety  pass       GRAIN=3 SPEED0=4 SPEED1=1 SPEED2=1 BOUND1=0 BOUND2=3
adaptive       safety  pass       MAY_STEAL=1
adaptive       safety  pass       MAY_STEAL=3
adaptive       cycles  pass       MAY_STEAL=1
adaptive       cycles  pass
adaptive       cycles  cycle      PUBLISH_FIRST
adaptive       safety  pass       ABA_WITNESS
adaptive       safety  assertion  PUBLISH_FIRST ABA_WITNESS UNITS=3 BOUND2=2
adaptive       safety  assertion  THIEF_STORES
adaptive       safety  assertion  OWNER_STORES
adaptive       safety  assertion  STORE_BEFORE_EXCHANGE
adaptive       safety  assertion  BUSY_THIEF
adaptive       safety  assertion  PUBLISH_FIRST SIZE_COMPARED
adaptive       safety  pass       LEAVING
adaptive       cycles  pass       LEAVING MAY_STEAL=3
adaptive       safety  assertion  LEAVING NO_REST
adaptive       safety  assertion  LEAVING REST_BEFORE_JOIN
adaptive       safety  assertion  LEAVING LEFT_UNSAID
ordered        safety  pass
ordered        safety  pass       SLOW=0
ordered        cycles  pass
ordered        safety  assertion  TAKER_STORES
ordered        safety  assertion  END_COMPARED
ordered        safety  assertion  FAST_LEAVES
exception      safety  pass       LOOPS=3
exception      safety  assertion  FAILURE_SHARED
exception      safety  assertion  ANY_FAILURE_STOPS
exception      safety  assertion  FAILED_KEPT
exception      safety  assertion  FAILED_CLEARED_BEFORE_JOIN
exception      safety  assertion  RETHROWN_BEFORE_JOIN
collectives    safety  pass
collectives    safety  pass       OPERATIONS=2 RUNS=2 THROWS=2 RETURNS=1
collectives    safety  pass       MEMBERS=3 OPERATIONS=2 SPURIOUS=0 KINDS=5
collectives    safety  pass       MEMBERS=3 OPERATIONS=1 THROWS=1 RETURNS=1 SPURIOUS=0
collectives    cycles  pass       OPERATIONS=2
collectives    safety  pass       TOURNAMENT MEMBERS=3 OPERATIONS=2 SPURIOUS=0
collectives    safety  pass       LONG TOURNAMENT MEMBERS=4 OPERATIONS=2 SPURIOUS=0 KINDS=1
collectives    safety  pass       TOURNAMENT MEMBERS=3 OPERATIONS=2 THROWS=1 RETURNS=1 SPURIOUS=0 KINDS=5
collectives    safety  pass       OPERATIONS=2 OPERATOR_THROWS=1 KINDS=2
collectives    safety  pass       OPERATIONS=2 OPERATOR_THROWS=2 RUNS=2 KINDS=3 SPURIOUS=0
collectives    safety  pass       MEMBERS=3 OPERATIONS=1 OPERATOR_THROWS=1 SPURIOUS=0 KINDS=2
collectives    safety  pass       MASK=7 OPERATIONS=6 THROWS=1 KINDS=1
collectives    safety  pass       MASK=15 OPERATIONS=10 THROWS=1 RUNS=2 KINDS=1 SPURIOUS=0
collectives    safety  pass       TOURNAMENT MASK=7 MEMBERS=3 OPERATIONS=5 THROWS=1 KINDS=1 SPURIOUS=0
collectives    safety  pass       MIXED MEMBERS=3 OPERATIONS=2 KINDS=1 SPURIOUS=0
collectives    safety  pass       MIXED TOURNAMENT MEMBERS=3 OPERATIONS=2 KINDS=1 SPURIOUS=0
collectives    safety  pass       MIXED TOURNAMENT MEMBERS=4 OPERATIONS=1 KINDS=1 SPURIOUS=0 ODD=2
collectives    safety  pass       MIXED TOURNAMENT MEMBERS=4 OPERATIONS=1 KINDS=1 SPURIOUS=0 ODD=3
collectives    safety  assertion  ONE_BUFFER KINDS=1
collectives    safety  assertion  ANNOUNCE_FIRST KINDS=1
collectives    safety  deadlock   WORD_STORED
collectives    safety  deadlock   BIT_STORED
collectives    safety  deadlock   FUTEX_WITHOUT_RECHECK
collectives    safety  assertion  NO_EXIT_EPOCH KINDS=2
collectives    safety  assertion  NO_MIDDLE_EPOCH KINDS=2
collectives    safety  assertion  WAITS_FOR_FIRST MEMBERS=3 OPERATIONS=2
collectives    safety  assertion  FAILED_AFTER_LEFT THROWS=1
collectives    safety  deadlock   LEFT_NOT_MARKED THROWS=1
collectives    safety  assertion  LEFT_OVER_ARRIVAL THROWS=1
collectives    safety  assertion  LEFT_NOT_DATED RUNS=2
collectives    safety  deadlock   LEFT_DATED_FROM_START MASK=7 OPERATIONS=6 THROWS=1 KINDS=1
collectives    safety  assertion  OPERATOR_LEAVES OPERATOR_THROWS=1 KINDS=2 OPERATIONS=1
collectives    safety  deadlock   ONE_TAG MIXED TOURNAMENT MEMBERS=3 OPERATIONS=2 KINDS=1
collectives    safety  assertion  RELEASE_BEFORE_GATHER TOURNAMENT MEMBERS=3 OPERATIONS=2
collectives    safety  assertion  RELEASE_OVERWRITTEN TOURNAMENT MEMBERS=3 OPERATIONS=2
recovery       safety  pass
recovery       safety  deadlock   STORED_FIRST CALLERS=1
recovery       safety  assertion  NO_RECOVERY_LOCK
recovery       safety  assertion  NO_SECOND_LOOK
recovery       safety  deadlock   TURN_KEPT
turns          safety  pass
turns          safety  pass       CALLERS=3 CALLS=1
turns          safety  pass       LOW
turns          safety  assertion  COUNTED_LATE
turns          safety  assertion  COUNTED_OUT_EARLY
turns          safety  assertion  NOT_COUNTED
turns          safety  assertion  TAUGHT_WITHOUT_TURN
turns          safety  deadlock   WAITS_TO_TEACH
turns          safety  assertion  COUNT_READ_FIRST
turns          safety  deadlock   WANTED_MISSED
turns          safety  deadlock   GIVEN_BACK_BLINDLY
turns          safety  deadlock   NO_SECOND_LOOK
turns          safety  assertion  ENDED_AT_ONCE
turns          safety  assertion  LOW PAUSES_NOT_COUNTED
turns          safety  assertion  LOW CALLERS_LAST
join           safety  pass
join           safety  pass       DEALT
join           safety  assertion  LOOKS_FIRST
join           safety  assertion  NOT_CLOSED
join           safety  assertion  NOT_AWAITED
join           safety  assertion  COUNTED_OUT_EARLY
join           safety  assertion  CLOSED_LAST
idle_team      safety  pass
idle_team      safety  pass       WISHES=5
idle_team      safety  deadlock   END_WITHOUT_WAKE
idle_team      safety  deadlock   WAKES_FIRST
idle_team      safety  deadlock   WAITS_WHILE_ODD WISHES=5
hold           safety  pass       KILLS=0
hold           safety  pass       LENDERS=1 KILLS=2
hold           safety  pass       LONG STARTS=1 TURNS=1 MORE_TURNS=1
hold           safety  pass       STARTS=0
hold           safety  pass       LONG STARTS=1 KILLS=0 MORE_TURNS=1
hold           safety  pass       LATE LENDERS=1
hold           safety  pass       LATE STARTS=0
hold           safety  pass       PULLS=2 LENDERS=1 STARTS=1
hold           safety  pass       PULLS=1 STARTS=1 TURNS=1 KILLS=0
hold           safety  pass       LATE PULLS=1 LENDERS=1 STARTS=1
hold           safety  assertion  NO_WORD_TO_MOVE KILLS=0
hold           safety  assertion  GUEST_UNKNOWN KILLS=0
hold           safety  assertion  LOST_WORD_IGNORED LATE
hold           safety  assertion  LOST_HOLD_IGNORED LATE
hold           safety  assertion  OWN_MASK_WIDENED
hold           safety  assertion  GUARD_AS_CONTROLLER
hold           safety  assertion  ASKED_AS_HELD LENDERS=1
hold           safety  assertion  NEXT_UNKNOWN
hold           safety  assertion  MASK_NOT_SEEN
hold           safety  assertion  SET_RIGHT_WITHOUT_WORD KILLS=0
hold           safety  assertion  NOT_CLAIMED STARTS=1 KILLS=0 MORE_TURNS=1
hold           safety  assertion  PULLED_WITHOUT_WORD PULLS=1 LENDERS=1
hold           safety  assertion  MOVES_ALIKE STARTS=1 KILLS=0 MORE_TURNS=2
row            safety  pass
row            safety  pass       WATCHER RUNS=1
row            safety  pass       HELPERS=2 RUNS=1
row            safety  pass       PARTS=3 RUNS=1
row            safety  assertion  CODE_READ_FIRST
row            safety  assertion  TAKEN_OF_ANY_RUN
row            safety  assertion  TAKEN_WITHOUT_COMPARING
row            safety  deadlock   JOIN_LOOKS_FIRST
row            safety  deadlock   RUN_WITHOUT_WAKE
row            safety  deadlock   MEETS_WITHOUT_THREADS
row            safety  deadlock   END_LOOKS_FIRST
row            safety  deadlock   MEETS_TOLD_LATE
strand         safety  pass
strand         safety  pass       PARTS=2 MEETINGS=2 WATCHER
strand         safety  pass       PARTS=2 RUNS=2
strand         safety  pass       PARTS=2 RUNS=2 WATCHER
strand         safety  assertion  WAITS_BEFORE_IT_LEFT PARTS=2 WATCHER
strand         safety  assertion  GOES_ON_UNCLAIMED PARTS=2 WATCHER
strand         safety  assertion  GOES_ON_EARLY PARTS=2 WATCHER
strand         safety  deadlock   END_WITHOUT_LOOK PARTS=2
strand         safety  deadlock   MEETS_TOLD_LATE PARTS=2
'

folder=$(mktemp -d) || die "no temporary folder could be made under ${TMPDIR:-/tmp}"
trap 'rm -rf "$folder"' EXIT

# What the search found: pass, deadlock, assertion, cycle, or why there is no verdict.
verdict_of() {
    local output=$1
    if grep -q 'invalid end state (at depth' "$output"; then
        echo deadlock
    elif grep -q 'assertion violated' "$output"; then
        echo assertion
    elif grep -q 'non-progress cycle (at depth' "$output"; then
        echo cycle
    elif grep -qE 'max search depth too small|Search not completed|out of memory|resources exhausted' "$output"; then
        echo incomplete
    elif grep -q 'errors: 0$' "$output"; then
        echo pass
    else
        echo broken
    fi
}

# Builds and searches one model in the current folder; the output is in ./output.
search() {
    local model=$1 search=$2 must=$3
    shift 3
    local -a build=(-DSAFETY) run=()
    if [[ $search == cycles ]]; then build=(-DNP) run=(-l); fi
    # Optimised where that takes less than it spares: the compiler takes a second more, which most searches end within.
    if [[ $must == pass && " launch hold strand " == *" $model "* ]]; then build+=(-O1); fi
    cp "$here/$model.pml" . &&
        spin "${@/#/-D}" -a "$model.pml" &&
        "$compiler" -w -DMEMLIM=$memory_limit_mb "${build[@]}" -o pan pan.c &&
        (ulimit -t $time_limit_seconds && exec ./pan -m200000 "${run[@]}")
}

# One line of the list, in a folder of its own: its line, and what went wrong, into the file `report` there.
run_one() {
    local folder=$1 model=$2 search=$3 must=$4
    shift 4
    mkdir "$folder" && cd "$folder" || die "no temporary folder could be made: $folder"
    local start verdict seconds states outcome=FAILED
    start=$(date +%s.%N)
    search "$model" "$search" "$must" "$@" >output 2>&1
    verdict=$(verdict_of output)
    seconds=$(echo "$start $(date +%s.%N)" | awk '{ printf "%.1f", $2 - $1 }')
    states=$(awk '/states, stored/ { print $1; exit }' output)
    if [[ $verdict == "$must" ]]; then outcome=passed; fi
    {
        printf '%s  %-13s %-6s must: %-9s found: %-9s %9s states %5s s  %s\n' "$outcome" "$model" "$search" \
            "$must" "$verdict" "${states:-no}" "$seconds" "$*"
        if [[ $outcome == FAILED ]]; then
            tail -n 25 output
            # The last steps on the way to the error.
            if [[ -f $model.pml.trail ]]; then spin -t -p -g "$model.pml" 2>/dev/null | tail -n 60; fi
        fi
    } >report
    rm -f pan pan.* output "$model.pml"*
}

# One search a CPU, within the memory that there is.
at_once=$(nproc)
available_mb=$(awk '/MemAvailable/ { print int($2 / 1024) }' /proc/meminfo 2>/dev/null)
if ((at_once > ${available_mb:-0} / memory_limit_mb)); then at_once=$((${available_mb:-0} / memory_limit_mb)); fi
if ((at_once < 1)); then at_once=1; fi

started=0
while read -r model search must definitions; do
    [[ -n $model ]] || continue
    if (($# > 0)) && [[ " $* " != *" $model "* ]]; then continue; fi
    if [[ -n $short && " $definitions " == *" LONG "* ]]; then continue; fi
    while (($(jobs -rp | wc -l) >= at_once)); do wait -n; done
    # shellcheck disable=SC2086  # the definitions are words
    run_one "$folder/$started" "$model" "$search" "$must" $definitions &
    started=$((started + 1))
done <<<"$models"
wait

# In the order of the list; a search that left no report has failed.
passed=0
failed=0
for ((number = 0; number < started; number++)); do
    if [[ -s $folder/$number/report ]]; then cat "$folder/$number/report"; else echo "FAILED  search $number ended without a report"; fi
    if grep -q '^passed ' "$folder/$number/report" 2>/dev/null; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done

((passed + failed > 0)) || die "no model ran; '$*' names none of launch, store_buffers, adaptive, exception, collectives, recovery, turns"
echo "$passed passed, $failed failed"
((failed == 0))
