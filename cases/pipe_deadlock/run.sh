#!/bin/bash
# Python: a parent writes more to a child's input than a pipe holds, while the child writes more to
# its output than a pipe holds: each waits for the other to read, until the child's alarm.
. "$(dirname "$0")/../lib.sh"

buggy && size=400000 || size=1000
cat >"$W/child.py" <<'PY'
import signal, sys
signal.alarm(6)
sys.stdout.buffer.write(b'x' * int(sys.argv[1]))
sys.stdout.flush()
sys.stdin.buffer.read()
PY
cat >"$W/parent.py" <<'PY'
import subprocess, sys
size, child, name = int(sys.argv[1]), sys.argv[2], sys.argv[3]
process = subprocess.Popen(['/usr/bin/python3', child, str(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
open(name, 'w').write(str(process.pid))
try:
    process.stdin.write(b'y' * size)
    process.stdin.close()
except BrokenPipeError:
    pass
process.stdout.read()
PY
timed "$W/victim" 30 /usr/bin/python3 "$W/parent.py" "$size" "$W/child.py" "$W/child" &
wait_for 50 "[ -s $W/child ]"
actor root_child "$(cat "$W/child")"
finish python3
