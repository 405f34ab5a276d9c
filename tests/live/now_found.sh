#!/bin/bash
# argus now: what a snapshot finds beside the waits: who is to answer a call that a seccomp filter holds, whose page of a file
# system in user space is awaited, a signal that was not taken, and a table of descriptors that is full.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc python3
export ARGUS_RUNTIME_DIR="$PWD/run"

started=()
# Stopped servers go on, and mounts go, before anybody who waits for them is killed.
clean() {
	for pid in "${started[@]}"; do kill -CONT "$pid" 2>/dev/null || true; kill -9 "$pid" 2>/dev/null || true; done
	for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
	umount -l mnt 2>/dev/null || true
}
trap clean EXIT

# asks NAME PID PATTERN...: each pattern stands in the answer, whose lines are joined
asks() {
	local name=$1 pid=$2
	shift 2
	argus now "$pid" >"$name.txt" 2>&1 || [ $? = 1 ] || fail "$name: $(cat "$name.txt")"
	tr '\n' ' ' <"$name.txt" >"$name.line"
	for pattern; do grep -qE "$pattern" "$name.line" || fail "$name: no '$pattern' in: $(cat "$name.txt")"; done
}

# ---- a supervisor that does not answer ----
cat >warden.c <<'END'
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
static int pass(int over, int fd)
{
	char room[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec io = { &byte, 1 };
	struct msghdr message = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	if (fd < 0)
		return recvmsg(over, &message, 0) == 1 ? *(int *)CMSG_DATA(CMSG_FIRSTHDR(&message)) : -1;
	*head = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	*(int *)CMSG_DATA(head) = fd;
	return (int)sendmsg(over, &message, 0);
}
int main(void)
{
	struct sock_filter code[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mkdir, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog filter = { 4, code };
	struct seccomp_notif call = { 0 };
	int pair[2], listener;
	pid_t child;
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	if (!(child = fork())) {
		prctl(PR_SET_PDEATHSIG, 9);
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
		if (listener < 0)
			return 77;
		pass(pair[1], listener);
		close(listener);
		mkdir("made", 0755);
		return 0;
	}
	listener = pass(pair[0], -1);
	ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call);
	printf("%d\n", child);
	fflush(stdout);
	for (;;)
		sleep(1000);
}
END
gcc -w -o warden warden.c
./warden >warden.pid & warden=$!
started+=("$warden")
wait_until 20 test -s warden.pid
asks supervised "$(cat warden.pid)" "waiting for a supervisor \(seccomp\)" "warden \(pid $warden\) is the one that is to let it go on" \
	"The culprit is warden \(pid $warden\)"

# ---- a signal that is blocked ----
cat >blocks.py <<'END'
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
r, w = os.pipe()
open('blocks.ready', 'w').close()
os.read(r, 1)
END
bash -c 'python3 blocks.py & child=$!; until [ -e blocks.ready ]; do sleep 0.05; done; kill $child; echo $child >blocks.pid; wait $child' & shell=$!
started+=("$shell")
wait_until 20 test -s blocks.pid
started+=("$(cat blocks.pid)")
asks signal $shell "python3 \(pid $(cat blocks.pid)\) has not taken SIGTERM, which bash \(pid $shell\) sent it \(event [0-9]+\): it blocks that signal"

# ---- no descriptor is left ----
cat >server.py <<'END'
import resource, socket, time
s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen(50)
resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))
print(s.getsockname()[1], flush=True)
kept = []
while True:
    try:
        kept.append(s.accept())
    except OSError:
        print('full', flush=True)
        time.sleep(1000)
END
python3 server.py >server.port & server=$!
started+=("$server")
wait_until 20 test -s server.port
port=$(head -1 server.port)
python3 -c "import socket, time; kept = [socket.create_connection(('127.0.0.1', $port)) for i in range(20)]; time.sleep(1000)" & leaker=$!
started+=("$leaker")
wait_until 20 grep -q full server.port
python3 -c "import socket; c = socket.create_connection(('127.0.0.1', $port)); open('asked', 'w').close(); c.recv(10)" & client=$!
started+=("$client")
wait_until 20 test -e asked
wait_until 20 grep -q '^45 ' /proc/$client/syscall
asks full $client "python3 \(pid $server\) has not accepted" "python3 \(pid $server\) has as many descriptors open as it may, 12 \(RLIMIT_NOFILE" \
	"[0-9]+ of them lead to python3 \(pid $leaker\)"

