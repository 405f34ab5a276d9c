#!/bin/bash
# Code that node compiles while it runs: walked through by its frame pointers, named by
# the map that it writes (--perf-basic-prof) or the jitdump (--perf-prof).
. "$HERE/live/_lib.sh"
need_bpf
need_command node

trap 'sed "s|.*|/tmp/perf-&.map|" pids | xargs -r rm -f' EXIT
cat >work.js <<'END'
const lock = new Int32Array(new SharedArrayBuffer(4))
function innermost(n) { Atomics.wait(lock, 0, 0, 2); return n + 1 }
function between(n) { return innermost(n) + 1 }
function outermost(n) { let sum = 0; for (let i = 0; i < 3; i++) sum += between(n + i); return sum }
require('fs').appendFileSync('pids', process.pid + '\n')
const until = Date.now() + 4000
for (let n = 0; Date.now() < until; n++) outermost(n)
END
# check OPTIONS...: stacks lead through all three, each under its name, to the program's start
check() {
	argus record -o out.trace -- node "$@" work.js 2>err.txt || fail "node $*: $(cat err.txt)"
	argus dump --json --stacks --comm node -e switch out.trace >dump.json
	python3 - "$*" <<'END' || fail "node $*"
import json, re, sys
stacks = [e["stack"] for e in json.load(open("dump.json"))["events"] if e.get("stack")]
ours = [s for s in stacks if any("innermost" in f["function"] for f in s)]
whole = [s for s in stacks if not s[-1].get("ends")]
right = [s for s in ours if not s[-1].get("ends") and re.search(
    "innermost.*between.*outermost.*main", " ".join(f["function"] for f in s), re.S) and s[-1]["function"] == "_start"]
print("%d stacks, %d whole, %d of the script's functions, %d of them right" % (len(stacks), len(whole), len(ours), len(right)))
if len(ours) < 100 or len(right) < 0.99 * len(ours) or len(whole) < 0.99 * len(stacks):
    for frame in (ours or stacks)[-1]:
        print("   ", frame["function"], frame["module"], hex(frame["address"]), frame.get("ends"))
    sys.exit(1)
END
}
check --perf-basic-prof --interpreted-frames-native-stack
check --perf-prof --interpreted-frames-native-stack
