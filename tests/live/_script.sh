# Stacks of a scripting language beside what its program says of itself: it sleeps below calls of many kinds, and prints
# each time its own frames as a line of JSON, [[function, file, line], ...].
cat >compare.py <<'END'
import json
import sys

comm, syscall = sys.argv[1:]
log = [json.loads(line) for line in open('log.txt')]
state = json.load(open('switches.json'))
stacks = [e['stack'] for e in state['events'] if e.get('comm') == comm and e.get('syscall') == syscall and 'stack' in e]
# the first may come before the tables are there
stacks, first = stacks[-len(log):], max(0, len(log) - len(stacks))
equal = 0
for own, frames in zip(log[first:], stacks):
    # a name has no line of its own there: it stands behind the file's path
    found = [[f['function'], f['file'], f['line']] for f in frames if f.get('file')]
    if found == own:
        equal += 1
    else:
        print(own, found, sep='\n')
print(f'{equal} equal of {len(log)}, {first} without a stack')
assert len(log) > 100 and first <= 3 and equal == len(log) - first, 'stacks differ'
END

# same_stacks COMM FILE [SYSCALL]: both ways that the program takes; by what it sleeps
same_stacks() {
	local comm=$1 file=$2 syscall=${3:-clock_nanosleep} seed try
	for seed in 1 2; do
		# a busy machine may not have the tables ready when the program begins
		try=0
		until argus record -o script.trace -- "$comm" "$file" $seed >log.txt 2>record.txt || fail "$(cat record.txt)" &&
			argus dump --json --stacks -e switch script.trace >switches.json &&
			python3 compare.py "$comm" "$syscall" >compare.txt 2>&1; do
			[ $((++try)) -lt 5 ] || fail "seed $seed: $(tail -n 20 compare.txt)"
		done
		argus info script.trace | matches 'stacks_python .* 0 cut' || fail "walks were cut"
	done
}
