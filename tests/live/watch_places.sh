#!/bin/bash
# Where watchpoints go: each thread's own variable, of new threads too; shared memory in every process that
# maps it; the nearest names of one that is not there. Nothing needs to be hit.
. "$HERE/live/_lib.sh"
need_bpf
"$BUILD"/tests/watch_allowed || skip "this machine has no hardware watchpoints"
program=$BUILD/tests/watch_places
pids=
trap '[ -z "$pids" ] || kill $pids 2>/dev/null || true' EXIT

# (what find meets while it is closed counts for nothing)
armed() { { find "/proc/$watcher/fd" -lname '*perf_event*' 2>/dev/null || true; } | wc -l; }
has_lines() { [ "$(wc -l <"$1")" -ge "$2" ]; }
is_watching() { grep -q '^watching' notes; }

# ---- threads' own (nobody else holds their line open)
mkfifo lines
"$program" own <lines >own.txt &
pid=$!
pids=$pid
exec 4>lines
wait_until 10 has_lines own.txt 4
argus watch $pid --json watch_places:own watch_places:aligned >own.json 2>notes 4>&- &
watcher=$!
pids="$pids $watcher"
wait_until 20 is_watching
before=$(armed)
echo >&4
are_armed() { [ "$(armed)" -ge $((before + 2)) ]; }
wait_until 20 are_armed
exec 4>&-
wait $pid
wait $watcher || fail "watch: $(cat notes)"
for name in own aligned; do
	[ "$(json own.json "sorted([w['place'].split()[-1], hex(w['address'])] for w in d['watches'] if w['name'] == '$name')")" = \
	  "$(python3 -c 'import sys; print(sorted([l.split()[1], l.split()[2]] for l in open("own.txt") if l.split()[0] == sys.argv[1]))' $name)" ] ||
		fail "$name: $(cat own.txt own.json)"
done
[ "$(json own.json "sorted({(w['name'], w['value']) for w in d['watches']})")" = "[('aligned', 41), ('own', 40)]" ] || fail "values: $(cat own.json)"

# ---- shared: named in one process, watched in both
head -c 8192 /dev/zero >cells
"$program" shared "$PWD/cells" <lines >shared.txt &
pid=$!
pids=$pid
exec 4>lines
wait_until 10 has_lines shared.txt 2
rm notes
argus watch $pid --json -o shared.trace 'watch_places:cell->0%4' >shared.json 2>notes 4>&- &
watcher=$!
pids="$pids $watcher"
wait_until 20 is_watching
exec 4>&-
wait $pid
wait $watcher || fail "watch: $(cat notes)"
[ "$(json shared.json "sorted([str(w['pid']), hex(w['address'])] for w in d['watches'])")" = \
  "$(python3 -c 'print(sorted([l.split()[1], l.split()[2]] for l in open("shared.txt")))')" ] || fail "shared: $(cat shared.txt shared.json)"
argus dump --json --state --type watch_point shared.trace >points.json
[ "$(json points.json "[len(d['events']) >= 2, len({e.get('memory') for e in d['events']}), None in {e.get('memory') for e in d['events']}]")" = "[True, 1, False]" ] ||
	fail "the same memory: $(cat points.json)"

# ---- names
"$program" counts <lines >/dev/null &
pid=$!
pids=$pid
exec 4>lines
is_mapped() { grep -q watch_places /proc/$pid/maps; }
wait_until 10 is_mapped
argus watch $pid --duration 100ms counterx >out 2>&1 && fail "taken: counterx"
grep -q "but 'counter'" out || fail "no near name: $(cat out)"
exec 4>&-
wait $pid
pids=
