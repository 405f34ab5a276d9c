#!/bin/bash
# Each file of the flight recorder's ring tells all that its stacks need: read
# alone, each stack has its frames, modules and names.
. "$HERE/live/_lib.sh"
need_bpf
export ARGUS_RUNTIME_DIR=$WORK/run
ring=$WORK/ring
trap 'argus stop >/dev/null 2>&1 || true' EXIT

argus start --dir "$ring" --size 8M --level full 2>/dev/null
fill() { dd if=/dev/zero of=/dev/null bs=1 count=100000 2>/dev/null; sleep 0.01 & wait $!; }
files() { fill; argus status --json >status.json; [ "$(json status.json 'd["ring_files"] >= 3')" = True ]; }
wait_until 90 files
fill; fill; fill
argus stop >/dev/null 2>&1
count=0
for file in "$ring"/argus-*.trace; do
	cp "$file" alone.trace
	argus dump --json --stacks -e switch,wake alone.trace >alone.json 2>/dev/null
	[ "$(json alone.json 'all(e["stack"] for e in d["events"] if "stack" in e)')" = True ] || fail "a stack of $file has no frames"
	[ "$(json alone.json 'sum("stack" in e for e in d["events"])')" -gt 0 ] || continue
	[ "$(json alone.json 'all(any(f.get("module") for f in e["stack"]) or e["stack"][-1].get("ends") for e in d["events"] if "stack" in e)')" = True ] ||
		fail "a stack of $file has no modules"
	[ "$(json alone.json 'any(f.get("function") for e in d["events"] for f in e.get("stack", ()))')" = True ] || fail "$file has no names"
	count=$((count + 1))
done
[ $count -ge 2 ] || fail "only $count files with stacks"
