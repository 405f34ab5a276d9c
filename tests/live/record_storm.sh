#!/bin/bash
# A storm out of the quiet: the agent, which sleeps long where nothing happens,
# is woken before the rings are full, and keeps up from then on.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc

cat >storm.c <<'END'
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>

/* two on each of two processors, which make room for each other */
int main(void)
{
	int place = 0;
	for (; place < 3 && fork(); place++)
		;
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(place & 1, &set);
	sched_setaffinity(0, sizeof(set), &set);
	usleep(1200000);
	for (int i = 0; i < 150000; i++)
		sched_yield();
	usleep(500000);
	return 0;
}
END
gcc -O2 -o storm storm.c
# what comes in a quarter of a second is several times what such a ring holds
argus record -a --ring 8M --stacks none --freq 0 -o t.trace -- ./storm 2>/dev/null
argus info --json t.trace >info
[ "$(json info 'd["lost"]')" = 0 ] || fail "$(json info 'd["lost"]') events were lost"
[ "$(json info 'd["types"]["switch"] > 200000')" = True ] || fail "only $(json info 'd["types"]["switch"]') switches: that is no storm"
