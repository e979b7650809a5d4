#!/bin/sh
# Installs the system packages of the marks given, as far as they are missing.
#
#   tools/packages.sh [--dry-run] MARK...        e.g. tools/packages.sh build peer
#   tools/packages.sh --remove                   what earlier calls have installed
#
# It looks first and acts afterwards: either everything that is missing can be installed and is, or nothing
# is touched and the exact command is printed. TAUTO_ONLY_PACKAGES leaves out all packages but those that it names. Exit codes: 0 all there, 1 the installer failed,
# 2 packages are missing and this user or this system cannot install them.
set -u

here=$(dirname -- "$0")
. "$here/quietly.sh"
list=${TAUTO_PACKAGES:-$here/../packages.txt}
installed=${TAUTO_INSTALLED:-$here/../build/installed-packages}
optional_marks='loop peer program recipe browser'
only=${TAUTO_ONLY_PACKAGES-*}
dry_run=no
if [ "${1:-}" = --dry-run ]; then
    dry_run=yes
    shift
fi
wanted_marks="$*"

fail() {
    printf 'tauto: error: %s\n' "$1" >&2
    exit 2
}

[ -n "$wanted_marks" ] || fail 'which packages? usage: tools/packages.sh [--dry-run] build|loop|peer|test|program|recipe|platform|docs|browser …'
[ -r "$list" ] || fail "there is no package list at $list"
for mark in ${wanted_marks#--remove}; do
    grep -q "^$mark[[:space:]]" "$list" || fail "no package has the mark '$mark'; marks are build, loop, peer, test, program, recipe, platform, docs, browser"
done

has_word() { # has_word WORD WORDS...
    word=$1
    shift
    for candidate in "$@"; do
        [ "$candidate" = "$word" ] && return 0
    done
    return 1
}

have_apt=no
if command -v apt-get >/dev/null 2>&1 && command -v dpkg-query >/dev/null 2>&1; then
    have_apt=yes
fi

installed_as_package() { # any of the alternatives a|b|c
    [ $have_apt = yes ] || return 1
    for name in $(printf %s "$1" | tr '|' ' '); do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] && return 0
    done
    return 1
}

found_by_probe() {
    what=${1#*:}
    case $1 in
    command:*) command -v "$what" >/dev/null 2>&1 ;;
    header:*) printf '#include <%s>\n' "$what" | "${CXX:-c++}" -std=c++20 -E -x c++ - >/dev/null 2>&1 ;;
    library:*)
        PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -q "[[:space:]]$what[[:space:]]" ||
            ls /usr/lib/llvm-*/lib/"$what" >/dev/null 2>&1 ||
            ls /usr/lib/llvm-*/lib/clang/*/lib/linux/"$what" >/dev/null 2>&1
        ;;
    python:*) "${PYTHON:-python3}" -c "import $what" >/dev/null 2>&1 ;;
    *) fail "packages.txt: unknown probe '$1'" ;;
    esac
}

in_archive() {
    candidate_version=$(LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p')
    [ -n "$candidate_version" ] && [ "$candidate_version" != '(none)' ]
}

archive_known() { in_archive build-essential; }

# Prints the best alternative that the archive has; the last, plainest name where apt has no lists yet.
best_alternative() {
    last=
    for name in $(printf %s "$1" | tr '|' ' '); do
        if in_archive "$name"; then
            echo "$name"
            return 0
        fi
        last=$name
    done
    archive_known && return 1
    echo "$last"
}

# One line a missing package: mark, alternatives, what it is.
missing_lines() {
    while read -r mark package probe purpose; do
        case $mark in '' | '#'*) continue ;; esac
        # shellcheck disable=SC2086
        has_word "$mark" $wanted_marks || continue
        # shellcheck disable=SC2086
        [ "$only" = '*' ] || has_word "${package%%|*}" $only || continue
        installed_as_package "$package" || found_by_probe "$probe" || echo "$mark $package $purpose"
    done <"$list"
}

# Sets `install` to the packages to ask for; says which optional ones the archive lacks.
resolve() {
    install=
    lacking=
    while read -r mark package purpose; do
        [ -n "$mark" ] || continue
        if name=$(best_alternative "$package"); then
            install="$install $name"
        elif has_word "$mark" $optional_marks; then
            printf 'tauto: %s (%s) is not in the archive of this system; going on without it\n' "$package" "$purpose"
        else
            lacking="$lacking $package"
        fi
    done <<LINES
$missing
LINES
    install=${install# }
    [ -z "$lacking" ] || fail "the archive of this system has no package$lacking; Debian 12 and Ubuntu 24.04 have them all"
}

print_missing() {
    while read -r mark package purpose; do
        printf '    %-24s %s\n' "${package%%|*}" "$purpose" >&2
    done <<LINES
$missing
LINES
}

say_how_to_go_on() {
    printf 'Then start the same command again. Nothing was changed.\n' >&2
    if ! printf '%s\n' "$missing" | grep -Eqv '^(loop|peer) '; then
        printf 'These are only peers to measure against: PEERS=no goes on without them.\n' >&2
    fi
}

check_versions() {
    has_word build $wanted_marks || return 0
    "${PYTHON:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "Python 3.11 or newer is needed, this is $("${PYTHON:-python3}" --version 2>&1); name another: make PYTHON=python3.12 …"
}

as_root=
may_install=no
if [ "$(id -u)" = 0 ]; then
    may_install=yes
elif command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    may_install=yes
    as_root=sudo
fi

if [ "$wanted_marks" = --remove ]; then
    [ -s "$installed" ] || { echo 'tauto: no packages were installed from here'; exit 0; }
    names=$(sort -u "$installed" | tr '\n' ' ')
    [ $may_install = yes ] || fail "this user cannot remove packages. As root, run: apt-get remove ${names% }"
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get remove -y -q $names || exit 1
    rm -f "$installed"
    exit 0
fi

missing=$(missing_lines)
if [ -z "$missing" ]; then
    check_versions
    exit 0
fi

if [ $have_apt = no ]; then
    printf 'tauto: error: this system has no apt, so its packages cannot be named exactly. Install what provides\nthese (Debian names):\n' >&2
    print_missing
    say_how_to_go_on
    exit 2
fi

if [ $dry_run = yes ] || [ $may_install = no ]; then
    resolve
    if [ -z "$install" ]; then
        check_versions
        exit 0
    fi
    line="apt-get update && apt-get install -y --no-install-recommends $install"
    if [ $dry_run = yes ]; then
        printf '%s\n' "$line"
    else
        printf 'tauto: error: packages are missing and this user cannot install them. As root, run:\n%s\n' "$line" >&2
        say_how_to_go_on
    fi
    exit 2
fi

export DEBIAN_FRONTEND=noninteractive
log=${TAUTO_LOG:-$here/../build/packages.log}
quietly "$log" 'renewing the lists of packages' $as_root apt-get update -q ||
    printf 'tauto: going on with the lists that are there\n' >&2
resolve
if [ -n "$install" ]; then
    # shellcheck disable=SC2086
    quietly "$log" "installing $install" $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends -o APT::Status-Fd=1 $install || exit 1
    mkdir -p "$(dirname -- "$installed")"
    # shellcheck disable=SC2086
    printf '%s\n' $install >>"$installed"
fi
check_versions
