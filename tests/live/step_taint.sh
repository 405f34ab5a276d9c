#!/bin/bash
# What derives from an input: of two runs that differ in it alone, every register that differs at a place that both
# passed is marked, and what cannot come from it is not.
. "$HERE/live/_lib.sh"
need_bpf
need_command setarch
[ -e /sys/bus/event_source/devices/uprobe/type ] || skip "the kernel has no uprobes"
tainted=$BUILD/tests/tainted

for input in abcdefghijklmnop 1b4d5678qrtuQRTT; do
	argus record --step "$tainted:parse" -o "$input.step" -- setarch -R "$tainted" "$input" >"$input.out" 2>notes || fail "stepping: $(cat notes)"
	[ "$(cat "$input.out")" = "$("$tainted" "$input")" ] || fail "another result when it is stepped"
	argus step --show --json --taint parse:rdi:16 "$input.step" >"$input.json"
done
python3 - abcdefghijklmnop.json 1b4d5678qrtuQRTT.json <<'END2' || fail "marks: $(argus step --show --taint parse:rdi:16 abcdefghijklmnop.step)"
import json, sys
a, b = (json.load(open(path)) for path in sys.argv[1:])
assert a['taint']['entered'] == b['taint']['entered'] == 1, a['taint']
differing = missed = decided = 0
i = j = 0
wrong = []
p, q = a['places'], b['places']
while i < len(p) and j < len(q):
    x, y = p[i], q[j]
    if x['address'] != y['address']:
        # a branch on the input: go on where the ways meet, behind the return of the function
        while i < len(p) and ': ret' not in f": {p[i]['instruction']}":
            i += 1
        while j < len(q) and ': ret' not in f": {q[j]['instruction']}":
            j += 1
        i, j = i + 1, j + 1
        continue
    for name in x['registers']:
        if x['registers'][name] == y['registers'][name]:
            continue
        differing += 1
        if name not in x['derived'] or name not in y['derived']:
            wrong.append((x['place'], x['instruction'], name, hex(x['registers'][name]), hex(y['registers'][name])))
    if 'taken' in x and x['taken'] != y['taken']:
        decided += 1
        if not (x['decides'] and y['decides']):
            wrong.append((x['place'], 'decides'))
    i, j = i + 1, j + 1
# the loop's end and what is kept beside the input are not from it
marked = sum(len(x['derived']) for x in p)
calls = [x for x in p if x['instruction'].startswith('call')]
print(len(p), 'places,', differing, 'differing registers,', decided, 'branches,', len(wrong), 'not marked;', marked, 'marked', a['taint'], file=sys.stderr)
for line in wrong[:20]:
    print(line, file=sys.stderr)
assert differing > 50 and decided == 3 and not wrong
assert not a['taint']['unknown'] and not a['taint']['gaps'], a['taint']
assert any('rsi' in x['derived'] and 'rdx' not in x['derived'] and 'rdi' not in x['derived'] for x in calls), 'keep(item, value, own)'
assert not a['taint']['outside'], a['taint']
assert any('copied' in x['place'] and x['instruction'].startswith('ret') and 'rax' in x['derived'] for x in p), 'what was copied'
assert any('taken' in x and not x['decides'] for x in p), 'the loop does not depend on it'
END2
argus step --show --taint parse:rdi:16 abcdefghijklmnop.step >shown
matches 'which depends on the input' <shown || fail "no branch: $(cat shown)"
matches 'from the input: what is behind rdi, rsi' <shown || fail "no argument: $(cat shown)"
argus step --show --taint parse:rsi --json abcdefghijklmnop.step >length.json
[ "$(json length.json "any(p.get('decides') for p in d['places'])")" = True ] || fail "the loop depends on its count"
argus step --show --taint keep:rdi abcdefghijklmnop.step >/dev/null || fail "another function"
if argus step --show --taint parse abcdefghijklmnop.step 2>refused; then fail "no register"; fi
matches 'FUNCTION:REGISTER' <refused || fail "$(cat refused)"
if argus step --show --taint nowhere:rdi abcdefghijklmnop.step 2>refused; then fail "no function"; fi
