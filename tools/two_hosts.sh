#!/bin/sh
# Two hosts on one machine: network namespaces with a wire between them, so that MPI has nothing but TCP.
#
#   tools/two_hosts.sh PROGRAM [OPTION...]      as root; runs one rank on each host, under Open MPI
#
# Says at the end how many bytes went over the wire. Exit status 77: it cannot be done here, with the reason.
set -eu
[ $# -gt 0 ] || { printf 'two_hosts.sh: error: no program was named\n' >&2; exit 2; }
cannot() { printf 'two_hosts.sh: cannot be done here: %s\n' "$1" >&2; exit 77; }
[ "$(id -u)" = 0 ] || cannot 'making network namespaces needs root'
for word in ip unshare taskset hostname mpirun.openmpi; do
    command -v "$word" >/dev/null 2>&1 || cannot "$word is missing (Debian: iproute2, util-linux, hostname, libopenmpi-dev)"
done

first=tauto-$$-1 second=tauto-$$-2
agent=$(mktemp)
clean() {
    ip netns del "$first" 2>/dev/null || :
    ip netns del "$second" 2>/dev/null || :
    rm -f "$agent"
}
trap clean EXIT
trap 'exit 130' INT TERM
ip netns add "$first" 2>/dev/null || cannot 'the kernel or the container gives no network namespace'
ip netns add "$second"
ip -n "$first" link add wire type veth peer name wire netns "$second" || cannot 'no virtual wire (veth) can be made'
for place in "$first 10.213.0.1" "$second 10.213.0.2"; do
    namespace=${place% *} address=${place#* }
    ip -n "$namespace" address add "$address/24" dev wire
    ip -n "$namespace" link set lo up
    ip -n "$namespace" link set wire up
done

# Each host has one half of the CPUs.
cpus=$(nproc)
half=$((cpus > 1 ? cpus / 2 : 1))
first_cpus=0-$((half - 1)) second_cpus=$((cpus > 1 ? half : 0))-$((cpus - 1))

# What Open MPI starts its daemon on the other host with, in place of ssh: HOST COMMAND.
cat >"$agent" <<EOF
#!/bin/sh
shift
exec ip netns exec $second taskset -c $second_cpus unshare --uts sh -c "hostname second; \$*"
EOF
chmod +x "$agent"

status=0
ip netns exec "$first" taskset -c "$first_cpus" unshare --uts sh -c 'hostname first; exec "$@"' first \
    mpirun.openmpi --quiet --allow-run-as-root --bind-to none -n 2 --host 10.213.0.1:1,10.213.0.2:1 \
    --mca plm_rsh_agent "$agent" --mca btl tcp,self --mca btl_tcp_if_include wire --mca oob_tcp_if_include wire \
    "$@" || status=$?
bytes=$(ip netns exec "$first" cat /sys/class/net/wire/statistics/tx_bytes 2>/dev/null || printf unknown)
printf 'two_hosts.sh: %s bytes went from the first host to the second\n' "$bytes" >&2
exit "$status"
