#!/bin/bash
# An X client grabs the server and forgets to let it go: all others get no answer. The server
# itself looks idle.
. "$(dirname "$0")/../lib.sh"

display_start
cat >"$W/grab.py" <<'PY'
import sys
import time
from Xlib import display
shown = display.Display()
shown.grab_server()
shown.sync()
open(sys.argv[1], 'w').write('x')
time.sleep(float(sys.argv[2]))
shown.ungrab_server()
shown.sync()
time.sleep(60)
PY
buggy && n=5 || n=0.05
background /usr/bin/python3 "$W/grab.py" "$W/grabbed" "$n"
actor root_grabber "$LAST"
wait_for 100 "[ -s $W/grabbed ]"
timed "$W/victim" 30 xdpyinfo >/dev/null &
finish xdpyinfo
