#!/bin/bash
# argus now where BPF may not be used: over /proc, of the user's own processes.
. "$HERE/live/_lib.sh"
[ "$(id -u)" = 0 ] || skip "another user is needed, whose processes are looked at"
need_command gcc setpriv

cat >self.c <<'END'
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
gcc -O1 -pthread -o self self.c
mkdir -m 0777 shared
cp self "$(command -v argus)" shared
chmod -R a+rX . shared
monotonic() { python3 -c "import time; print(time.monotonic_ns())"; }
as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups env TMPDIR="$PWD/shared" "$@"; }
as_user true 2>/dev/null && as_user test -x "$PWD/shared/self" || skip "another user cannot reach this folder"
began=$(monotonic)
setpriv --reuid=65534 --regid=65534 --clear-groups "$PWD/shared/self" &
pid=$!
trap 'kill $pid; wait $pid 2>/dev/null || true' EXIT
asleep() { [ "$(cat /proc/$pid/task/*/syscall | grep -c '^202 ')" = 3 ]; }
wait_until 20 asleep
got=0
as_user "$PWD/shared/argus" now --json $pid >now.json 2>said.txt || got=$?
[ $got = 1 ] || fail "status $got: $(cat said.txt)"
[ "$(json now.json 'd["seen_by"]')" = proc ] || fail "$(cat now.json)"
[ "$(json now.json 'len(d["threads"][0]["answer"]["circle"])')" = 2 ] || fail "no circle: $(cat now.json)"
# no earlier than there was the process: it is told in steps of a hundredth of a second
since=$(json now.json 'd["threads"][0]["since_ns"]')
[ "$since" -ge $((began - 20000000)) ] || fail "waiting for $(((began - since) / 1000000)) ms before there was the process"
json now.json 'str([l["frames"] for l in d["threads"][0]["answer"]["chain"]])' >frames.txt
grep -qwE 'one|two' frames.txt || fail "no stacks: $(cat frames.txt)"
says said.txt 'over /proc alone' || fail "nothing is said of what could not be seen: $(cat said.txt)"
