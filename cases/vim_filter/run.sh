#!/bin/bash
# vim filters a file through a command that takes its time: it looks every 10 ms whether there is
# output on a pipe, and whether the child has ended.
. "$(dirname "$0")/../lib.sh"

seq 100 >"$W/file"
mkfifo "$W/silent"
buggy && n=5 || n=0.9
cat >"$W/filter" <<SH
#!/bin/bash
echo \$\$ >$W/filter.pid
read -r -t $n _ <>$W/silent
exec sort -r
SH
chmod +x "$W/filter"
timed "$W/victim" 30 vim -u NONE -es -c "%!$W/filter" -c wq "$W/file" </dev/null &
wait_for 50 "[ -s $W/filter.pid ]"
actor root_filter "$(cat "$W/filter.pid")"
finish vim
