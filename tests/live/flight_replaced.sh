#!/bin/bash
# What others do to the ring's files while it is written: the recorder notices, begins
# another file, and ends when it is asked to.
. "$HERE/live/_lib.sh"
need_bpf
export ARGUS_RUNTIME_DIR=$WORK/run
ring=$WORK/ring
trap 'argus stop >/dev/null 2>&1 || true' EXIT

status() { argus status --json >status.json && json status.json "d['$1']"; }
newest() { find "$ring/" -type f -name 'argus-*.trace' | sort | tail -1; }
written() { [ "$(stat -c %s "$(newest)")" -gt 4096 ]; }
noticed() { [ "$(status files_vanished)" -ge "$1" ] && [ "$(status state)" = recording ] && [ -s "$(newest)" ]; }
# again WORDS: after what was done, records go where `snap` finds them
times=0
again() {
	times=$((times + 1))
	wait_until 20 noticed $times
	argus mark "$1" 2>/dev/null
	argus snap -o "$1.trace" 2>/dev/null || fail "no snap after: $1"
	argus dump --type mark "$1.trace" | matches "$1" || fail "what came after is missing: $1"
}

argus start --dir "$ring" --size 8M --no-stacks 2>/dev/null
wait_until 20 written
file=$(newest)
mv "$file" away
ln -s /etc/passwd "$file"
again linked

file=$(newest)
mv "$file" away
echo other >"$file"
again replaced

wait_until 20 written
truncate -s 0 "$(newest)"
again cut

# and filled again by what was written behind the cut
wait_until 20 written
truncate -s 0 "$(newest)" && truncate -s 4M "$(newest)"
again filled

# a snapshot is not saved over it, nor beside it
for file in "$(newest)" "$ring/other.trace"; do
	! argus snap -o "$file" 2>refused || fail "a snapshot went into the ring: $file"
	grep -q 'folder of the ring' refused || fail "other words: $(cat refused)"
done
(cd "$ring" && ! argus snap -o "$(basename "$(newest)")" 2>/dev/null) || fail "a snapshot went into the ring from within"
[ ! -e "$ring/other.trace" ] || fail "a snapshot was left in the ring"

# the recorder may have made it anew in between
until rm -rf "$ring" && echo other 2>/dev/null >"$ring"; do :; done
in_the_way() { [ "$(status state)" = interrupted ]; }
wait_until 20 in_the_way
argus status >told
grep -q "interrupted.*last: .*$ring" told || fail "no words about the file in the way: $(cat told)"
rm "$ring"
back() { [ "$(status state)" = recording ] && [ -s "$(newest)" ]; }
wait_until 20 back
times=$(status files_vanished)
argus mark "way is free" 2>/dev/null
argus snap -o free.trace 2>/dev/null
argus dump --type mark free.trace | matches 'way is free' || fail "it does not go on"

# cut, and ended before it can notice
wait_until 20 written
truncate -s 0 "$(newest)"
timeout 30 argus stop 2>stop || true
! argus status >/dev/null 2>&1 || fail "it did not end: $(cat stop)"
