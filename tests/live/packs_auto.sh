#!/bin/bash
# Packs by themselves: in programs that start behind the recording, in a copy of the library that a
# process has mapped already; what a pack may cost, and what the trace says of it.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc

library=$(readlink -f /usr/lib/x86_64-linux-gnu/libglib-2.0.so.0)
[ -e "$library" ] || skip "GLib is not installed"
cat >ticks.c <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern unsigned g_idle_add(int (*)(void *), void *);
extern void *g_main_loop_new(void *, int);
extern void g_main_loop_run(void *), g_main_loop_quit(void *);

static void *loop;
static long left;

static int tick(void *data)
{
	(void)data;
	if (--left)
		return 1;
	g_main_loop_quit(loop);
	return 0;
}

int main(int argc, char **argv)
{
	left = argc > 1 ? atol(argv[1]) : 50;
	loop = g_main_loop_new(0, 0);
	g_idle_add(tick, 0);
	if (argc > 2) { /* when it is told to */
		puts("ready");
		fflush(stdout);
		getchar();
	}
	g_main_loop_run(loop);
	return 0;
}
END
gcc -O1 -o ticks ticks.c "$library"
calls() {
	argus dump -e probe "$1" | grep -c '# glib-callback$' || true
}

argus record --packs auto -o later.trace -- ./ticks 50 2>record.txt || fail "$(cat record.txt)"
grep -q '^packs:.* \?glib' record.txt || fail "record does not say which packs are on: $(cat record.txt)"
argus info later.trace | grep -q 'packs .*glib' || fail "info does not: $(argus info later.trace | grep packs)"
[ "$(calls later.trace)" = 50 ] || fail "$(calls later.trace) of 50 callbacks in a program that started later"

# a copy, at another place, of a process that runs already
mkdir copy
cp "$library" copy/libglib-2.0.so.0
mkfifo go
exec 3<>go
LD_LIBRARY_PATH=$PWD/copy ./ticks 60 wait <&3 >said.txt &
ticks=$!
wait_until 20 grep -q ready said.txt
argus record --packs auto -p $ticks -o copy.trace -- sh -c "echo >go; wait; while kill -0 $ticks 2>/dev/null; do sleep 0.1; done" 2>record.txt ||
	fail "$(cat record.txt)"
wait $ticks
[ "$(calls copy.trace)" = 60 ] || fail "$(calls copy.trace) of 60 callbacks over a copy of the library"

# what is too much is turned off, and said to be
argus record --packs auto --pack-budget 0.5% -o hot.trace -- ./ticks 3000000 2>record.txt || fail "$(cat record.txt)"
argus info hot.trace | grep -A1 'probe *glib-callback:' | grep -q 'off from' || fail "$(argus info hot.trace | grep -A1 probe)"
argus info hot.trace | grep -A1 'probe *glib-callback-end:' | grep -q 'off from' || fail "a begin without its end"
argus info hot.trace | grep -A1 'probe *glib-task:' | grep -q 'off from' && fail "what was not hit was turned off"
[ "$(calls hot.trace)" -lt 3000000 ] || fail "nothing was turned off"
if argus record --packs auto --pack-budget 3x -o bad.trace -- true 2>record.txt; then fail "a budget that is none was taken"; fi
grep -q 'takes per cent' record.txt || fail "$(cat record.txt)"
argus record --packs none -o none.trace -- ./ticks 5 2>record.txt
grep -q '^packs' record.txt && fail "packs that were not asked for"
exit 0
