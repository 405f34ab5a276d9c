#!/bin/bash
# Probes on functions of packaged programs and of an own one, their returns, a mark, a
# trace point; a queue that the kernel knows nothing of becomes edges by a rule.
. "$HERE/live/_lib.sh"
need_bpf
need_command objdump gcc
[ -e /sys/bus/event_source/devices/uprobe/type ] || skip "the kernel has no uprobes"
argus doctor --json >doctor.json || true
[ "$(json doctor.json "[c['state'] for c in d['checks'] if c['name'] == 'uprobe'][0]")" = ok ] || fail "doctor does not know of uprobes"
pool=$BUILD/tests/probe_pool

argus record -o pool.trace --stacks probes --probe "put=$pool:pool_put" --probe "run=$pool:pool_run" \
	--probe "done=$pool:pool_run%return" --probe "turn=usdt:$pool:pool:turn" -- "$pool" >sum 2>record.txt ||
	fail "recording: $(cat record.txt)"
[ "$(cat sum)" = 2450 ] || fail "the program computed $(cat sum)"
argus info --json pool.trace >info.json
[ "$(json info.json "[(p['name'], p['kind'], p['place'], p['hits']) for p in d['probes']]")" = \
  "[('put', 'function', 'pool_put', 50), ('run', 'function', 'pool_run', 50), ('done', 'return', 'pool_run', 50), ('turn', 'usdt', 'pool:turn', 50)]" ] ||
	fail "probes: $(json info.json "d['probes']")"
argus dump --json --type probe pool.trace >probes.json
[ "$(json probes.json "[int(e.get('arg2', '0'), 16) for e in d['events'] if e['probe_name'] == 'put'] == list(range(50))")" = True ] ||
	fail "arguments of pool_put"
[ "$(json probes.json "[int(e.get('result', '0'), 16) for e in d['events'] if e['probe_name'] == 'done'] == [2 * i for i in range(50)]")" = True ] ||
	fail "results of pool_run"
[ "$(json probes.json "[int(e.get('arg1', '0'), 16) for e in d['events'] if e['probe_name'] == 'turn'] == list(range(50))")" = True ] ||
	fail "values of the mark"
argus dump --stacks --type probe pool.trace >stacks.txt
# the first ones may come before the program's unwind table is laid
grep -A2 '# put' stacks.txt >put.txt
grep -q ' main ' put.txt || fail "no stack of pool_put: $(head -5 stacks.txt)"

argus graph --check pool.trace >check.txt
grep -q 'arg1 of probe put comes again as arg1 of probe run, 50 times' check.txt || fail "the hand-over is not seen: $(cat check.txt)"
cat >pool.rules <<'R'
edge handoff as submit from probe put key arg1, thread.pid to probe run key arg1, thread.pid;
boundary job as callout from probe run to probe done;
R
argus graph --json --rules pool.rules pool.trace >graph.json
[ "$(json graph.json "d['edges']['submit']")" = 50 ] || fail "edges: $(json graph.json "d['edges']")"

# an instruction in a function: its second one, not the midst of one
first=$(objdump -d --no-show-raw-insn "$pool" | awk '/<pool_put>:/ { f = 1; next } f && n < 2 { sub(":", "", $1); print $1; n++ }')
second=0x$(echo "$first" | tail -1)
start=0x$(echo "$first" | head -1)
argus record -o place.trace --probe "a=$pool:pool_put+$((second - start))" --probe "b=$pool:$second" -- "$pool" >sum 2>record.txt ||
	fail "recording: $(cat record.txt)"
[ "$(cat sum)" = 2450 ] || fail "the program computed $(cat sum)"
argus info --json place.trace >info.json
[ "$(json info.json "[(p['name'], p['hits']) for p in d['probes']]")" = "[('a', 50), ('b', 50)]" ] || fail "places: $(json info.json "d['probes']")"
long=$(objdump -d "$pool" | awk -F'\t' '/<pool_put>:/ { f = 1; next } f && NF > 1 { n = split($2, b, " "); if (n > 2 && !seen++) { sub(/ */, "", $1); sub(":", "", $1); print $1 } }')
argus record -o bad.trace --probe "$pool:0x$(printf %x $((0x$long + 1)))" -- true >out 2>&1 && fail "taken inside of an instruction"
grep -q 'inside of an instruction' out || fail "no word: $(cat out)"

# by its offset in the file; values by their names in the source, texts where they are asked for
offset=$(objdump -h "$pool" | awk -v at=$((second)) '$2 == ".text" { print "0x" $4, "0x" $6 }')
read -r text_at text_offset <<<"$offset"
argus record -o values.trace --probe "at=$pool+0x$(printf %x $((second - text_at + text_offset)))" \
	--probe "put=$pool:pool_put(number, job->part.left)" --probe "run=$pool:pool_run(job->number, job->label:string, job->part.name:string)" \
	--probe "raw=$pool:pool_run(rdi->0, rdi)" -- "$pool" >sum 2>record.txt || fail "values: $(cat record.txt)"
