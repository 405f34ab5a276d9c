#!/bin/bash
# infer and diff on recordings of a program whose slow function and plug-in are known.
. "$HERE/live/_lib.sh"
need_bpf
need_command cc

cat >plug.c <<'C'
#include <time.h>
void plug_slow(void);
void plug_slow(void)
{
	struct timespec t = { 0, 50000000 };
	nanosleep(&t, 0);
}
C
cat >program.c <<'C'
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
static volatile unsigned long sink;
__attribute__((noinline)) static void spin(long n) { while (n--) sink += n; }
__attribute__((noinline)) static void handle(int slow, void (*plug)(void))
{
	spin(200000);
	if (slow)
		plug();
	if (write(1, "", 0))
		sink++;
}
int main(int argc, char **argv)
{
	void (*plug)(void) = (void (*)(void))dlsym(dlopen("./plug.so", RTLD_NOW), "plug_slow");
	for (int i = 0; i < atoi(argv[1]); i++)
		handle(argc > 2, plug);
	return 0;
}
C
cc -O1 -g -fPIC -shared -o plug.so plug.c
cc -O1 -g -o program program.c -ldl

argus record --level full --stacks all -F 997 -o base.argus -- ./program 200 2>/dev/null
argus record --level full --stacks all -F 997 -o buggy.argus -- ./program 20 slow 2>/dev/null

# in one run: nearly all of the slow one's time is the plug-in's sleep
argus infer --pid program --time all --json buggy.argus >infer.json 2>/dev/null
[ "$(json infer.json "d['paths'][0]['function']")" = plug_slow ] || fail "infer: $(json infer.json "d['paths'][0]")"
[ "$(json infer.json "d['paths'][0]['place']")" = plug-in ] || fail "the plug-in's place"
[ "$(json infer.json "any(f['function'] == 'handle' for f in d['paths'][0]['frames'])")" = True ] || fail "its caller"

# its 20 calls are told apart, but for those at the very start, when the program's tables are made yet
argus infer --pid program --function plug_slow --json buggy.argus >calls.json 2>/dev/null
[ "$(json calls.json "15 <= len(d['instances']) <= 20")" = True ] || fail "calls: $(json calls.json "len(d['instances'])")"
# one whose stack in the wait could not be read does not show that it waited
[ "$(json calls.json "all(i['last_ns'] - i['first_ns'] >= 50000000 for i in d['instances'])")" = True ] &&
	[ "$(json calls.json "sum(i['waiting_ns'] < 45000000 for i in d['instances']) <= 1")" = True ] ||
	fail "their lengths: $(json calls.json "[(i['last_ns'] - i['first_ns'], i['waiting_ns']) for i in d['instances']]")"

# ten times less work in the buggy run, and still it is found; nothing is found the other way round
argus diff --pid program --json base.argus buggy.argus >diff.json 2>/dev/null
[ "$(json diff.json "d['paths'][0]['function']")" = plug_slow ] || fail "diff: $(json diff.json "d['paths'][0]")"
[ "$(json diff.json "d['paths'][0]['internal']")" = False ] || fail "the plug-in is no part of the program"
argus diff --pid program --json buggy.argus base.argus >back.json 2>/dev/null || fail "the other way round"
[ "$(json back.json "any(p['function'] == 'plug_slow' for p in d['paths'])")" = False ] || fail "found in the good run"
