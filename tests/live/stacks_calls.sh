#!/bin/bash
# System calls' stacks at the lean level: each call's end is seen once, with a whole
# stack; calls of threads at different places that come the same way have the same
# one; other programs' are left out.
. "$HERE/live/_lib.sh"
need_bpf
need_command cc

cat >program.c <<'END'
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { ROUNDS = 1500, THREADS = 4 };
static pthread_barrier_t turn;
__attribute__((noinline)) static long ask(long n) { return syscall(SYS_getppid) + n; }
__attribute__((noinline)) static long left(long n) { return ask(n) + 1; }
__attribute__((noinline)) static long right(long n) { return ask(n) + 2; }
static void *work(void *data)
{
	long sum = (long)data;
	pthread_barrier_wait(&turn);
	for (int i = 0; i < ROUNDS; i++)
		sum += i % 3 ? left(i) : right(i);
	return (void *)sum;
}
int main(void)
{
	pthread_t threads[THREADS];
	pthread_barrier_init(&turn, 0, THREADS);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	return 0;
}
END
cc -O1 -g -fno-optimize-sibling-calls -o program program.c -pthread
./program
argus record --level lean --stacks syscalls -F 0 -o t.trace -- sh -c './program; ./program' >/dev/null 2>&1
argus dump --json --stacks -e call_end,syscall t.trace >dump.json
python3 - dump.json <<'END' || fail "the calls are not those made"
import collections, json, sys
events = json.load(open(sys.argv[1]))['events']
calls = [e for e in events if e['type'] == 'call_end' and e['number'] == 'getppid' and e['comm'] == 'program']
assert not [e for e in events if e['type'] == 'syscall'], 'the full level'
ways = collections.Counter()
by_thread = collections.Counter()
for call in calls:
    by_thread[call['tid']] += 1
    stack = call.get('stack') or [{'ends': 'none'}]
    names = [f.get('function', '') for f in stack]
    ways['' if 'ends' in stack[-1] else ' '.join(n for n in names if n in ('ask', 'left', 'right', 'work'))] += 1
assert len(calls) == 2 * 4 * 1500, len(calls)
# on a busy machine a program is known a moment after its start, which may be most of its life
unknown = ways.pop('', 0)
assert set(ways) == {'ask left work', 'ask right work'}, (ways, unknown)
assert ways['ask left work'] + ways['ask right work'] + unknown == 12000 and ways['ask right work'] <= 4000, ways
assert len(by_thread) == 8 and set(by_thread.values()) == {1500}, by_thread
END
argus infer -f left t.trace | matches . || fail "nothing inferred"