[ "$(cat sum)" = 2450 ] || fail "the program computed $(cat sum)"
argus dump --json --type probe,probe_text values.trace >values.json
[ "$(json values.json "len([e for e in d['events'] if e.get('probe_name') == 'at'])")" = 50 ] || fail "a place by its offset: $(head -c 600 values.json)"
[ "$(json values.json "[e['values'] for e in d['events'] if e['type'] == 'probe' and e['probe_name'] == 'put'] == [{'number': i, 'job->part.left': -i} for i in range(50)]")" = True ] ||
	fail "values of put: $(head -c 1000 values.json)"
[ "$(json values.json "[e['values']['job->number'] for e in d['events'] if e['type'] == 'probe' and e['probe_name'] == 'run'] == list(range(50))")" = True ] ||
	fail "values of run: $(head -c 1000 values.json)"
[ "$(json values.json "[e['text'] for e in d['events'] if e['type'] == 'probe_text'] == [t for i in range(50) for t in (('even', 'odd')[i % 2], 'job %d' % i)]")" = True ] ||
	fail "texts: $(head -c 1500 values.json)"
[ "$(json values.json "all(e['values']['rdi->0'] & 0xffffffff == i for i, e in enumerate(e for e in d['events'] if e['type'] == 'probe' and e['probe_name'] == 'raw'))")" = True ] ||
	fail "registers: $(head -c 1000 values.json)"
argus dump --type probe values.trace >values.txt
grep -q '# put number=7, job->part.left=-7' values.txt || fail "values are not told by name: $(head -3 values.txt)"

# registers, fewer bytes where one leads, and a text beside them; arguments of marks, and the text that one leads to
argus record -o registers.trace --probe "run=$pool:pool_run%fields=[rdi:4],rdi%text=[rdi+8]" --probe "turn=usdt:$pool:pool:turn%fields=arg1" \
	--probe "label=usdt:$pool:pool:label%text=arg1" -- "$pool" >sum 2>record.txt || fail "registers: $(cat record.txt)"
argus dump --json --type probe,probe_text registers.trace >registers.json
[ "$(json registers.json "[int(e.get('arg1', '0'), 16) for e in d['events'] if e['type'] == 'probe' and e['probe_name'] == 'run'] == list(range(50))")" = True ] ||
	fail "four bytes: $(head -c 1000 registers.json)"
[ "$(json registers.json "all('arg3' not in e and int(e['arg2'], 16) for e in d['events'] if e['type'] == 'probe' and e['probe_name'] == 'run')")" = True ] ||
	fail "a register: $(head -c 1000 registers.json)"
[ "$(json registers.json "[int(e.get('arg1', '0'), 16) for e in d['events'] if e['type'] == 'probe' and e['probe_name'] == 'turn'] == list(range(50))")" = True ] ||
	fail "the mark's argument: $(head -c 1000 registers.json)"
for name in run label; do
	[ "$(json registers.json "[(e['argument'], e['text']) for e in d['events'] if e['type'] == 'probe_text' and e['probe_name'] == '$name'] == [(4, ('even', 'odd')[i % 2]) for i in range(50)]")" = True ] ||
		fail "texts of $name: $(head -c 1500 registers.json)"
done
refused() { # WORDS PROBE
	argus record -o bad.trace --probe "$2" -- true >out 2>&1 && fail "taken: $2"
	grep -q -- "$1" out || fail "words about $2: $(cat out)"
}
refused "no field 'nummer'" "$pool:pool_run(job->nummer)"
refused "is no parameter" "$pool:pool_run(jab->number)"
refused "it is no number" "$pool:pool_run(job->part)"
refused "more than 3 values" "$pool:pool_run(job,job,job,job)"
refused "more than 4 reads" "$pool:pool_run(rdi->0->0->0->0->0)"
refused "but 'pool_put'" "$pool:pool_pet"

# a line of the source; where there is none the nearest are told
source=$HERE/live/probe_pool.c
line=$(grep -n 'job->number = number' "$source" | cut -d: -f1)
head_line=$(grep -n '^#include' "$source" | head -1 | cut -d: -f1)
argus record -o line.trace --probe "line=$pool:probe_pool.c:$line" -- "$pool" >sum 2>record.txt || fail "a line: $(cat record.txt)"
[ "$(cat sum)" = 2450 ] || fail "the program computed $(cat sum)"
argus info --json line.trace >info.json
[ "$(json info.json "[(p['name'], p['hits']) for p in d['probes']]")" = "[('line', 50)]" ] || fail "a line: $(json info.json "d['probes']")"
argus record -o bad.trace --probe "$pool:probe_pool.c:$head_line" -- true >out 2>&1 && fail "taken where no code is"
grep -q 'has no code.*line' out || fail "no word: $(cat out)"
argus record -o bad.trace --probe "$pool:no_such.c:1" -- true >out 2>&1 && fail "taken of no source"
grep -q 'was not made of' out || fail "no word: $(cat out)"

