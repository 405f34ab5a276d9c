#!/bin/bash
# The flight recorder finds hangs while it records and notes them beside its files;
# questions go straight to the running ring.
. "$HERE/live/_lib.sh"
need_bpf
need_command flock
export ARGUS_RUNTIME_DIR=$WORK/run
# small blocks, and nothing waited for
export ARGUS_BLOCK_EVENTS=3000 ARGUS_INDEX_EVENTS=1000
ring=$WORK/ring
trap 'argus stop >/dev/null 2>&1 || true; kill $(jobs -p) 2>/dev/null || true' EXIT
status() { argus status --json >status.json && json status.json "d['$1']"; }

argus start --dir "$ring" --size 32M 2>messages || fail "not started: $(cat messages)"
[ "$(status index)" = 1 ] || fail "no index is made"
touch lock
mkfifo end
flock lock sh -c 'echo held; read word <end' >held &
wait_until 20 grep -q held held
flock lock true &
victim=$!
waits() { grep -q -- "-> FLOCK.* $victim " /proc/locks; }
wait_until 20 waits
since=$SECONDS
long() { [ $((SECONDS - since)) -ge 3 ]; }
wait_until 20 long
echo go >end
wait "$victim"
ended=$(date +%s)
# what is not settled yet is not looked at: others go on
( while :; do /bin/true; done ) &
noted() { [ "$(status index_until)" -gt "$ended" ] && [ "$(status index_hangs)" -ge 1 ] && ls "$ring"/*.trace.index; }
wait_until 120 noted
[ "$(status index_memory)" -gt 1000000 ] || fail "it does not say what it takes"
argus status >text
grep -q '^index .* in the ring up to' text || fail "status does not tell of the index: $(cat text)"
argus hangs --json "$ring" >hangs.json
[ "$(json hangs.json "$victim"' in [h["tid"] for h in d]')" = True ] || fail "the hang is not listed: $(cat hangs.json)"
# no file named, none there: the ring
argus hangs --json >running.json 2>messages || fail "not from the running ring: $(cat messages)"
[ "$(json running.json "$victim"' in [h["tid"] for h in d]')" = True ] || fail "the hang is not in the running ring: $(cat running.json)"
argus why --pid "$victim" >why 2>messages || fail "why: $(cat messages why)"
says why "flock (pid $victim)" || fail "another one: $(cat why)"
# an index counts as its file's bytes, and goes with it
fits() { [ "$(status ring_bytes)" -le 33554432 ]; }
wait_until 20 fits
argus stop 2>/dev/null
# its own memory, and not that of who starts it
memory=$(python3 - "$ring" <<'END'
import subprocess, sys
large = b'x' * 400_000_000
words = subprocess.run(['argus', 'index', '--background', '--share', '100', sys.argv[1]], stdout=subprocess.PIPE, text=True, check=True).stdout
print(max(int(line[7:]) for line in words.split('\n') if line.startswith('memory=')))
END
)
[ "$memory" -gt 1000000 ] && [ "$memory" -lt 300000000 ] || fail "it says that it takes $memory bytes"
lone=$ring/argus-9999999999.trace.index
cp "$(ls "$ring"/*.index | head -n 1)" "$lone"
argus start --dir "$ring" --size 32M --no-index 2>messages || fail "not started again: $(cat messages)"
[ ! -e "$lone" ] || fail "the index of a file that is gone is still there"
[ "$(status index)" = 0 ] || fail "--no-index, and yet it makes one"
argus stop 2>/dev/null
