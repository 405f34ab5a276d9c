#!/bin/bash
# Python's frames in stacks: threads that sleep below calls of many kinds, frame by frame
# beside what the interpreter's own faulthandler says of them; of each version that is here.
. "$HERE/live/_lib.sh"
need_bpf
. "$HERE/live/_python.sh"
mapfile -t pythons < <(known_pythons)
[ ${#pythons[@]} -gt 0 ] || skip "no Python of a version that is known"

seed=1
for python in "${pythons[@]}"; do
	rm -f ready.txt fault.txt
	"$python" "$HERE/live/stacks_python.py" $((seed++)) 40 fault.txt >ready.txt & pid=$!
	trap 'kill $pid 2>/dev/null || true' EXIT
	wait_until 30 test -s ready.txt
	# at its last line, where it stays: in futex
	settled() { [ "$(cut -d' ' -f1 /proc/$pid/syscall)" = 202 ]; }
	wait_until 30 settled
	kill -USR1 $pid
	complete() { [ "$(grep -c '^Thread\|^Current' fault.txt)" = 41 ] && grep -q ' in <module>' fault.txt; }
	wait_until 20 complete
	# a busy machine may not have its tables ready when the snapshot is taken
	equal() {
		argus record -a --freq 0 -o python.trace -- sleep 0.2 2>/dev/null
		argus dump --state --json --stacks -p $pid -e task,waiting python.trace >state.json
		python3 "$HERE/live/stacks_python_compare.py" state.json fault.txt >compare.txt
	}
	try=0
	until equal; do [ $((++try)) -lt 5 ] || fail "$python: $(cat compare.txt)"; done
	argus info python.trace | matches 'stacks_python .* 0 cut' || fail "$python: walks were cut"
	kill $pid
	wait $pid 2>/dev/null || true
done

# a list of frames without an end, memory that is no frame: bounded, and said to be cut
python=/usr/bin/python3.11
[ -x $python ] || exit 0
cat >hostile.py <<'END'
import ctypes
import sys
# as 3.11 keeps them: a thread's state, what points to its newest frame, the frame before
state = ctypes.pythonapi.PyThreadState_Get
state.restype = ctypes.c_void_p
libc = ctypes.CDLL(None)

def word(address):
    return ctypes.c_uint64.from_address(address)

def outer():
    chain = word(state() + 56).value
    frame = word(chain + 8).value
    previous = word(frame + 48)
    previous.value = frame if sys.argv[1] == 'endless' else 0x123456789000 if sys.argv[1] == 'gone' else 0x1001
    print('ready', flush=True)
    while True:
        libc.usleep(5000)

outer()
END
for way in endless gone torn; do
	$python hostile.py $way >hostile.txt & pid=$!
	wait_until 30 test -s hostile.txt
	told() {
		argus record -p $pid -o hostile.trace -- sleep 0.2 2>/dev/null || fail "$way: the recording failed"
		argus dump --stacks -e switch -p $pid hostile.trace >stacks.txt
		grep -q 'outer (hostile.py)' stacks.txt && grep -q "\.\.\. the interpreter's list of frames" stacks.txt
	}
	try=0
	until told; do [ $((++try)) -lt 5 ] || fail "$way: not said to be cut: $(tail -n 40 stacks.txt)"; done
	kill $pid
	wait $pid 2>/dev/null || true
done
