# A recording that tells not enough; what it says should be recorded is carried out by
# `record --plan`, from a file and from a pipe, and the second answer knows more.
. "$HERE/live/_lib.sh"
need_bpf

compute='import os, time
print(os.getpid(), flush=True)
end = time.monotonic() + 2.5
while time.monotonic() < end: pass'
why() { argus why --pid "$(tail -n 1 pid)" --from 0 --to -0s --json "$1"; }
argus record --freq 0 --stacks none -o first.trace -- python3 -c "$compute" >pid 2>messages || fail "first: $(cat messages)"
why first.trace >first.json || fail "no answer"
[ "$(json first.json 'd["culprit"]["function"] is None and any(s["option"] == "--stacks" for s in d["plan"])')" = True ] ||
	fail "no plan for samples: $(cat first.json)"
argus record --plan first.json -o second.trace -- python3 -c "$compute" >pid 2>messages || fail "second: $(cat messages)"
why second.trace >second.json || fail "no second answer"
[ "$(json second.json 'd["culprit"]["function"] is not None and all(s["option"] != "--stacks" for s in d["plan"])')" = True ] ||
	fail "knows no more: $(cat second.json)"

# The array alone, from a pipe; what is given beside counts instead.
types() { argus info --json "$1" >info.json && json info.json '"message" in d["types"]'; }
plan='[ { "option": "--level", "value": "full", "why": "messages" } ]'
echo "$plan" | argus record --plan - -o third.trace -- sh -c 'echo | cat' 2>messages || fail "from a pipe: $(cat messages)"
[ "$(types third.trace)" = True ] || fail "the plan was not carried out"
echo "$plan" | argus record --plan - --level lean -o fourth.trace -- sh -c 'echo | cat' 2>messages || fail "with --level: $(cat messages)"
[ "$(types fourth.trace)" = False ] || fail "--level lean did not count"
