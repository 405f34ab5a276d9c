#!/bin/bash
# The numbers that one file's stacks may have run out long before its bytes do, where programs come and go: the next
# file begins then, and who comes later has stacks, too.
. "$HERE/live/_lib.sh"
need_bpf
export ARGUS_RUNTIME_DIR=$WORK/run ARGUS_STACK_NUMBERS=8000
ring=$WORK/ring
trap 'argus stop >/dev/null 2>&1 || true' EXIT

argus start --dir "$ring" --size 1G 2>/dev/null
files() { find "$ring" -name '*.trace' | wc -l; }
goes_on() { # what begins has stacks that nobody had before
	seq 50 | xargs -I{} /bin/sh -c ': {} "$(sleep 0)"'
	[ "$(files)" -ge 2 ]
}
wait_until 120 goes_on
ln -s "$(command -v sleep)" late-comer
late_has_stack() { # others' work may have taken the numbers of one file or another, not of all
	./late-comer 0.2
	argus dump --comm late-comer --type switch "$ring" >switches
	grep -q ustack= switches
}
wait_until 60 late_has_stack
argus stop 2>/dev/null
for trace in "$ring"/*.trace; do
	argus info "$trace" >/dev/null || fail "$trace"
done