# ---- a listener that does not let a file be opened ----
cat >scanner.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <unistd.h>
int main(void)
{
	static char event[4096];
	int group = fanotify_init(FAN_CLASS_CONTENT, O_RDONLY);
	if (group < 0 || fanotify_mark(group, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, "scanned"))
		return 77;
	puts("ready");
	fflush(stdout);
	if (read(group, event, sizeof(event)) < 0)
		return 1;
	for (;;)
		sleep(1000);
}
END
gcc -w -o scanner scanner.c
echo text >scanned
./scanner >scanner.ready & scanner=$!
started+=("$scanner")
refused_scanner() { ! kill -0 $scanner; }
either() { [ -s scanner.ready ] || refused_scanner; }
wait_until 20 either
if [ -s scanner.ready ]; then
	cat scanned & opener=$!
	wait_until 20 grep -q '^257 ' /proc/$opener/syscall
	asks scanned $opener "waiting until a listener \(fanotify\) lets it use a file" "scanner \(pid $scanner\) is the one that is to let it go on" \
		"The culprit is scanner \(pid $scanner\)"
	kill -9 $scanner
	wait $opener || true
fi

# ---- what the requests of an io_uring wait for: a socket, as kernels before 6.5 have a thread of their own wait for a pipe ----
sees_requests() { [ "$(printf '6.12\n%s\n' "$(uname -r)" | sort -V | head -1)" = 6.12 ]; } # 6.1 is known not to tell them
cat >uring.c <<'END'
#include <linux/io_uring.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	struct io_uring_params params = { 0 };
	static char byte;
	int ends[2], ring = (int)syscall(SYS_io_uring_setup, 4, &params);
	if (ring < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 77;
	pid_t child = fork();
	if (!child) {
		close(ends[0]);
		for (;;)
			sleep(1000);
	}
	close(ends[1]);
	printf("%d\n", child);
	fflush(stdout);
	char *head = mmap(NULL, params.sq_off.array + params.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *sqe = mmap(NULL, params.sq_entries * sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	*sqe = (struct io_uring_sqe){ .opcode = IORING_OP_READ, .fd = ends[0], .addr = (unsigned long)&byte, .len = 1, .off = -1 };
	((unsigned *)(head + params.sq_off.array))[0] = 0;
	__atomic_store_n((unsigned *)(head + params.sq_off.tail), 1, __ATOMIC_RELEASE);
	return (int)syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}
END
gcc -w -o uring uring.c
./uring >uring.child & uring=$!
started+=("$uring")
waits_for_ring() { [ -s uring.child ] && grep -q '^426 ' /proc/$uring/syscall; }
refused_ring() { ! kill -0 $uring; }
either() { waits_for_ring || refused_ring; }
wait_until 20 either
! waits_for_ring || started+=("$(cat uring.child)")
if waits_for_ring && sees_requests; then
	asks uring $uring "waiting for io_uring" "uring \(pid $(cat uring.child)\) is at the other end" "The culprit is uring \(pid $(cat uring.child)\)"
fi

# ---- a page of a file whose file system's server does not answer ----
command -v bindfs >/dev/null && [ -c /dev/fuse ] || { echo "no bindfs: pages are not tried"; exit 0; }
mkdir source mnt
head -c 1000000 /dev/zero >source/file
bindfs -f source mnt & bindfs=$!
started+=("$bindfs")
wait_until 20 mountpoint -q mnt
cat >maps.py <<'END'
import mmap, os, time
f = os.open('mnt/file', os.O_RDONLY)
m = mmap.mmap(f, 0, prot=mmap.PROT_READ)
open('maps.ready', 'w').close()
while not os.path.exists('maps.go'):
    time.sleep(0.05)
m[500000]
END
python3 maps.py & mapper=$!
started=("$mapper" "${started[@]}")
wait_until 20 test -e maps.ready
kill -STOP $bindfs
touch maps.go
wait_until 20 grep -q '^State:.D' /proc/$mapper/status
asks page $mapper "waiting for a user-space file system" "bindfs \(pid $bindfs\) serves the file system" "The culprit is bindfs \(pid $bindfs\).* stopped"
kill -CONT $bindfs
