#!/bin/bash
# Library calls are stepped over, with their results; a library that --into names is stepped through: what it calls in
# another one is not. Its functions are found whether the loader has filled their words or does so at the first call.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc
[ -e /sys/bus/event_source/devices/uprobe/type ] || skip "the kernel has no uprobes"

cat >inner.c <<'END'
int inner(int a) { return a * 3; }
int call_back(int (*f)(int), int a) { return f(a) + 1; }
END
cat >outer.c <<'END'
int inner(int a);
__attribute__((noinline)) static int kept(const int *numbers, int count)
{
	int sum = 0;
	for (int i = 0; i < count; i++)
		if (numbers[i] > 2)
			sum += numbers[i];
	return sum;
}
int outer(const int *numbers, int count) { return kept(numbers, count) + inner(count); }
int never(int a) { return a > 5 ? inner(a) : 1; }
END
cat >main.c <<'END'
#include <time.h>
int outer(const int *numbers, int count);
int never(int a);
int call_back(int (*f)(int), int a);
static __attribute__((noinline)) int own(int a) { return a > 7 ? a : 8; }
int __attribute__((noinline)) turn(const int *numbers, int count) { return outer(numbers, count) + call_back(own, count); }
int main(int count, char **words)
{
	int numbers[] = { 1, 2, 3, 4, 5 };
	if (count > 9)
		return never(words[1][0]);
	for (;;) {
		if (turn(numbers, 5) != 3 + 4 + 5 + 15 + 8 + 1)
			return 1;
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, 0);
	}
}
END
gcc -shared -fPIC -O1 -o libinner.so inner.c
gcc -shared -fPIC -O1 -o libouter.so outer.c -L. -linner
is_mapped() { grep -q libinner /proc/$pid/maps; }
trap 'kill $pid 2>/dev/null || true' EXIT

# now: the loader fills all words at the start; lazy: at the first call; no-plt: calls go by the word itself
try() {
	local way=$1
	shift
	gcc -O1 -o main.$way main.c -L. -louter -linner "$@"
	LD_LIBRARY_PATH=. ./main.$way &
	pid=$!
	wait_until 10 is_mapped

	argus step $pid main.$way:turn --results --most 300 --duration 30s -o over.step 2>notes || fail "$way, over: $(cat notes)"
	argus step --show --json over.step >over.json
	[ "$(json over.json "{p.get('file') for p in d['places']}")" = "{None}" ] || fail "$way: it was not stepped over"
	[ "$(json over.json "27 in {p.get('result') for p in d['places']}")" = True ] || fail "$way: not what outer returned: $(argus step --show over.step)"

	argus step $pid main.$way:turn --into libouter --depth 2 --results --most 600 --duration 30s -o into.step 2>notes || fail "$way, into: $(cat notes)"
	argus step --show --json into.step >into.json
	json into.json "sorted({p['place'].split('+')[0] for p in d['places']})" >places
	matches 'libouter.so:outer' <places || fail "$way: not outer: $(cat places notes)"
	if matches 'libinner|never' <places; then fail "$way: what is not called or was not named: $(cat places)"; fi
	[ "$(json into.json "any(p['instruction'].startswith('ret') and p['registers']['rax'] == 27 for p in d['places'])")" = True ] ||
		fail "$way: not what outer returned: $(argus step --show into.step)"
	[ "$(json into.json "15 in {p.get('result') for p in d['places']}")" = True ] || fail "$way: not what inner returned"
	argus step --show into.step >shown
	matches "main.$way, .*libouter.so" <shown || fail "$way: files: $(head -1 shown)"
	matches 'libouter.so:kept.* taken' <shown || fail "$way: no branch of the library: $(cat shown)"

	# what derives from an argument is followed into the library and back
	argus step --show --json --taint turn:rsi into.step >taint.json 2>refused || fail "$way: $(cat refused)"
	[ "$(json taint.json "d['taint']['gaps'] <= 1")" = True ] || fail "$way: gaps: $(json taint.json "d['taint']"): $(argus step --show --taint turn:rsi into.step)"
	[ "$(json taint.json "any(p.get('decides') and 'libouter' in p['place'] for p in d['places'])")" = True ] || fail "$way: no branch depends on the input"

	argus step $pid main.$way:turn --into libouter --into libinner --depth 2 --most 600 --duration 30s -o both.step 2>notes || fail "$way, both: $(cat notes)"
	argus step --show --json both.step >both.json
	json both.json "sorted({p['place'].split('+')[0] for p in d['places']})" >places
	matches 'libinner.so:inner' <places || fail "$way: not inner: $(cat places notes)"
	kill -0 $pid || fail "$way: it did not survive"
	kill $pid
}
try now -Wl,-z,now
try lazy -Wl,-z,lazy
try noplt -fno-plt

# a command from its first instruction on, where no process tells yet what lies where; by a plan, too
echo '[{"option": "--step", "value": "'"$PWD"'/main.now:turn"}, {"option": "--into", "value": "'"$PWD"'/libouter.so"}, {"option": "--depth", "value": "2"}]' >plan.json
for how in "--step $PWD/main.now:turn --into $PWD/libouter.so --depth 2" "--plan plan.json"; do
	# shellcheck disable=SC2086
	LD_LIBRARY_PATH=. argus record $how -o command.step -- timeout 1 ./main.now >notes 2>&1 || true
	argus step --show --json command.step >command.json || fail "$how: $(cat notes)"
	json command.json "sorted({p['place'].split('+')[0] for p in d['places']})" >places
	matches 'libouter.so:kept' <places || fail "$how: not kept: $(cat places notes)"
	if matches 'libinner' <places; then fail "$how: what was not named: $(cat places)"; fi
done
if argus record --into libouter.so -o none.trace -- true 2>refused; then fail "without --step"; fi
matches -- '--step' <refused || fail "$(cat refused)"

LD_LIBRARY_PATH=. ./main.now &
pid=$!
wait_until 10 is_mapped
if argus step $pid main.now:turn --into libnone 2>refused; then fail "no such library"; fi
matches "has not mapped 'libnone'" <refused || fail "$(cat refused)"
if argus step $pid main.now:turn --into libouter --into libouter.so 2>refused; then fail "twice"; fi
matches 'already' <refused || fail "$(cat refused)"
