#!/bin/bash
# More events than the rings hold, while the recorder is held up: what is lost is
# counted, timed and shown, and recording goes on.
. "$HERE/live/_lib.sh"
need_bpf
need_command perf

argus record -a --level full --stacks none --ring 4M -o t.trace 2>log &
recorder=$!
trap 'kill -CONT $recorder 2>/dev/null || true; kill -9 $recorder 2>/dev/null || true' EXIT
wait_until 60 test -s t.trace
perf bench sched pipe -l 2000 >/dev/null 2>&1
from=$(python3 -c 'import time; print(time.monotonic_ns())')
kill -STOP $recorder
stopped() { grep -q '^State:.*stopped' /proc/$recorder/status; }
wait_until 20 stopped
# A turn of it is two messages of 72 bytes at least and a switch of 88, in each of two
# threads: 46 MB, and two rings hold 8, wherever they run.
perf bench sched pipe -l 100000 >/dev/null 2>&1
to=$(python3 -c 'import time; print(time.monotonic_ns())')
kill -CONT $recorder
# it goes on: what comes now is there
perf bench sched pipe -l 2000 >/dev/null 2>&1
ln -s "$(command -v sleep)" after-the-flood
./after-the-flood 0.01
kill -INT $recorder
status=0
wait $recorder || status=$?
[ $status = 0 ] || fail "status $status: $(cat log)"
grep -qE '[1-9][0-9]* lost' log || fail "the loss is not told at the end: $(cat log)"

argus info --json t.trace >info
[ "$(json info 'd["lost"] > 100000')" = True ] || fail "$(json info 'd["lost"]') events lost of some 800000"
# where it was lost: while the recorder stood still (a busy machine may overrun it elsewhere, too, but not by so much)
python3 - info "$from" "$to" <<'END'
import json, sys
told, start, end = json.load(open(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
gaps = [g for g in told['gaps'] if g['reason'] == 'ring_full']
assert gaps, f"no gap of a full ring: {told['gaps']}"
assert sum(g['lost'] for g in told['gaps']) == told['lost']
there = [g for g in gaps if start <= g['from_ns'] <= g['to_ns'] <= end + 1e9]
assert sum(g['lost'] for g in there) > 100000, f'lost at {gaps}, stopped from {start} to {end}'
assert all(g['lost'] < 100000 for g in gaps if g not in there), f'lost at {gaps}, stopped from {start} to {end}'
END
argus info t.trace | matches 'events lost' || fail "info does not show the losses"
argus dump --state --type gap t.trace | matches 'lost=' || fail "dump does not show the losses"
argus dump --type exit --comm after-the-flood t.trace | matches . || fail "it did not go on after the flood"
