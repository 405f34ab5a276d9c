#!/bin/bash
# What threads wait on, who could end it, and what woke them: known programs,
# known answers.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc flock

cat >waits.c <<'END'
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int pipe_ends[2], pair[2];

static void nap(long ms) { nanosleep(&(struct timespec){ 0, ms * 1000000 }, 0); }
static void name(const char *text) { prctl(PR_SET_NAME, text); }
static void *locker(void *x) { name("w-mutex"); pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); return x; }
static void *reader(void *x) { char c; name("w-pipe"); return read(pipe_ends[0], &c, 1) == 1 ? x : 0; }
static void *receiver(void *x) { char c; name("w-unix"); return recv(pair[0], &c, 1, 0) == 1 ? x : 0; }
static void *poller(void *x) { struct pollfd p = { pair[0], POLLPRI, 0 }; name("w-poll"); poll(&p, 1, 30); return x; }
static void *epoller(void *x)
{
	struct epoll_event e;
	int fd = epoll_create1(0);
	name("w-epoll");
	epoll_wait(fd, &e, 1, 25);
	close(fd);
	return x;
}

/* The process's first thread waits in the call of this number. */
static int in_call(pid_t pid, const char *number)
{
	char path[64], text[8] = "";
	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	FILE *f = fopen(path, "r");
	int r = !f || !fgets(text, sizeof(text), f) || !strncmp(text, number, strlen(number));
	if (f)
		fclose(f);
	return r;
}

/* Ends once the main thread waits in a futex, that is, for it. */
static void *last(void *x)
{
	while (!in_call(getpid(), "202 "))
		nap(1);
	return x;
}

int main(void)
{
	void *(*all[])(void *) = { locker, reader, receiver, poller, epoller };
	pthread_t threads[5], last_thread;

	name("w-main");
	if (pipe(pipe_ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	printf("main %d\n", (int)getpid());
	fflush(stdout);
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < 5; i++)
		pthread_create(&threads[i], 0, all[i], &mutex);
	nap(80);
	pthread_mutex_unlock(&mutex);
	if (write(pipe_ends[1], "x", 1) != 1 || write(pair[1], "x", 1) != 1)
		return 1;
	pthread_create(&last_thread, 0, last, &mutex);
	pthread_join(last_thread, 0);
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], 0);
	if (!fork()) {
		name("w-child");
		while (!in_call(getppid(), "61 "))
			nap(1);
		_exit(0);
	}
	wait(0);
	return 0;
}
END
gcc -O1 -pthread -o waits waits.c
argus record -o t.trace -- sh -c './waits >who; flock lock sleep 0.3 & sleep 0.1; flock lock true; wait' 2>/dev/null
argus dump t.trace >dump
main=$(awk '{ print $2 }' who)

# has COMM PATTERN...: one line of a thread of this name has them all
has() {
	local lines=dump comm=$1 word
	grep -E "\] $comm [0-9]+ " dump >found || fail "nothing of $comm"
	shift
	for word; do
		grep -E -- "$word" found >less || fail "$comm: no line with '$*' (of $lines)"
		mv less found
	done
}

has w-mutex 'switch' 'wait=futex' "hint=$main" 'hint_kind=mutex_owner'
has w-pipe 'switch' 'wait=read' 'object=pipe:' 'argument='
has w-unix 'switch' 'wait=read' 'object=unix_stream:' 'hint_kind=socket_peer'
has w-poll 'switch' 'wait=poll' 'timeout_ns=30ms|timeout_ns=30000000' 'detail='
has w-epoll 'switch' 'wait=epoll' 'object=epoll:'
has w-main 'switch' 'wait=sleep' 'timeout_ns=80ms|timeout_ns=80000000'
has w-main 'switch' 'wait=futex' 'hint_kind=thread_exit'
has w-main 'switch' 'wait=child'
has w-main 'wake' 'object=pipe:' 'cause=thread'
has w-main 'wake' 'object=futex:' 'syscall=futex'
has w-child 'wake' 'cause=exit' "target=$main"
has flock 'file_lock' 'result=(deferred|1)' 'blocker='
has flock 'switch' 'wait=file_lock' 'hint_kind=file_lock_owner'
has '.*' "wake" "target=$main" 'context=hardirq' 'cause=timeout'

# loopback: the receive side runs in a softirq of the sender's own call
argus record -o n.trace -- python3 -c '
import socket, threading, time
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
peer, _ = server.accept()
def answer():
    for _ in range(50):
        peer.sendall(peer.recv(1))
thread = threading.Thread(target=answer)
thread.start()
for _ in range(50):
    client.sendall(b"x")
    client.recv(1)
thread.join()
' 2>/dev/null
argus dump -e wake n.trace >dump
[ "$(grep -c 'context=softirq cause=own_send' dump)" -gt 40 ] || fail "sends over loopback are not known as such"

# state: the same at the start, of what waits already
mkfifo fifo
cat fifo >/dev/null &
reader=$!
sleep 1000 3>fifo &
writer=$!
wait_until 10 grep -q S /proc/$reader/stat
argus record -a -o s.trace -- true 2>/dev/null
kill $writer
wait $writer $reader 2>/dev/null || true
argus dump --text s.trace >text
grep -E "^[^ ]+ \[[0-9]+\] $reader waiting .*object=fifo:.*wait=read" text >/dev/null || fail "the initial state lacks a wait"
grep -E "^[^ ]+ \[[0-9]+\] $writer waiting .*timeout_ns=1000s?.*wait=sleep" text >/dev/null || fail "the initial state lacks a time limit"
grep -E "^[^ ]+ \[[0-9]+\] $writer task .*\"sleep 1000\"" text >/dev/null || fail "the initial state lacks a command line"
