#!/bin/bash
# Without rights: the doctor's words, with the way out, not a bare errno.
. "$HERE/live/_lib.sh"
need_bpf
need_command setpriv

nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all "$@"; }

# the build may lie where nobody may go
cp "$(command -v argus)" ./argus-copy
chmod 755 . ./argus-copy
mkdir -m 777 open
status=0
nobody ./argus-copy record -o open/a.trace -- true >out 2>&1 || status=$?
[ $status != 0 ] || fail "recorded without rights"
grep -q 'sudo argus' out || fail "no way out in: $(cat out)"
grep -q 'doctor' out || fail "the doctor is not named: $(cat out)"
[ ! -e open/a.trace ] || fail "a trace was begun"

status=0
nobody ./argus-copy start >out 2>&1 || status=$?
[ $status != 0 ] || fail "started without rights"
grep -qE 'sudo argus start|another user' out || fail "no way out in: $(cat out)"

status=0
nobody ./argus-copy doctor --json >report || status=$?
[ $status = 1 ] || fail "doctor's status is $status"
[ "$(json report 'd["can_record"]')" = False ] || fail "the doctor says all is well"
[ "$(json report 'all(c["mend"] for c in d["checks"] if c["state"] == "missing")')" = True ] || fail "no cure for what is missing"
argus doctor --json >report || fail "root cannot record: $(cat report)"
[ "$(json report 'd["can_record"]')" = True ] || fail "the doctor is wrong"

# a trace that `sudo argus record` left: whose it is, and what helps
argus record -o open/root.trace -- true || fail "root cannot record"
status=0
nobody ./argus-copy why open/root.trace >out 2>&1 || status=$?
[ $status = 1 ] || fail "status $status of a trace that may not be read"
grep -q "is root's and may not be read: use sudo" out || fail "no way out in: $(cat out)"
