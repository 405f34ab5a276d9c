#!/bin/bash
# argus now beside thousands of threads that sleep: each is in the snapshot, where it waits, and the two
# that wait for each other are found among them.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc

cat >many.c <<'END2'
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void *sleeper(void *x) { for (;;) pause(); return x; }
__attribute__((noinline)) static void take_second(pthread_mutex_t *m) { pthread_mutex_lock(m); __asm__ volatile(""); }
static void *one(void *x) { pthread_mutex_lock(&a); pthread_barrier_wait(&both); take_second(&b); return x; }
static void *two(void *x) { pthread_mutex_lock(&b); pthread_barrier_wait(&both); take_second(&a); return x; }
int main(int count, char **words)
{
	int processes = count > 1 ? atoi(words[1]) : 1, threads = count > 2 ? atoi(words[2]) : 1;
	pthread_attr_t small;
	pthread_t t, last;
	int ready[2];
	char byte = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	if (pipe(ready))
		return 1;
	for (int i = 0; i < processes; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int k = 1; k < threads; k++)
			if (pthread_create(&t, &small, sleeper, 0))
				_exit(1);
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		sleeper(0);
	}
	for (int i = 0; i < processes; i++)
		if (read(ready[0], &byte, 1) != 1)
			return 1;
	pthread_barrier_init(&both, 0, 2);
	pthread_create(&t, 0, one, 0);
	pthread_create(&last, 0, two, 0);
	printf("%d\n", (int)getpid());
	fclose(stdout);
	pthread_join(last, 0);
}
END2
gcc -g -O1 -pthread -o many many.c
./many 20 200 >pid.txt & pid=$!
trap 'kill -KILL $pid; wait $pid 2>/dev/null || true' EXIT
wait_until 60 test -s pid.txt
asleep() { [ "$(cat /proc/$pid/task/*/syscall | grep -c '^202 ')" = 3 ]; }
wait_until 20 asleep
got=0
argus now --json -o many.trace $pid >now.json 2>notes.txt || got=$?
[ $got = 1 ] || fail "status $got: $(cat notes.txt)"
[ "$(json now.json 'len(d["threads"][0]["answer"]["circle"])')" = 2 ] || fail "no circle: $(cat now.json)"
[ "$(json now.json 'd["threads"][0]["answer"]["culprit"]["function"]')" = take_second ] || fail "$(cat now.json)"
grep -q 'more threads than a snapshot holds' notes.txt && fail "$(cat notes.txt)"
argus dump --state --json --stacks -e waiting many.trace >state.json
[ "$(json state.json 'len({e["tid"] for e in d["events"] if e["comm"] == "many" and e.get("stack")})')" = 4003 ] ||
	fail "$(json state.json 'len({e["tid"] for e in d["events"] if e["comm"] == "many" and e.get("stack")})') of 4003 threads have stacks"
