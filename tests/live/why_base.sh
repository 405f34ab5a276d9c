# A worker that silently does not wake the one that waits: nothing in the recording itself
# tells who should have, a recording of a run that went well does. The same for a flag that
# is never set. The answer cites both recordings.
. "$HERE/live/_lib.sh"
need_bpf

for level in lean full; do
	for what in signal flag; do
		argus record --level $level -o base.trace -- "$BUILD/tests/silent_worker" $what base 2>messages || fail "base: $(cat messages)"
		argus record --level $level -o buggy.trace -- "$BUILD/tests/silent_worker" $what buggy >pids 2>messages || fail "buggy: $(cat messages)"
		read -r pid worker <pids
		argus why --pid "$pid" --from 0 --to -0s --base base.trace --json buggy.trace >why.json 2>messages ||
			fail "$level $what: no answer: $(cat messages)"
		[ "$(json why.json 'd["culprit"]["tid"]')" = "$worker" ] ||
			fail "$level $what: the culprit is not thread $worker: $(json why.json 'd["text"]')"
		[ "$(json why.json 'd["baseline"]["trace"]')" = base.trace ] || fail "$level $what: no baseline: $(json why.json 'd["text"]')"
		[ "$(json why.json '[s["now"]["tid"] for s in d["baseline"]["steps"] if s["now"]["culprit"]] == ['"$worker"']')" = True ] ||
			fail "$level $what: another step: $(json why.json 'd["baseline"]')"
		argus why --pid "$pid" --from 0 --to -0s --base base.trace buggy.trace >why.txt
		grep -q 'base.trace' why.txt || fail "the text does not name the baseline: $(cat why.txt)"
	done
done
