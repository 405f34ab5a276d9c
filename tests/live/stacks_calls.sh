#!/bin/bash
# System calls' stacks at the lean level: each call's end is seen once, with a whole
# stack; calls of threads at different places that come the same way have the same
# one; other programs' are left out.
. "$HERE/live/_lib.sh"
need_bpf
need_command cc

cat >program.c <<'END'
#include <poll.h>
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
	struct pollfd go = { .fd = 0, .events = POLLIN };
	while (!poll(&go, 1, 10))
		left(0);
	pthread_barrier_init(&turn, 0, THREADS);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], 0, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], 0);
	return 0;
}
END
cc -O1 -g -fno-optimize-sibling-calls -o program program.c -pthread
mkfifo one two
./program <one & first=$!
./program <two & second=$!
exec 5>one 6>two
argus record -a --level lean --stacks syscalls -F 0 -o t.trace 2>/dev/null & recorder=$!
# a recording knows a program a moment after its start
known() {
	argus dump --stacks -e call_end --tid "$1" t.trace 2>/dev/null | matches ' main '
}
wait_until 60 known "$first"
wait_until 60 known "$second"
echo >&5
echo >&6
wait "$first" || fail "a program"
wait "$second" || fail "a program"
kill -INT "$recorder"
wait "$recorder" || true
argus dump --json --stacks -e call_end,syscall t.trace >dump.json
python3 - dump.json "$first" "$second" <<'END' || fail "the calls are not those made"
import collections, json, sys
events = json.load(open(sys.argv[1]))['events']
calls = [e for e in events if e['type'] == 'call_end' and e.get('call_end_number') == 'getppid' and e['comm'] == 'program' and str(e['tid']) not in sys.argv[2:]]
assert not [e for e in events if e['type'] == 'syscall'], 'the full level'
ways = collections.Counter()
by_thread = collections.Counter()
for call in calls:
    by_thread[call['tid']] += 1
    stack = call.get('stack') or [{'ends': 'none'}]
    names = [f.get('function', '') for f in stack]
    ways['' if 'ends' in stack[-1] else ' '.join(n for n in names if n in ('ask', 'left', 'right', 'work'))] += 1
assert len(calls) == 2 * 4 * 1500, len(calls)
unknown = ways.pop('', 0)
assert set(ways) == {'ask left work', 'ask right work'} and not unknown, (ways, unknown)
assert ways['ask left work'] == 8000 and ways['ask right work'] == 4000, ways
assert len(by_thread) == 8 and set(by_thread.values()) == {1500}, by_thread
END
argus infer -f left t.trace | matches . || fail "nothing inferred"
