#!/bin/bash
# find under strace, whose output goes into a pipe that is not read: strace blocks, and what it traces
# stands in a ptrace stop.
. "$(dirname "$0")/../lib.sh"

mkfifo "$W/pipe"
mkdir "$W/tree"
(cd "$W/tree" && seq 400 | xargs mkdir)
buggy && n=5 || n=0
cat >"$W/reader.py" <<PY
import time
pipe = open('$W/pipe', 'rb')
time.sleep($n)
while pipe.read(65536):
    pass
PY
background /usr/bin/python3 "$W/reader.py"
actor root_reader "$LAST"
background strace -f -o "$W/pipe" perl "$CASES/timed.pl" "$W/victim" 30 find "$W/tree" >/dev/null
actor strace "$LAST"
finish find
