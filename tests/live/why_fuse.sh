#!/bin/bash
# A file system in user space that is late with an answer: `why` of the one that
# waits names the server.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc
grep -q fuse_request_send /proc/kallsyms || skip "this kernel does not tell of requests to file systems in user space"
trap 'umount -l files 2>/dev/null || true; kill ${server:-} 2>/dev/null || true' EXIT
cat >server.c <<'END'
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
static int device;
static void reply(const struct fuse_in_header *in, int error, const void *data, unsigned bytes)
{
	struct { struct fuse_out_header head; char data[512]; } out = { { sizeof(out.head) + bytes, error, in->unique }, "" };
	memcpy(out.data, data, bytes);
	if (write(device, &out, out.head.len) < 0)
		perror("reply");
}
int main(int argc, char **argv)
{
	static union { struct fuse_in_header head; char bytes[1 << 18]; } in;
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096 };
	struct fuse_attr_out root = { .attr_valid = 60, .attr = { .ino = 1, .mode = S_IFDIR | 0755, .nlink = 2 } };
	struct timespec late = { 3, 0 };
	char options[128];

	device = open("/dev/fuse", O_RDWR);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	if (argc != 2 || device < 0 || mount("late", argv[1], "fuse", 0, options))
		return 77;
	while (read(device, &in, sizeof(in)) > 0) {
		switch (in.head.opcode) {
		case FUSE_INIT:
			reply(&in.head, 0, &init, sizeof(init));
			break;
		case FUSE_GETATTR:
			reply(&in.head, 0, &root, sizeof(root));
			break;
		case FUSE_LOOKUP:
			nanosleep(&late, 0); /* the hang itself */
			reply(&in.head, -ENOENT, "", 0);
			break;
		case FUSE_FORGET:
		case FUSE_BATCH_FORGET:
			break;
		default:
			reply(&in.head, -ENOSYS, "", 0);
		}
	}
}
END
gcc -O2 -o late_server server.c 2>/dev/null || skip "no headers of FUSE"
cat >client.c <<'END'
#include <sys/stat.h>
int main(int argc, char **argv)
{
	struct stat st;
	return argc != 2 || stat(argv[1], &st) == 0;
}
END
gcc -O2 -o client client.c
mkdir files
./late_server files & server=$!
ready() { mountpoint -q files || ! kill -0 $server 2>/dev/null; }
wait_until 10 ready
mountpoint -q files || skip "the kernel does not let mount a file system in user space"
argus record -o t.trace -- ./client files/nothing 2>/dev/null || fail "the client"
pid=$(argus dump --type exec t.trace | sed -n 's/.* \([0-9]*\) exec .*client".*/\1/p' | head -n 1)
argus dump --type fuse_send,fuse_end t.trace >requests
[ "$(wc -l <requests)" -ge 2 ] || fail "requests are missing: $(cat requests)"
argus why --pid "$pid" t.trace >why
grep -q 'late_server' why || fail "the server is not named: $(cat why)"

# Who makes something in a folder has its lock while the server looks for what is there of that name: who reads the folder waits
# for that lock, and may be killed meanwhile: a task tells of no such lock by itself.
cat >maker.c <<'END'
#include <sys/stat.h>
int main(int argc, char **argv)
{
	return argc != 2 || mkdir(argv[1], 0700) == 0;
}
END
cat >reader.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	int folder = open("files", O_RDONLY | O_DIRECTORY);
	char room[4096];

	printf("opened\n");
	fflush(stdout);
	getchar(); /* until the other one has the lock */
	return syscall(SYS_getdents64, folder, room, sizeof(room)) > 0;
}
END
gcc -O2 -o maker maker.c
gcc -O2 -o reader reader.c
cat >both.sh <<'END'
mkfifo go opened
./reader <go >opened & reader=$!
exec 3>go
read -r line <opened
./maker files/first 3>&- & first=$!
looks=0
until grep -q -e fuse -e request_wait "/proc/$first/wchan" || [ $((looks += 1)) -gt 500 ]; do sleep 0.01; done
exec 3>&-
wait $reader
wait $first
END
argus record -o lock.trace -- sh both.sh 2>/dev/null || fail "the maker, or the reader"
pid=$(argus dump --type exec lock.trace | sed -n 's/.* \([0-9]*\) exec .*reader".*/\1/p' | head -n 1)
argus why --pid "$pid" lock.trace >why
says why 'waiting for a lock in the kernel' || fail "what it waits for is not told: $(cat why)"
grep -q 'late_server' why || fail "the server behind the lock is not named: $(cat why)"
argus dump --type switch lock.trace | grep "reader $pid switch" | grep -q 'hint=[1-9].*wait=kernel_lock' || fail "who has the lock is not noted: $(argus dump --type switch,lock_wait lock.trace | grep "reader $pid" | tail -n 4)"
