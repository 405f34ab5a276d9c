#!/bin/bash
# Threads that sleep when a recording begins: their stacks stand in its snapshots,
# taken once for as long as they do not move, and who holds what they wait for.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc gdb

cat >sleepers.c <<'END'
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, robust, heir;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t all;
static int set;

static void begin(const char *name) { prctl(PR_SET_NAME, name); pthread_barrier_wait(&all); }
__attribute__((noinline)) static void deep(int n, void (*last)(void)) { if (n) deep(n - 1, last); else last(); __asm__ volatile(""); }
static void lock_plain(void) { pthread_mutex_lock(&plain); }
static void lock_robust(void) { pthread_mutex_lock(&robust); }
static void lock_heir(void) { pthread_mutex_lock(&heir); }
static void lock_read(void) { pthread_rwlock_rdlock(&lock); }
static void lock_write(void) { pthread_rwlock_wrlock(&lock); }
static void take_semaphore(void) { struct sembuf down = { 0, -1, 0 }; semop(set, &down, 1); }
static void forever(void) { for (;;) poll(0, 0, -1); }
static void *w_plain(void *x) { begin("w-plain"); deep(3, lock_plain); return x; }
static void *w_robust(void *x) { begin("w-robust"); deep(30, lock_robust); return x; }
static void *w_heir(void *x) { begin("w-heir"); deep(1, lock_heir); return x; }
static void *w_read(void *x) { begin("w-read"); deep(2, lock_read); return x; }
static void *w_write(void *x) { begin("w-write"); deep(2, lock_write); return x; }
static void *w_semaphore(void *x) { begin("w-semaphore"); deep(2, take_semaphore); return x; }
static void *w_often(void *x) { begin("w-often"); for (;;) usleep(20000); return x; }
static void *owner(void *x)
{
	pthread_mutex_lock(&plain); pthread_mutex_lock(&robust); pthread_mutex_lock(&heir); pthread_rwlock_wrlock(&lock);
	begin("owner");
	deep(100, forever);
	return x;
}

int main(void)
{
	static void *(*const bodies[])(void *) = { owner, w_plain, w_robust, w_heir, w_read, w_write, w_semaphore, w_often };
	struct sembuf up_down[] = { { 0, 1, 0 }, { 0, -1, 0 } };
	pthread_mutexattr_t a;
	pthread_t t;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &a);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&heir, &a);
	set = semget(IPC_PRIVATE, 1, 0600);
	pid_t other = fork();
	if (!other) { semop(set, up_down, 2); _exit(0); }
	waitpid(other, 0, 0);
	pthread_barrier_init(&all, 0, 9);
	for (int i = 0; i < 8; i++)
		pthread_create(&t, 0, bodies[i], 0);
	pthread_barrier_wait(&all);
	printf("%d %d\n", (int)other, set);
	fclose(stdout);
	deep(5, forever);
}
END
gcc -g -O1 -fno-optimize-sibling-calls -pthread -o sleepers sleepers.c
./sleepers >ended.txt & pid=$!
trap 'kill $pid; wait $pid 2>/dev/null || ipcrm -s "$(cut -d" " -f2 ended.txt)"' EXIT
asleep() { [ -s ended.txt ] && [ "$(cat /proc/$pid/task/*/syscall | grep -c '^202 ')" = 5 ]; }
wait_until 20 asleep
argus record -a --freq 0 -o sleepers.trace -- sleep 1 2>/dev/null
argus dump --state --json --stacks -p $pid -e task,waiting sleepers.trace >state.json
gdb -p $pid -batch -nx -ex 'set pagination off' -ex 'thread apply all bt' >gdb.txt 2>/dev/null || fail "$(cat gdb.txt)"

python3 - $pid "$(cut -d" " -f1 ended.txt)" <<'END' || fail "see above"
import json, re, sys
pid, ended = int(sys.argv[1]), int(sys.argv[2])
events = json.load(open('state.json'))['events']
waits = {}
for e in events:
    if e['type'] == 'waiting':
        waits.setdefault(e['comm'], []).append(e)
truth = {}
for block in open('gdb.txt').read().split('\nThread ')[1:]:
    name = re.search(r'"([^"]+)"', block.split('\n')[0])
    truth[name.group(1)] = re.findall(r'^#\d+ +(?:0x[0-9a-f]+ in )?(\S+)', block, re.M)
owner = next(e['tid'] for e in waits['owner'])
expected = {'w-plain': ('mutex_owner', owner), 'w-robust': ('mutex_owner', owner), 'w-heir': ('pi_owner', owner),
            'w-read': ('rwlock_writer', owner), 'w-write': ('rwlock_writer', owner), 'w-semaphore': ('owner_gone', ended)}
bad = 0
for name in ['owner', 'sleepers'] + list(expected):
    for e in waits[name]:
        user = [f for f in e.get('stack', [])]
        kernel = e.get('kernel_stack', [])
        names = [f.get('function') for f in user if f.get('function')]
        ends = user[-1].get('ends') if user else 'no stack'
        deep = names.count('deep')
        if ends or deep != truth[name].count('deep') or len(names) < 4 or not kernel:
            print(name, 'ends', ends, 'deep', deep, 'of', truth[name].count('deep'), 'kernel', len(kernel), names)
            bad = 1
        if name in expected and (e.get('hint_kind'), e.get('hint')) != expected[name]:
            print(name, 'hint', e.get('hint_kind'), e.get('hint'), 'not', expected[name])
            bad = 1
    if len({e['ustack'] for e in waits[name]}) != 1:
        print(name, 'has other stacks, though it did not move')
        bad = 1
sys.exit(bad)
END
