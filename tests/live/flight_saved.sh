#!/bin/bash
# So many saved hangs are kept as are there: those that somebody removed make room for others,
# and where there is none status says so. A stopped recorder keeps nobody waiting.
. "$HERE/live/_lib.sh"
need_bpf
export ARGUS_RUNTIME_DIR=$WORK/run
ring=$WORK/ring
trap 'kill -CONT ${daemon:-} 2>/dev/null || true; argus stop >/dev/null 2>&1 || true' EXIT

status() { argus status --json >status.json && json status.json "d['$1']"; }
begin() { argus start --dir "$ring" --no-stacks --on-command "test -e '$WORK/hung'" --every 500ms 2>/dev/null; }

begin
mkdir -p "$ring/saved"
for i in {1..20}; do : >"$ring/saved/hang-$i.trace"; done
touch hung
refused() { [ "$(status hangs_unsaved)" -gt 0 ]; }
wait_until 60 refused
[ "$(ls "$ring/saved" | wc -l)" = 20 ] || fail "too many are kept: $(ls "$ring/saved")"
argus status | matches 'not saved: remove some' || fail "status does not say so: $(argus status)"
argus stop 2>/dev/null

rm "$ring/saved/hang-7.trace" hung
begin
touch hung
saved() { [ "$(status hangs_saved)" -gt 0 ] && [ "$(ls "$ring/saved" | wc -l)" = 20 ]; }
wait_until 60 saved

daemon=$(status pid)
kill -STOP "$daemon"
stopped() { grep -q '^State:.*T' "/proc/$daemon/status"; }
wait_until 10 stopped
for command in status "mark here" "snap -o s.trace" stop; do
	# shellcheck disable=SC2086
	! argus $command >out.txt 2>err.txt || fail "$command: a stopped recorder has answered"
	matches "process $daemon) is stopped" <err.txt || fail "$command: $(cat err.txt)"
done
# nor do those who come when its queue is full
callers=()
for _ in {1..24}; do argus status >/dev/null 2>&1 & callers+=($!); done
for caller in "${callers[@]}"; do ! wait "$caller" || fail "a stopped recorder has answered"; done
# what it was asked meanwhile, to stop, it does when it goes on
kill -CONT "$daemon"
gone() { ! kill -0 "$daemon"; }
wait_until 30 gone
