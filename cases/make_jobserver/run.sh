#!/bin/bash
# make -j2: a recipe takes the last token of the job server and keeps it while it sleeps; make waits
# for its children.
. "$(dirname "$0")/../lib.sh"

buggy && n=5 || n=0.5
cat >"$W/hog.py" <<'PY'
import os
import re
import sys
import time
ends = re.search(r'--jobserver-auth=(\d+),(\d+)', os.environ['MAKEFLAGS'])
take, give = int(ends[1]), int(ends[2])
os.set_blocking(take, True)
token = os.read(take, 1)
open(sys.argv[1] + '.part', 'w').write(str(os.getpid()))
os.rename(sys.argv[1] + '.part', sys.argv[1])
time.sleep(float(sys.argv[2]))
os.write(give, token)
time.sleep(0.2)
PY
printf 'all: a b\na:\n\t+@python3 %s %s %s\nb:\n\t+@sleep 0.3; $(MAKE) -s -f %s\n.PHONY: a b\n' \
	"$W/hog.py" "$W/hog.pid" $n "$W/sub" >"$W/Makefile"
printf 'all: x y z\nx y z:\n\t@sleep 0.02\n.PHONY: x y z all\n' >"$W/sub"
timed "$W/victim" 30 make -s -C "$W" -j2 &
wait_for 50 "[ -s $W/hog.pid ]"
actor root_hog "$(cat "$W/hog.pid")"
finish make
