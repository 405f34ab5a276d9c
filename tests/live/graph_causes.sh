# On a recording of a busy machine at least 99.5 % of the waits that ended have a
# cause, at both levels; messages are joined; the graph is the same from its index.
. "$HERE/live/_lib.sh"
need_bpf
need_command perf

for level in lean full; do
	argus record --level $level -a -o $level.argus -- perf bench sched messaging -g 2 -l 400 >/dev/null 2>messages ||
		fail "record: $(cat messages)"
	argus graph --json $level.argus >$level.json 2>/dev/null
	[ "$(json $level.json 'd["waits_ended"] > 300')" = True ] || fail "$level: few waits: $(json $level.json 'd["waits_ended"]')"
	[ "$(json $level.json 'd["waits_unexplained"] <= 0.005 * d["waits_ended"] + 2')" = True ] ||
		fail "$level: $(json $level.json 'd["waits_unexplained"], d["waits_ended"]') unexplained: $(argus graph --check $level.argus | grep under | head -5)"
	[ "$(json $level.json 'd["edges"]["wake"] > 0.5 * d["waits_ended"]')" = True ] || fail "$level: few wake-ups lead on"
done
# Each of 2 groups' 20 senders sends 20 receivers 400 messages.
[ "$(json full.json 'd["edges"]["message"] >= 0.95 * 2 * 20 * 20 * 100')" = True ] ||
	fail "messages joined: $(json full.json 'd["edges"]["message"]')"
