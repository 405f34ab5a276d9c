#!/bin/bash
# The disk gets full while everything with stacks is recorded: the recorder ends by itself
# or as it is told to, at once, says why, and what was written can be read.
. "$HERE/live/_lib.sh"
need_bpf
trap 'kill -KILL ${recorder:-} ${busy:-} 2>/dev/null || true; wait 2>/dev/null || true; umount small 2>/dev/null || true' EXIT
mkdir small
mount -t tmpfs -o size=6m none small 2>/dev/null || skip "no tmpfs can be mounted"

# each system call with a stack that was never seen before
"$BUILD/tests/many_stacks" & busy=$!

ended() { ! kill -0 "$recorder" 2>/dev/null; }

for how in itself duration signal; do
	rm -f small/*
	case $how in
	duration) set -- --duration 2s ;;
	*) set -- ;;
	esac
	argus record --level full --stacks all "$@" -o small/t.trace 2>err.txt & recorder=$!
	filled() { ended || [ "$(stat -c %s small/t.trace)" -gt 5000000 ]; }
	if [ $how = signal ]; then
		wait_until 60 filled
		kill -INT "$recorder" 2>/dev/null || true
	fi
	wait_until 60 ended
	status=0
	wait "$recorder" || status=$?
	[ $status -eq 0 ] && [ $how != itself ] || matches 'is full' <err.txt || fail "$how: it does not say why: $(cat err.txt)"
	argus info --json small/t.trace >info.json || fail "$how: what was written cannot be read"
	[ "$(json info.json 'd["events"]')" -gt 1000 ] || fail "$how: hardly anything is left: $(argus info small/t.trace)"
done
