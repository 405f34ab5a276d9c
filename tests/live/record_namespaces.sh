#!/bin/bash
# In namespaces of its own the recorder says what it cannot know there, and in which one it cannot record.
. "$HERE/live/_lib.sh"
need_bpf
unshare -mpf --mount-proc true 2>/dev/null || skip "no process namespace can be made"

unshare -mpf --mount-proc argus doctor >said
matches "process namespace: another than the host's" <said || fail "doctor does not tell: $(cat said)"
matches 'argus can record here' <said || fail "it cannot record: $(cat said)"
unshare -mpf --mount-proc argus record -o t.trace -- true 2>said || fail "not recorded: $(cat said)"
matches "a process namespace of its own" <said || fail "record does not tell: $(cat said)"
argus record -o t.trace -- true 2>said
! matches "a process namespace of its own" <said || fail "it tells of a namespace where there is none"

if unshare -Ur true 2>/dev/null; then
	status=0
	unshare -Ur argus record -o u.trace -- true 2>said || status=$?
	[ $status = 1 ] && matches "user namespace: another than the host's" <said || fail "status $status: $(cat said)"
fi
