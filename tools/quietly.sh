# Sourced:   quietly LOG WHAT COMMAND...   runs the command with its output in the log, and says WHAT and the seconds.
#
# On a terminal a line shows how far it is: apt's status lines (APT::Status-Fd=1) and ninja's [n/m] say so. The end of
# the log is printed where the command fails. The status is the command's.
quietly() {
    quiet_log=$1 quiet_what=$2
    shift 2
    mkdir -p "${quiet_log%/*}"
    quiet_began=$(date +%s)
    printf 'tauto: %s (its output: %s)\n' "$quiet_what" "$quiet_log"
    { "$@" 2>&1 </dev/null; echo "quietly: exit status $?"; } | quiet_watch >>"$quiet_log" || {
        quiet_status=$?
        tail -n 25 "$quiet_log" | sed 's/^/    /' >&2
        printf 'tauto: error: %s: this failed after %s s\n' "$quiet_what" "$(($(date +%s) - quiet_began))" >&2
        return $quiet_status
    }
    printf 'tauto: done in %s s\n' "$(($(date +%s) - quiet_began))"
}

quiet_watch() (
    status=1
    while IFS= read -r line; do
        how_far=
        case $line in
        'quietly: exit status '*) status=${line##* } ;;
        dlstatus:* | pmstatus:*)
            percent=${line#*:*:}
            how_far=${percent%%[.:]*}' %'
            ;;
        *)
            printf '%s\n' "$line"
            case $line in *\[[0-9]*/[0-9]*\]*) how_far=${line#*\[} how_far=${how_far%%\]*} ;; esac
            ;;
        esac
        if [ -t 2 ] && [ -n "$how_far" ]; then printf '\r\033[Ktauto: %s' "$how_far" >&2; fi
    done
    if [ -t 2 ]; then printf '\r\033[K' >&2; fi
    exit "$status"
)
