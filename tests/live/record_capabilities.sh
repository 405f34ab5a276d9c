#!/bin/bash
# An ordinary user with the two capabilities records; with neither he is told what he
# lacks. As README has it, a program of a group has the capabilities by setcap.
. "$HERE/live/_lib.sh"
need_bpf
need_command setpriv
setpriv --dump 2>/dev/null | matches 'Capability bounding set:.*bpf' || skip "the bounding set lacks CAP_BPF"
chmod 755 . && mkdir -m 700 user && chown nobody user && cp "$ARGUS" argus && chmod 755 argus
cd user || fail "no folder"
as_user() { setpriv --reuid nobody --regid nogroup --clear-groups "$@"; }

as_user --inh-caps +bpf,+perfmon --ambient-caps +bpf,+perfmon ../argus record -o t -- sh -c 'id -u; sleep 0.1' >out 2>log ||
	fail "with CAP_BPF and CAP_PERFMON: $(cat log)"
[ "$(cat out)" = "$(id -u nobody)" ] || fail "the command ran as another user"
[ "$(stat -c '%U %a' t)" = 'nobody 600' ] || fail "the trace is $(stat -c '%U %a' t)"
as_user ../argus dump t --type switch | matches ' sleep ' || fail "the command was not recorded"
as_user --inh-caps +bpf,+perfmon --ambient-caps +bpf,+perfmon ../argus doctor --json >doctor || fail "doctor says it cannot record"
[ "$(json doctor '[c["state"] for c in d["checks"] if c["name"] in ("CAP_BPF", "CAP_PERFMON", "perf_event_paranoid", "unprivileged_bpf")]')" = \
	"['ok', 'ok', 'ok', 'ok']" ] || fail "doctor: $(cat doctor)"

as_user ../argus record -o none -- true 2>log && fail "it records without a capability"
matches 'recording needs root' <log || fail "$(cat log)"
[ ! -e none ] || fail "an empty trace is left"

# a group's own program
group=games
if PATH=$PATH:/sbin:/usr/sbin setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_sys_nice,cap_syslog+ep ../argus 2>/dev/null; then
	chgrp $group ../argus && chmod 750 ../argus
	PATH=$PATH:/sbin:/usr/sbin setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_sys_nice,cap_syslog+ep ../argus
	setpriv --reuid nobody --regid nogroup --groups $group ../argus record -o t2 -- sleep 0.1 2>log || fail "a group's program: $(cat log)"
	setpriv --reuid nobody --regid nogroup --clear-groups sh -c '../argus --version' 2>/dev/null && fail "others run it too"
fi
exit 0
