/* A process of which nobody can read the memory, for it holds its mmap lock for ever: it maps
 * a file of which it has changed a page, over a descriptor without a cache; the kernel writes the page first,
 * with the lock held, and the file system's server, which is the same program, never answers.
 * usage: held_memory FOLDER. Prints the process's number. */
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int device;

static void reply(const struct fuse_in_header *in, int error, const void *data, unsigned bytes)
{
	struct { struct fuse_out_header head; char data[512]; } out = { { (uint32_t)sizeof(out.head) + bytes, error, in->unique }, "" };

	if (bytes)
		memcpy(out.data, data, bytes);
	if (write(device, &out, out.head.len) < 0)
		perror("reply");
}

static void serve(void)
{
	static union { struct fuse_in_header head; char bytes[1 << 18]; } in;
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 65536, .flags = FUSE_WRITEBACK_CACHE };
	struct fuse_attr folder = { .ino = 1, .mode = S_IFDIR | 0755, .nlink = 2 };
	struct fuse_attr file = { .ino = 2, .mode = S_IFREG | 0644, .nlink = 1, .size = 4096 };
	struct fuse_open_out opened = { .fh = 1, .open_flags = FOPEN_DIRECT_IO };

	while (read(device, &in, sizeof(in)) > 0) {
		struct fuse_attr_out attributes = { .attr_valid = 60, .attr = in.head.nodeid == 2 ? file : folder };
		struct fuse_entry_out entry = { .nodeid = 2, .attr_valid = 60, .entry_valid = 60, .attr = file };

		switch (in.head.opcode) {
		case FUSE_INIT: reply(&in.head, 0, &init, sizeof(init)); break;
		case FUSE_GETATTR: case FUSE_SETATTR: reply(&in.head, 0, &attributes, sizeof(attributes)); break;
		case FUSE_LOOKUP: reply(&in.head, 0, &entry, sizeof(entry)); break;
		case FUSE_OPEN:
			reply(&in.head, 0, &opened, sizeof(opened));
			opened.open_flags = FOPEN_KEEP_CACHE;
			break;
		case FUSE_READ: reply(&in.head, 0, NULL, 0); break;
		case FUSE_WRITE: break; /* never answered */
		case FUSE_FORGET: break;
		default: reply(&in.head, -38, NULL, 0);
		}
	}
	_exit(0);
}

int main(int count, char **words)
{
	char path[4096];

	if (count < 2 || (device = open("/dev/fuse", O_RDWR | O_CLOEXEC)) < 0)
		return 77;
	snprintf(path, sizeof(path), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	if (mount("held", words[1], "fuse", 0, path))
		return 77;
	if (fork() == 0)
		serve();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(device);
	snprintf(path, sizeof(path), "%s/file", words[1]);

	int direct = open(path, O_RDWR), cached = open(path, O_RDWR);

	if (direct < 0 || cached < 0 || pwrite(cached, "x", 1, 0) != 1) {
		perror(path);
		return 1;
	}
	printf("%d\n", getpid());
	fflush(stdout);
	mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, direct, 0);
	return 1;
}
