#!/bin/bash
# A thread that begins to wait long brings a snapshot, which tells what it waits
# on, since when, and who could end it.
. "$HERE/live/_lib.sh"
need_bpf
need_command flock

argus record -o t.trace -- sh -c 'flock lock sleep 5 & sleep 0.3; flock lock true; wait' 2>/dev/null
argus dump --text t.trace >text
python3 - text <<'END'
import sys
inside, found, waits = False, None, {}
for line in open(sys.argv[1]):
    word = line.split(None, 4)
    rest = word[4] if len(word) > 4 else ''
    time = float(word[0])
    if word[3] == 'snapshot':
        inside = 'reason=long_wait' in rest and 'end=1' not in rest
    if word[3] == 'switch' and 'wait=file_lock' in rest:
        waits[word[2]] = time
    # others may have waited for locks of theirs since before, and bring snapshots of their own
    if not found and inside and word[2] in waits and time - waits[word[2]] > 0.9 and word[3] == 'waiting' and 'wait=file_lock' in rest and 'hint_kind=file_lock_owner' in rest:
        found = (word[2], time, rest)
assert waits, 'nobody was seen to wait for the lock'
assert found, 'no snapshot of the long wait'
tid, time, rest = found
since = float(rest.split('since_ns=')[1].split()[0])
assert time - waits[tid] < 5, f'snapshot {time - waits[tid]} s after the wait began'
assert abs(since - waits[tid]) < 0.05, f'since {since}, began {waits[tid]}'
END
