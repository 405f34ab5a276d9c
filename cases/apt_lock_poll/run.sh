#!/bin/bash
# apt-get waits for dpkg's lock: it tries every second, so nobody ever wakes it.
. "$(dirname "$0")/../lib.sh"

mkdir -p "$W/dpkg" "$W/lists/partial" "$W/cache/archives/partial"
: >"$W/dpkg/status"
buggy && n=5 || n=0.1
cat >"$W/holder.py" <<PY
import fcntl
import time
file = open('$W/dpkg/lock-frontend', 'w')
fcntl.lockf(file, fcntl.LOCK_EX)
open('$W/held', 'w').write('x')
time.sleep($n)
PY
background /usr/bin/python3 "$W/holder.py"
actor root_holder "$LAST"
wait_for 50 "[ -s $W/held ]"
buggy || sleep 0.3
timed "$W/victim" 30 apt-get -q -o Dir::State::status="$W/dpkg/status" -o Dir::State::lists="$W/lists" \
	-o Dir::Cache="$W/cache" -o Dir::Log="$W" -o DPkg::Lock::Timeout=20 -y autoremove >/dev/null 2>&1 &
finish apt-get
