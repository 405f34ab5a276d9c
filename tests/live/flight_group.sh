#!/bin/bash
# The ring's files are 0640 and of the folder's group, as a package sets the folder up; whether
# the group may enter the folder is the configuration's. Elsewhere all is its owner's alone.
. "$HERE/live/_lib.sh"
need_bpf
export ARGUS_RUNTIME_DIR=$WORK/run
trap 'argus stop >/dev/null 2>&1 || true' EXIT
modes() { stat -c '%U %G %a' ring ring/argus-*.trace | sort -u | tr '\n' ' '; }
group=games
: >conf
mkdir -m 2700 ring && chgrp "$group" ring && chmod 2750 ring
argus start --dir "$WORK/ring" --size 8M --config "$WORK/conf" 2>/dev/null
argus stop 2>/dev/null
[ "$(modes)" = "root $group 2700 root $group 640 " ] || fail "$(modes)"
echo 'members-see = all' >conf
argus start --dir "$WORK/ring" --size 8M --config "$WORK/conf" 2>/dev/null
argus stop 2>/dev/null
[ "$(modes)" = "root $group 2750 root $group 640 " ] || fail "open to the group: $(modes)"
echo 'members-see = some' >conf
argus start --dir "$WORK/ring" --size 8M --config "$WORK/conf" 2>log && fail "a configuration that is wrong"
grep -q 'line 1' log || fail "$(cat log)"
rm -r ring
: >conf
argus start --dir "$WORK/ring" --size 8M --config "$WORK/conf" 2>/dev/null
argus stop 2>/dev/null
[ "$(modes)" = "root root 600 root root 700 " ] || fail "a folder without a group: $(modes)"
