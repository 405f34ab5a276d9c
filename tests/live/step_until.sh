#!/bin/bash
# How far a thread is stepped, and which: to its next wait, to the function's return, for so many instructions; one of
# this name; one that comes with the stack that an event of a trace had. Entries and calls have their whole stacks.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc
[ -e /sys/bus/event_source/devices/uprobe/type ] || skip "the kernel has no uprobes"

cat >program.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#define KEPT __attribute__((noinline, noclone))
/* ten instructions a turn, one branch */
unsigned long counted(unsigned long turns);
__asm__(".globl counted\n.type counted, @function\ncounted:\n.cfi_startproc\n push %rbx\n.cfi_def_cfa_offset 16\n mov %rdi, %rbx\n"
	"1: add $1, %rax\n add $2, %rax\n add $3, %rax\n add $4, %rax\n add $5, %rax\n add $6, %rax\n add $7, %rax\n add $8, %rax\n"
	" dec %rbx\n jnz 1b\n pop %rbx\n.cfi_def_cfa_offset 8\n ret\n.cfi_endproc\n.size counted, .-counted\n");
static volatile int never;
KEPT int pause_here(int a) { usleep(1000); return a + never; }
KEPT int work(int a)
{
	int sum = 0;
	for (int i = 0; i < 5; i++)
		sum += i % 2 ? a : 1;
	sum += pause_here(sum);
	for (int i = 0; i < 7; i++)
		sum += i % 2 ? a : 2;
	return sum;
}
KEPT int from_here(int a) { return work(a) + 1; }
KEPT int from_there(int a) { return work(a) + 2; }
static void *worker(void *data)
{
	pthread_setname_np(pthread_self(), "worker bee");
	for (;;)
		never = from_there(3) < 0;
	return data;
}
KEPT void last(int a)
{
	for (int i = 0; i < a; i++)
		never = 0;
	pause();
}
static void *sleeper(void *data)
{
	while (access("go", F_OK))
		usleep(10000);
	last(4);
	return data;
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, 0, worker, 0);
	pthread_create(&thread, 0, sleeper, 0);
	for (;;)
		never = from_here(4) + (int)counted(1000) < 0;
}
END
gcc -O1 -fno-optimize-sibling-calls -o program program.c -pthread
./program &
pid=$!
trap 'kill $pid 2>/dev/null || true' EXIT
sleeps() { grep -q "worker bee" /proc/$pid/task/*/comm; }
wait_until 10 sleeps

# the last call of all first: its thread never comes back from its wait
argus step $pid program:last --until wait --duration 120s -o last.step 2>notes &
recorder=$!
wait_until 120 grep -q stepping notes
touch go
wait $recorder || fail "wait: $(cat notes)"
argus step --show --json last.step >last.json
[ "$(json last.json "d['places'][-1]['instruction'].split()[0] in ('call', 'jmp')")" = True ] || fail "it goes on behind its wait: $(argus step --show last.step)"

argus step $pid program:work --depth 0 --until return -o return.step 2>notes || fail "return: $(cat notes)"
argus step --show --json return.step >return.json
[ "$(json return.json "[len([p for p in d['places'] if p['instruction'].startswith('ret')]), d['places'][-1]['instruction'][:3]]")" = "[1, 'ret']" ] ||
	fail "not one call: $(argus step --show return.step)"
[ "$(json return.json "len({p.get('entered') for p in d['places']} - {None}) <= 1")" = True ] || fail "entered twice"

argus step $pid program:work --until wait -o wait.step 2>notes || fail "wait: $(cat notes)"
argus step --show --json wait.step >wait.json
[ "$(json wait.json "d['places'][-1]['instruction'].split()[0] in ('call', 'jmp')")" = True ] || fail "not up to the wait: $(argus step --show wait.step)"
[ "$(json wait.json "len(d['places']) < 40")" = True ] || fail "more than one turn: $(argus step --show wait.step)"

for count in 1000 5000; do
	argus step $pid program:counted --until $count -o count.step 2>notes || fail "$count instructions: $(cat notes)"
	argus step --show --json count.step >count.json
	# from the beginning, where there are two more, or from within
	places=$(json count.json "len([p for p in d['places'] if p['instruction'].startswith('j')])")
	[ $((places - count / 10)) -le 1 ] && [ $((count / 10 - places)) -le 1 ] || fail "$count instructions: $places turns"
done

argus step $pid program:work --thread "worker bee" --most 200 -o named.step 2>notes || fail "thread: $(cat notes)"
argus dump --json --type step named.step >named.json
[ "$(json named.json "len({e['tid'] for e in d['events']})")" = 1 ] || fail "more than one thread"
argus step --show named.step | head -1 | matches '^worker bee' || fail "not the worker: $(argus step --show named.step | head -1)"

# ---- the stack of each call and of the entry, in full
argus step $pid program:work --most 400 -o both.step 2>notes || fail "both: $(cat notes)"
for tid in $(argus dump --json --type step both.step | python3 -c 'import json, sys; print(*{e["tid"] for e in json.load(sys.stdin)["events"]})'); do
	argus step --show --json --tid "$tid" both.step >both.json
	caller=from_here outer=main
	[ "$tid" = $pid ] || caller=from_there outer=start_thread
	python3 - both.json $caller $outer <<'P' || fail "stacks: $(argus step --show --stacks --tid "$tid" both.step | head -60)"
import json, sys
document, caller, outer = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3]
calls = [p for p in document["places"] if p["instruction"].startswith("call")]
entries = [p for p in document["places"] if "entered" in p]
assert calls and entries, (len(calls), len(entries))
for place in calls + entries:
    names = [frame["function"] for frame in place["stack"]]
    inner = "work" if place["instruction"].startswith("call") and "work" in place["place"] else names[0]
    assert names[0] == inner and caller in names, names
    assert outer in names or outer == "start_thread", names
for place in entries:
    assert place["entered"] in ("work", "pause_here") and place["registers"]["rdi"] in (3, 4), place
assert not any("stack" in p for p in document["places"] if p not in calls and p not in entries)
P
done
argus step --show both.step >shown
matches 'entered: work(0x[34],' <shown || fail "no entry: $(head -20 shown)"
matches ' from_[a-z]* (program)' <shown || fail "no stack: $(head -20 shown)"

# ---- with the stack that an event had
argus record -p $pid --probe "stop=$PWD/program:pause_here" --stacks waits,probes --duration 300ms -o waits.trace 2>notes || fail "record: $(cat notes)"
for caller in from_here from_there; do
	argus dump --type probe --stacks waits.trace >events
	event=$(awk -v caller=$caller '/ probe /{ number = $1 } $0 ~ caller { print number; exit }' events)
	[ -n "$event" ] || fail "no event of $caller: $(head -20 events)"
	argus step $pid --event "waits.trace:$event" --until return --duration 30s -o event.step 2>notes || fail "event: $(cat notes)"
	argus step --show --json event.step >event.json || fail "nobody came: $(cat notes)"
	[ "$(json event.json "(d['tid'] == d['pid']) == ('$caller' == 'from_here')")" = True ] || fail "$caller: the other thread: $(argus step --show event.step)"
	[ "$(json event.json "d['places'][0]['place'].startswith('pause_here')")" = True ] || fail "$caller: elsewhere: $(argus step --show event.step)"
done
kill -0 $pid || fail "it did not survive"

# ---- by what it is called
argus step program program:work --most 20 -o called.step 2>notes || fail "by name: $(cat notes)"
[ "$(argus step --show --json called.step | python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])')" = $pid ] || fail "another process"
cp program "other bee"
"./other bee" &
second=$!
"./other bee" &
third=$!
trap 'kill $pid $second $third 2>/dev/null || true' EXIT
both_run() { grep -q "other bee" /proc/$second/comm && grep -q "other bee" /proc/$third/comm; }
wait_until 10 both_run

# ---- what cannot be
refused() { # WORDS ARGUMENT...
	local words=$1
	shift
	if argus "$@" >refusal 2>&1; then fail "not refused: $*"; fi
	matches -- "$words" <refusal || fail "words about $*: $(cat refusal)"
}
refused 'wait, return, or a number' step $pid program:work --until never
refused 'TRACE:NUMBER' step $pid --event waits.trace
refused 'has no event' step $pid --event waits.trace:99999999
refused 'what threads are called' step $pid program:work --thread "a name that is much too long"
refused 'say which process' step $pid
refused 'several processes are called' step 'other bee' program:work
refused 'no process is called' watch 'no such bee' never
