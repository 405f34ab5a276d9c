#!/bin/bash
# The flight recorder with a watchpoint: writes of a program that starts later are in its ring, with value and stack.
. "$HERE/live/_lib.sh"
need_bpf
watched=$BUILD/tests/watched
"$BUILD"/tests/watch_allowed || skip "this machine has no hardware watchpoints"
export ARGUS_RUNTIME_DIR=$WORK/run
trap 'argus stop >/dev/null 2>&1 || true' EXIT

argus start --dir "$WORK/ring" --size 8M --no-stacks --watch "$watched:counter" 2>notes || fail "start: $(cat notes)"
# Some virtual machines kill a program by the trap of a watchpoint now and then (133), whoever set it: it is begun again.
for _ in 1 2 3 4; do
	status=0
	(sleep 1; echo) | "$watched" writes 1000 >out || status=$?
	[ "$status" = 133 ] || break
done
[ "$status" = 0 ] || fail "the program ended with $status"
argus snap -o ring.trace 2>notes || fail "snap: $(cat notes)"
argus stop 2>/dev/null
argus dump --json --type flag_write ring.trace >writes.json
[ "$(json writes.json "[int(e.get('value', 0)) for e in d['events']][-1000:] == list(range(1, 1001))")" = True ] ||
	fail "writes: $(json writes.json "len(d['events']), d['events'][:3]")"
argus watch --show --json ring.trace >shown.json || fail "watch --show"
[ "$(json shown.json "any(v['access'] == 'flag_write' and v['value'] == 1000 for w in d['watches'] for v in w['visitors'])")" = True ] ||
	fail "the last value: $(cat shown.json)"
