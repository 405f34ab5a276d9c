#!/bin/bash
# The trace: 0600, never through a link, never in another user's file, a full
# disk named, a size limit kept.
. "$HERE/live/_lib.sh"
need_bpf
need_command perf

argus record -o a.trace -- true 2>/dev/null
[ "$(stat -c %a a.trace)" = 600 ] || fail "mode $(stat -c %a a.trace)"

# word=WORD refused OPTION...: the message holds the word
# shellcheck disable=SC2154
refused() {
	local status=0
	argus record "$@" -- true >out 2>&1 || status=$?
	[ $status != 0 ] || fail "not refused: $*"
	grep -q "$word" out || fail "no '$word' in: $(cat out)"
}

echo precious >victim
ln -s victim link.trace
word=link.trace refused -o link.trace
[ "$(cat victim)" = precious ] || fail "written through a link"
mkfifo pipe.trace
word=pipe.trace refused -o pipe.trace
word=nowhere refused -o nowhere/a.trace
word=/dev/full refused -o /dev/full
mkdir -p folder.trace
word=folder.trace refused -o folder.trace

mkdir small
mount -t tmpfs -o size=256k none small || skip "no tmpfs can be mounted"
trap 'umount small' EXIT
status=0
argus record -a -o small/a.trace --duration 20s -- perf bench sched pipe -l 400000 >out 2>&1 || status=$?
[ $status != 0 ] || fail "a full disk went unnoticed"
grep -qi 'space\|full' out || fail "the message does not name the disk: $(cat out)"
argus info --json small/a.trace >info || fail "what was written cannot be read"
[ "$(json info 'd["events"] > 1000')" = True ] || fail "nothing was kept"

argus record -a --max-size 300k -o limit.trace -- perf bench sched pipe -l 300000 >out 2>&1 || fail "$(cat out)"
[ "$(stat -c %s limit.trace)" -le 400000 ] || fail "$(stat -c %s limit.trace) bytes"
grep -q limit out || fail "the limit is not told"
argus info --json limit.trace >info
[ "$(json info 'd["complete"]')" = True ] || fail "not closed at the limit"
