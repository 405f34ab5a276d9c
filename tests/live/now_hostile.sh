#!/bin/bash
# A process whose memory lies (hostile_memory.c): argus now answers, of each of its threads, by BPF and over
# /proc; a name that writes on the terminal is written out; who goes meanwhile is left out.
. "$HERE/live/_lib.sh"
need_bpf
need_command python3

program="$BUILD/tests/hostile_memory"
asked() {
	local expected=$1 got=0
	shift
	"$@" >now.json 2>notes.txt || got=$?
	[ $got = "$expected" ] || fail "status $got: $(cat notes.txt)"
	[ "$(json now.json 'd["threads"][0]["comm"] == "\033[2J\n\r\007\"evil"')" = True ] || fail "another name: $(cat now.json)"
}
"$program" >said.txt & pid=$!
trap 'kill -KILL $pid 2>/dev/null || true; wait 2>/dev/null || true' EXIT
wait_until 20 grep -q ready said.txt
asked 1 argus now --json $pid
# nobody has a number as great as those in its memory, and none is told as a name of one who has ended
grep -q 1073741823 now.json && fail "a number that no thread has is believed: $(cat now.json)"
got=0
argus now -o kept.trace $pid >now.txt || got=$?
[ $got = 1 ] || fail "status $got"
LC_ALL=C grep -q '[[:cntrl:]]' now.txt && fail "control characters: $(cat -v now.txt)"
grep -q evil now.txt || fail "$(cat now.txt)"
for task in /proc/$pid/task/*; do
	tid=${task##*/}
	argus why --tid "$tid" --from 0 kept.trace >why.txt || fail "thread $tid: $(cat why.txt)"
done
# as its own user, over /proc
if setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
	mkdir -m 0777 shared
	cp "$program" "$(command -v argus)" shared
	chmod -R a+rX . shared
	as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups env TMPDIR="$PWD/shared" "$@"; }
	if as_user test -x "$PWD/shared/argus"; then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$PWD/shared/hostile_memory" >other.txt & other=$!
		trap 'kill -KILL $pid $other 2>/dev/null || true; wait 2>/dev/null || true' EXIT
		wait_until 20 grep -q ready other.txt
		asked 1 as_user "$PWD/shared/argus" now --json $other
		[ "$(json now.json 'd["seen_by"]')" = proc ] || fail "$(cat now.json)"
	fi
fi
# one that goes while it is looked at
sleep 1000 & gone=$!
wait_until 20 grep -qx sleep /proc/$gone/comm
argus now --for 2s $gone >gone.txt 2>&1 & now=$!
wait_until 20 grep -q . /proc/$now/comm
kill -KILL $gone
got=0
wait $now || got=$?
# before it was looked at, or after that
case $got in
2) says gone.txt "there is no process or thread $gone" || fail "$(cat gone.txt)" ;;
0) says gone.txt "sleep (pid $gone): it has ended since this was asked" || fail "$(cat gone.txt)" ;;
*) fail "status $got of a process that has gone: $(cat gone.txt)" ;;
esac
# several at once: words, numbers, some of which are nobody's
got=0
argus now --json $pid $$ >now.json || got=$?
[ $got = 1 ] || fail "status $got"
[ "$(json now.json 'len(d["threads"])')" = 2 ] || fail "$(cat now.json)"
got=0
argus now $pid 4194305 >now.txt 2>&1 || got=$?
[ $got = 2 ] || fail "status $got: $(cat now.txt)"
