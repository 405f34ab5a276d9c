#!/bin/bash
# The flight recorder notices a window that does not answer.
. "$HERE/live/_lib.sh"
need_bpf
need_command Xvfb mousepad dbus-run-session
export ARGUS_RUNTIME_DIR=$WORK/run
ring=$WORK/ring
trap 'argus stop >/dev/null 2>&1 || true; kill $(jobs -p) 2>/dev/null || true' EXIT

# a display that is free, told by the server itself
Xvfb -displayfd 3 -nolisten tcp 3>number >/dev/null 2>&1 &
wait_until 20 test -s number
DISPLAY=:$(cat number)
export DISPLAY
dbus-run-session bash -c 'mousepad & echo $! >editor; wait' >/dev/null 2>&1 &
wait_until 20 test -s editor
editor=$(cat editor)
status() { argus status --json >status.json && json status.json "d['$1']"; }
argus start --dir "$ring" --size 8M --no-stacks --on-window 2s 2>/dev/null
# it answers while it runs: it is woken by several pings, and nothing is seen
switches() { sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$editor/status"; }
sleeps() { grep -q '^State:.*sleeping' "/proc/$editor/status"; }
wait_until 20 sleeps
before=$(switches)
pinged() { [ "$(switches)" -ge $((before + 6)) ]; }
wait_until 40 pinged
[ "$(status hangs_seen)" = 0 ] || fail "it answers, and yet: $(status last_hang)"
argus mark "before" 2>/dev/null
kill -STOP "$editor"
seen() { [[ $(status last_hang) == *"does not answer"* ]]; }
wait_until 60 seen
kill -CONT "$editor"
saved() { ls "$ring"/saved/hang-*.trace; }
wait_until 30 saved
# the saved trace tells why
explained() { argus why --pid "$editor" "$ring"/saved/hang-*.trace >why 2>/dev/null; }
wait_until 30 explained
grep -q 'stopped' why || fail "the answer does not say that it was stopped: $(cat why)"
kill "$editor"
argus stop 2>/dev/null
