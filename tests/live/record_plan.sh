# A lean recording tells not enough; what it says should be recorded is carried out by
# `record --plan`, from a file and from a pipe, and the second answer is surer.
. "$HERE/live/_lib.sh"
need_bpf

rm -f socket
run="python3 $HERE/live/unanswered.py socket serve & python3 $HERE/live/unanswered.py socket; wait; rm -f socket"
why() { argus why --pid "$(tail -n 1 pid)" --from 0 --to -0s --json "$1"; }
argus record -o first.trace -- sh -c "$run" >pid 2>messages || fail "first: $(cat messages)"
why first.trace >first.json || fail "no answer"
[ "$(json first.json 'any(s["option"] == "--level" and s["value"] == "full" for s in d["plan"])')" = True ] ||
	fail "no plan for the full level: $(cat first.json)"
argus record --plan first.json -o second.trace -- sh -c "$run" >pid 2>messages || fail "second: $(cat messages)"
argus info second.trace | grep -q message || fail "the plan was not carried out: $(argus info second.trace)"
why second.trace >second.json || fail "no second answer"
[ "$(json second.json 'd["culprit"]["confidence"] > '"$(json first.json 'd["culprit"]["confidence"]')")" = True ] ||
	fail "not surer: $(json first.json 'd["text"]') -> $(json second.json 'd["text"]')"

# The array alone, from a pipe; what is given beside counts instead.
json first.json 'json.dumps(d["plan"])' | argus record --plan - --level lean -o third.trace -- true 2>messages ||
	fail "from a pipe: $(cat messages)"
argus info --json third.trace >info.json
[ "$(json info.json '"message" in d["types"]')" = False ] || fail "--level lean did not count"
