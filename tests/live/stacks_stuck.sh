#!/bin/bash
# A program below a mount that no longer answers: the look at its files never
# comes back. The recording goes on, ends when it is told to, and is kept; others'
# stacks are walked as if nothing were.
. "$HERE/live/_lib.sh"
need_bpf
need_command python3
grep -q autofs /proc/filesystems || modprobe autofs4 2>/dev/null || skip "the kernel has no autofs"

cat >dead.py <<'END'
import ctypes, os, subprocess, sys, time
# a program runs from the folder, then a mount whose daemon never answers comes over it
os.setsid()
program = subprocess.Popen(["./dead/program", "600"], preexec_fn=os.setsid)
while os.readlink("/proc/%d/exe" % program.pid) != os.getcwd() + "/dead/program":
    time.sleep(0.01)
reader, writer = os.pipe()
os.set_inheritable(writer, True)
libc = ctypes.CDLL(None, use_errno=True)
options = "fd=%d,pgrp=%d,minproto=5,maxproto=5,indirect" % (writer, os.getpid())
if libc.mount(b"dead", os.path.abspath("dead").encode(), b"autofs", 0, options.encode()):
    print("refused")
    sys.exit()
print("mounted", flush=True)
sys.stdin.read()
libc.umount2(os.path.abspath("dead").encode(), 2)
program.kill()
END
mkdir dead
cp "$(command -v sleep)" dead/program
mkfifo end
python3 dead.py <end >state.txt & holder=$!
exec 7>end
trap 'exec 7>&-; wait $holder' EXIT
wait_until 20 test -s state.txt
grep -q mounted state.txt || skip "autofs cannot be mounted"

argus record -o stuck.trace -- bash -c 'for i in 1 2 3 4 5; do /bin/true; done; for i in {1..300}; do sleep 0.01; done' 2>err.txt & recorder=$!
ended() { ! kill -0 $recorder 2>/dev/null; }
wait_until 60 ended
wait $recorder || fail "the recording failed: $(cat err.txt)"
argus dump -e exec stuck.trace | matches true || fail "nothing was recorded: $(argus info stuck.trace)"
argus info --json stuck.trace >info.json
# a frame larger than what is copied while tables are not there yet is another matter, and so is code that others make at run time
[ "$(json info.json 'd["stacks"]["whole"] > 100 and d["stacks"]["whole"] > 0.9 * (d["stacks"]["user"] - d["stacks"]["no_page"] - d["stacks"]["jit"])')" = True ] ||
	fail "others' stacks: $(argus info stuck.trace)"
