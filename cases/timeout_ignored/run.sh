#!/bin/bash
# timeout(1) has told its child to end, and waits: the child ignores the signal.
. "$(dirname "$0")/../lib.sh"

mkfifo "$W/silent"
cat >"$W/child" <<SH
#!/bin/bash
$(buggy && echo "trap '' TERM")
echo \$\$ >$W/child.pid
read -r -t 6 _ <>$W/silent
SH
chmod +x "$W/child"
timed "$W/victim" 30 timeout 1 "$W/child" &
wait_for 50 "[ -s $W/child.pid ]"
actor root_child "$(cat "$W/child.pid")"
finish timeout
