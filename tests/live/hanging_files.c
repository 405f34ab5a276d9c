/* A file system in user space with one file, `program`, that holds another file's bytes, and
 * stops answering at SIGUSR1: usage: hanging_files FOLDER FILE. Ends at SIGTERM, and what
 * waited for it then fails. Prints "mounted". */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_MOST (128u << 10)
enum { ROOT = 1, PROGRAM = 2 };

static int device, file;
static uint64_t file_bytes;
static volatile sig_atomic_t silent;

static void fall_silent(int signal)
{
	(void)signal;
	silent = 1;
}

static void reply(const struct fuse_in_header *in, int error, const void *data, size_t bytes)
{
	static char out[sizeof(struct fuse_out_header) + READ_MOST];
	struct fuse_out_header head = { (uint32_t)(sizeof(head) + bytes), error, in->unique };

	memcpy(out, &head, sizeof(head));
	if (bytes)
		memcpy(out + sizeof(head), data, bytes);
	if (write(device, out, head.len) < 0 && errno != ENOENT)
		perror("reply");
}

/* Never for longer than a moment: each look asks again. */
static struct fuse_attr attributes(uint64_t inode)
{
	if (inode == ROOT)
		return (struct fuse_attr){ .ino = ROOT, .mode = S_IFDIR | 0755, .nlink = 2 };
	return (struct fuse_attr){ .ino = PROGRAM, .mode = S_IFREG | 0755, .nlink = 1, .size = file_bytes, .blocks = file_bytes / 512 + 1 };
}

static void look_up(const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out entry = { .nodeid = PROGRAM, .attr = attributes(PROGRAM) };

	if (strcmp(name, "program") != 0)
		reply(in, -ENOENT, NULL, 0);
	else
		reply(in, 0, &entry, sizeof(entry));
}

static void read_some(const struct fuse_in_header *in, const struct fuse_read_in *wanted)
{
	static char data[READ_MOST];
	ssize_t n = pread(file, data, wanted->size > READ_MOST ? READ_MOST : wanted->size, (off_t)wanted->offset);
	reply(in, n < 0 ? -EIO : 0, data, n < 0 ? 0 : (size_t)n);
}

static void answer(const struct fuse_in_header *in)
{
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096, .max_readahead = READ_MOST };
	struct fuse_attr_out attr = { .attr = attributes(in->nodeid) };
	struct fuse_open_out open = { .fh = 1 };
	struct fuse_statfs_out statfs = { 0 };

	switch (in->opcode) {
	case FUSE_INIT:
		reply(in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		look_up(in, (const char *)(in + 1));
		break;
	case FUSE_GETATTR:
		reply(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		reply(in, 0, &open, sizeof(open));
		break;
	case FUSE_READ:
		read_some(in, (const void *)(in + 1));
		break;
	case FUSE_STATFS:
		reply(in, 0, &statfs, sizeof(statfs));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		reply(in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(in, -ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static union { struct fuse_in_header head; char bytes[READ_MOST + 65536]; } in;
	struct sigaction stop = { .sa_handler = fall_silent, .sa_flags = SA_RESTART };
	struct stat st;
	char options[128];

	if (argc != 3 || (file = open(argv[2], O_RDONLY | O_CLOEXEC)) < 0 || fstat(file, &st) < 0)
		return 2;
	file_bytes = (uint64_t)st.st_size;
	sigaction(SIGUSR1, &stop, NULL);
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
	if (device < 0 || mount("hanging", argv[1], "fuse", 0, options) < 0)
		return 77;
	puts("mounted");
	fflush(stdout);
	/* what is read and not answered cannot even be killed */
	while (read(device, &in, sizeof(in)) > 0)
		if (!silent)
			answer(&in.head);
	return 0;
}
