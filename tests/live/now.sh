#!/bin/bash
# argus now: what is stuck at this moment, since when and why, with nothing recorded before.
. "$HERE/live/_lib.sh"
need_bpf
mkdir temporary
export TMPDIR="$PWD/temporary"
need_command gcc

cat >circle.c <<'END'
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
__attribute__((noinline)) static void take_second(pthread_mutex_t *m) { pthread_mutex_lock(m); __asm__ volatile(""); }
static void *one(void *x) { pthread_mutex_lock(&a); pthread_barrier_wait(&both); take_second(&b); return x; }
static void *two(void *x) { pthread_mutex_lock(&b); pthread_barrier_wait(&both); take_second(&a); return x; }
int main(void)
{
	pthread_t p, q;
	pthread_barrier_init(&both, 0, 2);
	pthread_create(&p, 0, one, 0);
	pthread_create(&q, 0, two, 0);
	pthread_join(p, 0);
}
END
gcc -g -O1 -pthread -o circle circle.c
./circle & pid=$!
trap 'kill $pid; wait $pid 2>/dev/null || true' EXIT
asleep() { [ "$(cat /proc/$pid/task/*/syscall | grep -c '^202 ')" = 3 ]; }
wait_until 20 asleep
sleep 1.2

status() { local expected=$1 got=0; shift; "$@" || got=$?; [ $got = "$expected" ] || fail "status $got, not $expected: $*"; }
status 1 argus now --json $pid >now.json
[ "$(json now.json 'd["threads"][0]["stuck"]')" = True ] || fail "$(cat now.json)"
[ "$(json now.json 'len(d["threads"][0]["answer"]["circle"])')" = 2 ] || fail "no circle: $(cat now.json)"
[ "$(json now.json 'd["threads"][0]["answer"]["culprit"]["function"]')" = take_second ] || fail "no function: $(cat now.json)"
[ "$(json now.json 'd["threads"][0]["answer"]["culprit"]["confidence"] >= 90')" = True ] || fail "a guess: $(cat now.json)"
# stuck since before the look, and as long as it was
[ "$(json now.json '1e9 < d["threads"][0]["answer"]["window"]["start_ns"] - d["threads"][0]["answer"]["since_ns"] < 60e9')" = True ] ||
	fail "since when: $(cat now.json)"

# by name; with the trace kept, `why` gives the same
status 1 argus now -o kept.trace circle >now.txt
says now.txt 'wait for each other in a circle' || fail "$(cat now.txt)"
argus why --pid $pid --from 0 kept.trace | says - 'wait for each other in a circle' || fail "the trace that was kept does not tell"
# all that is stuck for so long, beyond doubt; nothing, when that is long
status 1 argus now --threshold 1s --json >all.json
[ "$(json all.json "all(t['pid'] == $pid for t in d['threads'] if t['comm'] == 'circle') and any(t['pid'] == $pid for t in d['threads'])")" = True ] ||
	fail "$(cat all.json)"
argus now --threshold 1000h >none.txt || fail "$(cat none.txt)"
says none.txt 'nothing is stuck' || fail "$(cat none.txt)"
# a longer look begins at once
argus now --for 30s -o longer.trace $pid >longer.txt 2>&1 & longer=$!
wait_until 20 test -s longer.trace
kill -INT $longer
wait $longer || true
# at rest; and who is not there
sleep 1000 & sleeper=$!
trap 'kill $pid $sleeper; wait $pid $sleeper 2>/dev/null || true' EXIT
argus now $sleeper >rest.txt || fail "a sleeper is stuck: $(cat rest.txt)"
status 2 env TMPDIR=/nonexistent argus now $pid 2>said.txt >/dev/null
says said.txt "in '/nonexistent'" || fail "$(cat said.txt)"
status 2 argus now no-such-program 2>said.txt >/dev/null
says said.txt "no process is called 'no-such-program'" || fail "$(cat said.txt)"
status 2 argus now sleeep 2>said.txt >/dev/null
says said.txt "did you mean 'sleep'" || fail "$(cat said.txt)"
[ -z "$(ls "$TMPDIR")" ] || fail "it leaves files behind"
