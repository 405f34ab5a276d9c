#!/bin/bash
# The flag lies in a library that the loop asks by function calls: the comparison says what to step into, by a plan,
# until it ends at the flag's address; watched, it names who writes it.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc strip
[ -e /sys/bus/event_source/devices/uprobe/type ] || skip "the kernel has no uprobes"
"$BUILD"/tests/watch_allowed || skip "this machine has no hardware watchpoints"

cat >state.c <<'END'
static int finished;
__attribute__((noinline)) static int look(void) { __asm__ volatile("" ::: "memory"); return finished; }
int state_is_finished(void) { return look() + 0; }
void state_finish(void) { __atomic_store_n(&finished, 1, __ATOMIC_RELEASE); }
END
cat >main.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
int state_is_finished(void);
void state_finish(void);
static int bad;
static void *work(void *data)
{
	usleep(bad ? 4000000 : 400000);
	state_finish();
	return data;
}
#define KEPT __attribute__((noinline, noclone))
KEPT static int ready(void) { __asm__ volatile("" ::: "memory"); return state_is_finished() != 0; }
KEPT static int may_go_on(void) { __asm__ volatile("" ::: "memory"); return ready() | 0; }
KEPT static void await(void)
{
	while (!may_go_on())
		usleep(1000);
}
int main(int count, char **words)
{
	pthread_t thread;
	bad = count > 1;
	(void)words;
	pthread_create(&thread, NULL, work, NULL);
	await();
	pthread_join(thread, NULL);
	return 0;
}
END
gcc -shared -fPIC -O1 -fno-optimize-sibling-calls -fcf-protection=none -o libstate.so state.c
gcc -O1 -fno-optimize-sibling-calls -o whole main.c -L. -lstate -pthread -Wl,-rpath,"$PWD"
flag=$(nm libstate.so | sed -n 's/^0*\([0-9a-f]*\) b finished$/0x\1/p')
await=$(nm whole | sed -n 's/^0*\([0-9a-f]*\) t await$/0x\1/p')
strip -o waiter whole
strip libstate.so

# as `argus why` begins: the loop's function alone
echo "[{\"option\": \"--step\", \"value\": \"$PWD/waiter:$await\"}, {\"option\": \"--depth\", \"value\": \"0\"}]" >plan.json
for round in 1 2 3 4 5 6; do
	argus record --plan plan.json -o bad.step -- ./waiter bad 2>notes || fail "round $round, bad: $(cat notes)"
	argus record --plan plan.json -o good.step -- ./waiter 2>notes || fail "round $round, good: $(cat notes)"
	argus diverge good.step bad.step >said || fail "round $round: $(cat said)"
	argus diverge --json good.step bad.step >plan.json
	[ "$(json plan.json "d['plan'] != []")" = True ] || fail "round $round: nothing to go on with: $(cat said)"
	[ "$(json plan.json "d['plan'][0]['option']")" = --step ] || break
	matches 'Step into it' <said || fail "round $round: the text does not say so: $(cat said)"
	[ $round != 1 ] || matches -- '--depth 1' <said || fail "not deeper: $(cat said)"
	json plan.json "[s['option'] + ' ' + s['value'] for s in d['plan']]" >>rounds
done
[ "$(json plan.json "d['plan'][0]['value'].split('/')[-1]")" = "libstate.so:$flag%4" ] || fail "not the flag $flag: $(cat said rounds)"
matches -- '--into.*libstate' <rounds || fail "not into the library: $(cat rounds)"
argus record --plan plan.json -o good.watch -- ./waiter 2>notes || fail "watch: $(cat notes)"
argus watch --show --json good.watch >watch.json
[ "$(json watch.json "[v['tid'] != d['watches'][0]['pid'] for v in d['watches'][0]['visitors'] if v['value'] == 1]")" = "[True]" ] ||
	fail "the writer: $(argus watch --show good.watch)"
