#!/bin/bash
# The recorder is left out of its recording, and so is what it starts: the
# process that saves a snapshot, and those that look at processes.
. "$HERE/live/_lib.sh"
need_bpf
export ARGUS_RUNTIME_DIR=$WORK/run
ring=$WORK/ring
trap 'argus stop >/dev/null 2>&1 || true; kill $(jobs -p) 2>/dev/null || true' EXIT

argus start --dir "$ring" --size 16M --on-command "test -e '$WORK/hung'" --every 500ms 2>/dev/null
touch hung
saved() { compgen -G "$ring/saved/*.trace" && argus status --json >status && [ "$(json status 'd["hangs_saved"]')" -gt 0 ]; }
wait_until 60 saved
wait_until 60 argus info "$ring"/saved/*.trace
pid=$(json status 'd["pid"]')
(exec -a stranger true) # another's process, which must be there
argus stop 2>/dev/null

argus dump --type fork,exec,task "$ring" >lives
grep -q ' exec .*bin/true' lives || fail "processes of others are missing: $(tail -5 lives)"
! grep "argus snap .*$ring/saved" lives | grep -v 'flags=[a-z|]*argus' || fail "the process that saves is recorded"
argus dump --type fork --tid "$pid" "$ring" >forks
! grep -v "child_pid=$pid " forks || fail "what the recorder starts is recorded"
