#!/bin/bash
# argus now where a flight recorder runs: it is asked, and what it has seen counts. Its
# saved traces tell where sleepers are. --watch tells what changes.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc

cat >stands.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static volatile sig_atomic_t go;
static void on_signal(int s) { (void)s; go = 1; }
__attribute__((noinline)) static void take_second(pthread_mutex_t *m) { pthread_mutex_lock(m); __asm__ volatile(""); }
static void *one(void *x) { pthread_mutex_lock(&a); pthread_barrier_wait(&both); take_second(&b); return x; }
static void *two(void *x) { pthread_mutex_lock(&b); pthread_barrier_wait(&both); take_second(&a); return x; }
int main(void)
{
	pthread_t p, q;
	signal(SIGUSR1, on_signal);
	puts("ready"); fflush(stdout);
	while (!go)
		pause();
	pthread_barrier_init(&both, 0, 2);
	pthread_create(&p, 0, one, 0);
	pthread_create(&q, 0, two, 0);
	pthread_join(p, 0);
}
END
gcc -g -O1 -pthread -o stands stands.c
./stands >said & pid=$!
export ARGUS_RUNTIME_DIR=$PWD/run TMPDIR=$PWD
trap 'kill $pid 2>/dev/null || true; argus stop >/dev/null 2>&1 || true; wait 2>/dev/null || true' EXIT
wait_until 20 grep -q ready said
status() { local expected=$1 got=0; shift; "$@" || got=$?; [ $got = "$expected" ] || fail "status $got, not $expected: $*"; }

argus start --dir "$PWD/ring" --size 16M >/dev/null
status 0 argus now --json $pid >before.json
[ "$(json before.json 'd["threads"][0]["stuck"]')" = False ] || fail "$(cat before.json)"

# it becomes stuck while that runs, and while somebody watches
argus now --watch $pid >watched.txt 2>&1 & watcher=$!
wait_until 30 grep -q stands watched.txt
kill -USR1 $pid
asleep() { [ "$(cat /proc/$pid/task/*/syscall | grep -c '^202 ')" = 3 ]; }
wait_until 20 asleep
wait_until 30 says watched.txt 'in a circle'
kill -INT $watcher
got=0; wait $watcher || got=$?
[ $got = 1 ] || fail "the watcher ends with status $got: $(cat watched.txt)"
[ "$(tr -s '\n ' ' ' <watched.txt | grep -o 'in a circle' | wc -l)" = 1 ] || fail "told more than once: $(cat watched.txt)"

status 1 argus now --json $pid >now.json 2>said.txt
[ ! -s said.txt ] || fail "$(cat said.txt)"
[ "$(json now.json 'd["threads"][0]["answer"]["culprit"]["function"]')" = take_second ] || fail "$(cat now.json)"
[ "$(json now.json 'len(d["threads"][0]["answer"]["circle"])')" = 2 ] || fail "no circle: $(cat now.json)"
# the recorder saw it begin
[ "$(json now.json 'd["threads"][0]["exactly"]')" = True ] || fail "$(cat now.json)"
# ... and was asked
argus now -o kept.trace $pid >/dev/null || true
argus dump --state --type snapshot kept.trace | matches 'reason=request' || fail "the recorder was not asked"
status 1 argus now -r kept.trace $pid >kept.txt
says kept.txt 'in a circle' || fail "$(cat kept.txt)"

# what is saved ends with who waits where
argus snap -o saved.trace >/dev/null
argus dump --state --stacks --type waiting --tid $pid saved.trace >waits.txt
argus dump --state --stacks --type waiting --pid $pid saved.trace | matches take_second || fail "no stack of a sleeper is saved"
argus why --pid $pid saved.trace | says - 'in a circle' || fail "the saved trace does not tell: $(argus why --pid $pid saved.trace)"

# without it, by a recorder of its own
argus stop >/dev/null
argus now --watch --json $pid >alone.json 2>&1 & watcher=$!
wait_until 30 grep -q circle alone.json
kill -INT $watcher
got=0; wait $watcher || got=$?
[ $got = 1 ] || fail "status $got: $(cat alone.json)"
[ "$(wc -l <alone.json)" = 1 ] || fail "told more than once: $(cat alone.json)"
[ -z "$(ls -d "$TMPDIR"/argus-now-* 2>/dev/null)" ] || fail "it leaves files behind"
