#!/bin/bash
# What is found of other processes when some have more in an epoll set, or watch more folders, than is told of one.
. "$HERE/live/_lib.sh"
need_bpf
need_command python3

started=()
trap 'kill -KILL "${started[@]}" 2>/dev/null || true; wait 2>/dev/null || true' EXIT

# holder NAME: a process that has a pipe of its own open; it writes its pid when it does
holder() {
	python3 -c '
import os, sys, time
os.pipe()
open(sys.argv[1], "w").write(str(os.getpid()))
time.sleep(1000)' "$1" & started+=($!)
}
holder before
python3 -c '
import os, resource, select, time
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
ends, epoll = os.pipe(), select.epoll()
for i in range(min(3000, most - 100)): epoll.register(os.dup(ends[0]), select.EPOLLIN)
open("set", "w").write(str(os.getpid()))
time.sleep(1000)' & started+=($!)
python3 -c '
import ctypes, os, time
libc = ctypes.CDLL(None)
fd = libc.inotify_init1(0)
for i in range(800):
    name = "a folder whose name is not short %d" % i
    os.mkdir(name)
    assert libc.inotify_add_watch(fd, name.encode(), 0x100) > 0
open("watcher", "w").write(str(os.getpid()))
time.sleep(1000)' & started+=($!)
for one in before set watcher; do wait_until 30 test -s $one; done
holder after
wait_until 30 test -s after

argus record --level lean --duration 300ms -o sets.trace >out.txt 2>record.txt || fail "recording: $(cat out.txt record.txt)"
argus dump --state sets.trace >all.txt
told() { awk -v pid="$1" -v what="$2" '{ for (i = 4; i < NF; i++) if ($i == pid && $(i + 1) == what) { n++; break } } END { print n + 0 }' all.txt; }
for one in before set watcher after; do
	[ "$(told "$(cat $one)" descriptor)" -gt 3 ] || fail "descriptors of '$one' are not told: $(told "$(cat $one)" descriptor)"
done
items=$(told "$(cat set)" poll_item)
[ "$items" -ge 900 ] || fail "of the large set $items are told"
watches=$(told "$(cat watcher)" watch)
[ "$watches" -ge 100 ] || fail "of the watches $watches are told"
