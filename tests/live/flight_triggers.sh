#!/bin/bash
# Each trigger fires on a hang of its kind, saves a trace in which `why` has an
# answer, and stays silent while all goes well. Others' hangs on this machine may
# be seen too: only what is said about these programs counts.
. "$HERE/live/_lib.sh"
need_bpf
export ARGUS_RUNTIME_DIR=$WORK/run
ring=$WORK/ring
trap 'argus stop >/dev/null 2>&1 || true; kill $(jobs -p) 2>/dev/null || true' EXIT

begin() { argus start --dir "$ring" --size 16M "$@" 2>/dev/null; }
# the number of the client, once it is told
client() { wait_until 20 grep -qs pid "$1"; sed -n 's/^pid //p' "$1"; }
marked() { argus snap -o seen.trace 2>/dev/null && argus dump --type mark seen.trace >marks && grep -q -- "$1" marks; }
# a saved trace that holds the mark and the snapshot taken with it, and tells why the process hung
explained() {
	local trace
	for trace in "$ring"/saved/*.trace; do
		argus dump --type mark "$trace" 2>/dev/null | matches -- "$1" || continue
		argus dump --state --type snapshot "$trace" | matches 'reason=request' || continue
		argus why --pid "$2" "$trace" >why 2>/dev/null && return 0
	done
	return 1
}
fires() { # fires MARK PROGRAM-WORD... : runs it, waits for the mark, then for the answer
	local mark=$1
	shift
	"$BUILD/tests/flight_hangs" "$@" >told &
	client=$(client told)
	wait_until 40 marked "${mark//PID/$client}"
	wait_until 90 explained "${mark//PID/$client}" "$client"
	argus stop 2>/dev/null
	wait
	rm -rf "$ring" told # what the next one tells is not in it yet
}

# all goes well, then not: what its reader leaves unread
begin --on-unread 1s
"$BUILD/tests/flight_hangs" serve 200 >well
! marked "process $(client well) " || fail "unread: $(cat marks)"
fires "leaves 1 bytes unread" unread 250
grep -q "flight_hangs" why || fail "the answer is about another: $(cat why)"

# one uninterruptible wait
begin --on-blocked 2s
"$BUILD/tests/flight_hangs" serve 200 >well
! marked "process $(client well) " || fail "blocked: $(cat marks)"
fires "process PID (flight_hangs) has been in one uninterruptible wait" blocked

# the user's own command, which fails until something is there
begin --on-command "test -e '$WORK/hung'" --every 500ms
"$BUILD/tests/flight_hangs" serve 200 >well
! marked 'the command says so' || fail "the command did not say so: $(cat marks)"
[ ! -e "$ring/saved" ] || fail "saved without a hang"
{ wait_until 20 grep -qs hangs told; touch hung; } &
fires "the command says so" unread 250
