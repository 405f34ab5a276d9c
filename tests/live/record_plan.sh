# A lean recording tells not enough; what it says should be recorded is carried out by
# `record --plan`, from a file and from a pipe, and the second answer is surer.
. "$HERE/live/_lib.sh"
need_bpf

# The one that is asked runs outside of the recorded command.
record() {
	rm -f socket
	python3 "$HERE/live/unanswered.py" socket serve &
	server=$!
	argus record "$@" -- python3 "$HERE/live/unanswered.py" socket >pid 2>messages || fail "record $*: $(cat messages)"
	wait $server
}
why() { argus why --pid "$(tail -n 1 pid)" --from 0 --to -0s --json "$1"; }
record -o first.trace
why first.trace >first.json || fail "no answer"
[ "$(json first.json 'any(s["option"] == "--level" and s["value"] == "full" for s in d["plan"])')" = True ] ||
	fail "no plan for the full level: $(cat first.json)"
record --plan first.json -o second.trace
argus info second.trace | grep -q message || fail "the plan was not carried out: $(argus info second.trace)"
why second.trace >second.json || fail "no second answer"
[ "$(json second.json 'd["culprit"]["confidence"] > '"$(json first.json 'd["culprit"]["confidence"]')")" = True ] ||
	fail "not surer: $(json first.json 'd["text"]') -> $(json second.json 'd["text"]')"

# The array alone, from a pipe; what is given beside counts instead.
json first.json 'json.dumps(d["plan"])' | argus record --plan - --level lean -o third.trace -- true 2>messages ||
	fail "from a pipe: $(cat messages)"
argus info --json third.trace >info.json
[ "$(json info.json '"message" in d["types"]')" = False ] || fail "--level lean did not count"