# what a place costs, and a cheaper one near by, taken only with --near
cat >near.c <<'C'
#include <stdio.h>
__asm__(".type dear, @function\ndear:\n.cfi_startproc\n mov (%rdi), %eax\n push %rbx\n.cfi_def_cfa_offset 16\n pop %rbx\n.cfi_def_cfa_offset 8\n ret\n"
	".cfi_endproc\n.size dear, .-dear\n");
extern int dear(int *number);
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 50; i++)
		sum += dear(&i);
	printf("%d\n", sum);
}
C
gcc -O1 -o near near.c
for more in "" --near; do
	# shellcheck disable=SC2086
	argus record -o near.trace $more --probe "dear=$PWD/near:dear%fields=[rdi:4]" -- ./near >sum 2>record.txt || fail "near: $(cat record.txt)"
	[ "$(cat sum)" = 1225 ] || fail "the program computed $(cat sum)"
	argus dump --json --type probe near.trace >near.json
	[ "$(json near.json "[int(e.get('arg1', '0'), 16) for e in d['events']] == list(range(50))")" = True ] || fail "values: $(head -c 600 near.json)"
	case $more in
	"")
		grep -q "single-stepped" record.txt || fail "nothing of its cost: $(cat record.txt)"
		grep -q "at dear+0x2 ('push rbx') near by .* --near takes it" record.txt || fail "no place near by: $(cat record.txt)"
		;;
	*) grep -q "placed at dear+0x2 ('push rbx')" record.txt || fail "not taken: $(cat record.txt)" ;;
	esac
done

# the text form loses nothing
argus dump --text pool.trace >pool.txt
argus import --text pool.txt -o again.trace 2>/dev/null
argus dump --text again.trace | cmp -s - pool.txt || fail "the text form is not the same"

# a packaged program, all that runs, by the library's name; and one process alone
points=()
if [ -d /sys/kernel/tracing/events/sched ] || [ -d /sys/kernel/debug/tracing/events/sched ]; then
	points=(--probe exec=tracepoint:sched:sched_process_exec)
fi
argus record -o sort.trace --probe libc:fopen --probe 'closed=libc:fclose%return' "${points[@]}" -- \
	sort /etc/passwd -o sorted 2>record.txt || fail "recording: $(cat record.txt)"
argus dump --type probe sort.trace >sort.txt
grep -q ' sort .*# fopen' sort.txt || fail "sort opened nothing: $(cat sort.txt)"
grep -q '# closed' sort.txt || fail "sort closed nothing"
[ ${#points[@]} = 0 ] || grep -q ' sort .*# exec' sort.txt || fail "the exec is missing"

python3 -c 'import time
while True: time.sleep(0.01)' &
one=$!
python3 -c 'import time
while True: time.sleep(0.01)' &
other=$!
trap 'kill $one $other' EXIT
mapped() { grep -q libc /proc/$one/maps; }
wait_until 10 mapped
argus record -o one.trace --all --duration 300ms --probe "$one:clock_nanosleep" 2>record.txt || fail "recording: $(cat record.txt)"
argus dump --json --type probe one.trace >one.json
[ "$(json one.json "sorted({e['tid'] for e in d['events']})")" = "[$one]" ] || fail "not the one process: $(head -c 500 one.json)"

# each file of a ring tells the names
argus start --dir "$WORK/ring" --size 8M --no-stacks --probe "sleep=libc:clock_nanosleep" 2>record.txt || fail "start: $(cat record.txt)"
hit() { argus snap -o snap.trace --last 10s && argus info snap.trace >snap.txt && grep -Eq 'probe +sleep: .* [1-9][0-9]* times' snap.txt; }
wait_until 20 hit
argus stop

for bad in "$pool:pool_pet" 'libc:strlen' 'nofile-of-this-name:f' 'usdt:libc:no:mark' 'tracepoint:no:such' '4194304:open' 'x=libc' \
	'a=libc:fopen%return --probe a=libc:fclose'; do
	status=0
	# shellcheck disable=SC2086
	argus record -o bad.trace --probe $bad -- true >out 2>&1 || status=$?
	[ $status = 1 ] || [ $status = 2 ] || fail "not refused: $bad"
	grep -q -- '--probe' out || fail "no word about $bad: $(cat out)"
done
