# The demo's hang is found without a hint, with its circle and its timeout; a run
# in which all keys go well has no hang.
. "$HERE/live/_lib.sh"
need_bpf

argus record --level full -o buggy.argus -- "$BUILD/demo/argus-demo" 6 3 >keys 2>messages
grep -q 'key 1: shown at once' keys || fail "the demo did not run: $(cat keys messages)"
grep -q 'key 6: no answer' keys || fail "the demo did not hang: $(cat keys)"
argus hangs --json buggy.argus >hangs.json || fail "no hang found"
argus why --json buggy.argus >why.json
[ "$(json why.json 'd["verdict"]')" = waiting ] || fail "verdict: $(cat why.json)"
[ "$(json why.json 'len(d["circle"]) >= 2')" = True ] || fail "no circle: $(cat why.json)"
[ "$(json why.json '"1.5" in d["text"]')" = True ] || fail "no timeout of 1.5 s: $(json why.json 'd["text"]')"
# from the key that was not answered to the limit, not from the keys before it
[ "$(json why.json '1.5e9 <= d["window"]["end_ns"] - d["window"]["start_ns"] < 1.8e9')" = True ] || fail "window: $(json why.json 'd["window"]')"
comm=$(json why.json 'd["culprit"]["comm"]')
case $comm in demo-browser | demo-renderer) ;; *) fail "culprit: $comm" ;; esac

argus record --level full -o base.argus -- "$BUILD/demo/argus-demo" 4 4 >keys 2>messages
status=0
argus hangs base.argus >hangs 2>&1 || status=$?
[ "$(argus hangs --json base.argus | python3 -c 'import json, sys; d = json.load(sys.stdin); print(len(d["hangs"] if isinstance(d, dict) else d))')" = 0 ] ||
	fail "a hang where none is (status $status): $(cat hangs)"
