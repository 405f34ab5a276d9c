#!/bin/bash
# What cannot be watched, stepped or probed: each refused with a word that says what it is and what to do. What looks as
# if it could not be, but can: a program that is traced already, or one that allows itself few system calls.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc setpriv strace
[ -e /sys/bus/event_source/devices/uprobe/type ] || skip "the kernel has no uprobes"
"$BUILD"/tests/watch_allowed || skip "this machine has no hardware watchpoints"
gcc -O2 -g -fcf-protection=none -o refused "$HERE/live/refused.c"
chmod 755 .
pids=
trap '[ -z "$pids" ] || kill $pids 2>/dev/null || true' EXIT
./refused &
pid=$!
pids=$pid
is_in_main() { grep -q " $PWD/" "/proc/$1/maps" && grep -q nanosleep "/proc/$1/stack"; }
wait_until 10 is_in_main $pid

refused() { # WORDS COMMAND...
	local words=$1 status=0
	shift
	"$@" >out 2>&1 || status=$?
	[ $status = 1 ] || [ $status = 2 ] || fail "status $status of $*: $(cat out)"
	grep -q -- "$words" out || fail "words about $*: $(cat out)"
}

# ---- names
refused "but 'counter'" argus watch $pid countre
refused "'never_changes' of .* is optimised out" argus watch $pid never_changes
refused "but 'turn'" argus step $pid refused:turm
refused "but 'turn'" argus record --probe "$PWD/refused:turm" -- true
refused "'folded' of .* is inlined into its callers: step 'turn'" argus step $pid refused:folded
refused "'folded' of .* is inlined into its callers: probe a line of it, refused.c:[0-9]*, or 'turn'" argus record --probe "$PWD/refused:folded" -- true
refused "is a function, no variable" argus watch $pid turn

# ---- places
refused "inside of an instruction: one begins at" argus record --probe "$PWD/refused:turn+1" -- true
refused "in no function" argus step $pid refused:0x1
refused "has no memory at 0x10" argus watch $pid 0x10

# ---- processes
refused "there is no process 4194304" argus watch 4194304 counter
refused "there is no process 4194304" argus step 4194304 turn
refused "one of the kernel" argus watch 2 counter
refused "one of the kernel" argus step 2 turn
sh -c 'exit 0' &
gone=$!
wait $gone
refused "there is no process $gone" argus watch $gone counter
refused "there is no process $gone" argus step $gone turn
sh -c 'sleep 0.01 & exec sleep 60' &
zombie_of=$!
pids="$pids $zombie_of"
has_zombie() { zombie=$(ps -o pid=,stat= --ppid $zombie_of | awk '$2 ~ /^Z/ { print $1 }') && [ -n "$zombie" ]; }
wait_until 10 has_zombie
has_zombie
refused "has ended" argus watch "$zombie" counter
refused "has ended" argus step "$zombie" turn
# the build's folder may be closed to others
cp "$BUILD/argus" .
for words in "watch $pid counter" "step $pid refused:turn"; do
	# shellcheck disable=SC2086
	refused "run .*as root" setpriv --reuid 65534 --regid 65534 --clear-groups ./argus $words
done
if gcc -m32 -O2 -o small "$HERE/live/refused.c" 2>/dev/null; then
	./small &
	small=$!
	pids="$pids $small"
	wait_until 10 is_in_main $small
	refused "32-bit program" argus watch $small counter
	refused "32-bit program" argus step $small turn
	refused "is not for x86-64" argus record --probe "$PWD/small:turn" -- true
fi

# ---- what can be: traced by another, and few system calls allowed
works() { # PID
	argus watch "$1" counter --duration 300ms -o w.trace >out 2>&1 || fail "watch: $(cat out)"
	[ "$(argus dump --type flag_write w.trace | wc -l)" -ge 10 ] || fail "no writes of $1: $(cat out)"
	argus step "$1" refused:main --duration 300ms -o s.step >out 2>&1 || fail "step: $(cat out)"
	[ "$(argus dump --type step s.step | wc -l)" -ge 10 ] || fail "no steps of $1: $(cat out)"
	argus record -p "$1" --probe "in=$PWD/refused:turn(number)" --probe "out=$PWD/refused:turn%return" --duration 300ms -o p.trace >out 2>&1 ||
		fail "probe: $(cat out)"
	argus info --json p.trace >info.json
	[ "$(json info.json "all(p['hits'] >= 10 for p in d['probes'])")" = True ] || fail "no hits of $1: $(json info.json "d['probes']")"
	kill -0 "$1" || fail "$1 is gone"
}
strace -o strace.txt -p $pid 2>/dev/null &
pids="$pids $!"
is_traced() { ! grep -q '^TracerPid:	0$' /proc/$pid/status; }
wait_until 10 is_traced
works $pid
is_traced || fail "its tracer has gone"
./refused few &
few=$!
pids="$pids $few"
wait_until 10 is_in_main $few
works $few
