#!/bin/bash
# argus now and a program in a pid namespace, where its threads have numbers of their own: seen from outside its lock's
# owners are threads of its process, and nobody else who has their numbers; from inside it is asked for by those numbers.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc unshare
unshare --pid --fork --mount-proc true 2>/dev/null || skip "no pid namespace can be made here"

cat >inside.c <<'END'
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void *one(void *x) { pthread_mutex_lock(&a); pthread_barrier_wait(&both); pthread_mutex_lock(&b); return x; }
static void *two(void *x) { pthread_mutex_lock(&b); pthread_barrier_wait(&both); pthread_mutex_lock(&a); return x; }
int main(void)
{
	pthread_t p, q;
	pthread_barrier_init(&both, 0, 2);
	pthread_create(&p, 0, one, 0);
	pthread_create(&q, 0, two, 0);
	pthread_join(p, 0);
}
END
gcc -O1 -pthread -o inside inside.c
cat >container.sh <<'END'
./inside & echo $! >number
while [ ! -e look ]; do sleep 0.1; done
got=0; argus now --json $(cat number) >inner.json 2>inner.txt || got=$?
echo $got >inner.status
kill $(cat number)
END
unshare --pid --fork --kill-child --mount-proc bash container.sh & container=$!
trap 'kill -9 $container 2>/dev/null || true; wait 2>/dev/null || true' EXIT
outer() { pgrep -f '^./inside$' --parent "$(pgrep -P $container)"; }
asleep() { [ "$(cat "/proc/$(outer)/task/"*/syscall | grep -c '^202 ')" = 3 ]; }
wait_until 20 asleep
got=0
argus now --json "$(outer)" >outer.json || got=$?
touch look
wait $container || true
[ $got = 1 ] || fail "status $got from outside: $(cat outer.json)"
[ "$(json outer.json 'len(d["threads"][0]["answer"]["circle"])')" = 2 ] || fail "no circle from outside: $(cat outer.json)"
[ "$(cat inner.status)" = 1 ] || fail "status $(cat inner.status) from inside: $(cat inner.txt)"
[ "$(json inner.json 'd["threads"][0]["pid"]')" = "$(cat number)" ] || fail "$(cat inner.json)"
[ "$(json inner.json 'len(d["threads"][0]["answer"]["circle"])')" = 2 ] || fail "no circle from inside: $(cat inner.json)"
says inner.txt 'a container' || fail "nothing is said of what could not be seen: $(cat inner.txt)"
