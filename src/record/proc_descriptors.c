/* See proc_descriptors.h. Pipes are told by their inode, sockets by sock_diag; what hides
 * behind an anonymous inode by process and descriptor, where nothing else tells it apart. */
#include "record/proc_descriptors.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "record/object.h"
#include "record/proc_sockets.h"
#include "record/state.h"

#define FDINFO_BYTES 32768

#define container(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

/* Of /proc/PID/FOLDER/FD. */
static void name_of(char *to, size_t size, uint32_t pid, const char *folder, uint32_t fd)
{
	snprintf(to, size, "/proc/%" PRIu32 "/%s/%" PRIu32, pid, folder, fd);
}

static void read_fdinfo(uint32_t pid, uint32_t fd, struct proc_fdinfo *info)
{
	char path[64], text[FDINFO_BYTES];
	ssize_t got = 0;
	int file;

	name_of(path, sizeof(path), pid, "fdinfo", fd);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file >= 0) {
		got = read(file, text, sizeof(text) - 1);
		close(file);
	}
	text[got > 0 ? got : 0] = 0;
	proc_text_fdinfo(text, info);
}

static uint64_t anonymous(uint32_t pid, uint32_t fd, const char *name)
{
	static const struct { const char *name; uint8_t kind; } kinds[] = {
		{ "[eventpoll]", OBJECT_KIND_epoll }, { "[eventfd]", OBJECT_KIND_eventfd }, { "[timerfd]", OBJECT_KIND_timerfd },
		{ "[signalfd]", OBJECT_KIND_signalfd }, { "inotify", OBJECT_KIND_inotify }, { "[fanotify]", OBJECT_KIND_inotify },
		{ "[pidfd]", OBJECT_KIND_pidfd }, { "[io_uring]", OBJECT_KIND_uring },
	};
	uint64_t key = (uint64_t)pid << 32 | fd;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct proc_fdinfo info;

		if (strcmp(name, kinds[i].name))
			continue;
		if (kinds[i].kind == OBJECT_KIND_eventfd) {
			read_fdinfo(pid, fd, &info);
			key = info.eventfd ? info.eventfd : key;
		}
		return object_of(kinds[i].kind, object_hash(key));
	}
	return 0;
}

uint64_t proc_descriptor_object(const struct proc_sockets *sockets, uint32_t pid, uint32_t fd, uint64_t *ret_inode)
{
	char path[64], target[64];
	const struct proc_socket *socket;
	unsigned kind = OBJECT_KIND_file;
	struct stat info;
	ssize_t length;

	if (ret_inode)
		*ret_inode = 0;
	name_of(path, sizeof(path), pid, "fd", fd);
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return 0;
	target[length] = 0;
	if (!strncmp(target, "anon_inode:", 11))
		return anonymous(pid, fd, target + 11);
	/* the object itself, not a path: nothing is waited for but a server of files that hangs, whose files are left out */
	if (target[0] == '/' && strncmp(target, "/dev/", 5)) {
		int file = open(path, O_PATH | O_CLOEXEC);

		if (file < 0)
			return 0;
		length = fstat(file, &info);
		close(file);
		if (length)
			return 0;
	} else if (stat(path, &info)) {
		return 0;
	}
	uint32_t device = major(info.st_dev) << 20 | minor(info.st_dev);

	if (S_ISSOCK(info.st_mode) && !strncmp(target, "socket:", 7)) {
		socket = proc_sockets_find(sockets, info.st_ino);
		kind = socket ? socket->kind : OBJECT_KIND_socket;
		if (ret_inode)
			*ret_inode = info.st_ino;
	} else if (S_ISFIFO(info.st_mode)) {
		kind = strncmp(target, "pipe:", 5) ? OBJECT_KIND_fifo : OBJECT_KIND_pipe;
	} else if (S_ISCHR(info.st_mode) && (!strncmp(target, "/dev/pts/", 9) || !strncmp(target, "/dev/tty", 8))) {
		kind = OBJECT_KIND_tty;
	} else if (S_ISCHR(info.st_mode) && !strcmp(target, "/dev/fuse")) {
		kind = OBJECT_KIND_fuse;
	} else if (S_ISDIR(info.st_mode)) {
		kind = OBJECT_KIND_directory;
	}
	return object_of_inode(kind, device, info.st_ino);
}

static void each_descriptor(uint32_t pid, int (*each)(void *data, uint32_t pid, uint32_t fd, struct err *err), void *data, int *ret, struct err *err)
{
	char path[64];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd", pid);
	folder = opendir(path);
	while (!*ret && folder && (entry = readdir(folder)))
		if (isdigit((unsigned char)entry->d_name[0]))
			*ret = each(data, pid, (uint32_t)strtoul(entry->d_name, NULL, 10), err);
	if (folder)
		closedir(folder);
}

static int note_socket(void *data, uint32_t pid, uint32_t fd, struct err *err)
{
	char path[64], target[64];
	unsigned long long inode;
	ssize_t length;

	(void)err;
	name_of(path, sizeof(path), pid, "fd", fd);
	length = readlink(path, target, sizeof(target) - 1);
	target[length > 0 ? length : 0] = 0;
	if (sscanf(target, "socket:[%llu]", &inode) == 1 && !map_find(data, inode))
		map_put(data, inode, pid);
	return 0;
}

void proc_descriptors_note(struct map *holders, uint32_t pid)
{
	int r = 0;

	each_descriptor(pid, note_socket, holders, &r, NULL);
}

struct reading {
	const struct proc_sockets *sockets;
	const struct map *holders;
	struct proc_descriptors_sink *sink;
	struct state_sink locks;
	uint32_t pid;
};

static uint64_t receiving(uint8_t kind, uint64_t inode)
{
	return inode ? object_of(kind, object_hash(inode)) : 0;
}

static void fill_socket(const struct reading *reading, const struct proc_socket *socket, struct event_descriptor *d)
{
	const uint64_t *holder = socket->peer ? map_find(reading->holders, socket->peer) : NULL;

	d->state = socket->state;
	d->queued = socket->queued;
	d->unsent = socket->unsent;
	d->channel_in = receiving(socket->kind, socket->inode);
	d->channel_out = receiving(socket->kind, socket->peer);
	d->peer = holder ? (uint32_t)*holder : 0;
}

static int on_lock(struct state_sink *sink, uint32_t pid, enum event_type type, const void *payload, const char *tail, uint32_t tail_length,
		   struct err *err)
{
	struct reading *reading = container(sink, struct reading, locks);

	(void)pid; /* of locks of an open file /proc/locks names nobody: who has the file open holds them */
	return reading->sink->event(reading->sink, reading->pid, type, payload, tail, tail_length, err);
}

static int read_one(void *data, uint32_t pid, uint32_t fd, struct err *err)
{
	struct reading *reading = data;
	char path[64], target[512];
	const struct proc_socket *socket;
	struct proc_fdinfo info;
	uint64_t inode;
	struct event_descriptor d = { .object = proc_descriptor_object(reading->sockets, pid, fd, &inode), .fd = fd, .access = 3 };
	ssize_t length;
	int r;

	if (!d.object)
		return 0;
	d.kind = (uint8_t)object_kind(d.object);
	read_fdinfo(pid, fd, &info);
	d.access = (uint8_t)((info.flags & O_ACCMODE) + 1);
	d.peer = d.kind == OBJECT_KIND_pidfd ? info.awaited : 0;
	if (d.kind == OBJECT_KIND_fuse && info.fuse)
		d.object = object_of(OBJECT_KIND_fuse, info.fuse);
	if (d.kind == OBJECT_KIND_pipe || d.kind == OBJECT_KIND_fifo || d.kind == OBJECT_KIND_eventfd) {
		d.channel_in = d.access & 1 ? d.object : 0;
		d.channel_out = d.access & 2 ? d.object : 0;
	}
	socket = inode ? proc_sockets_find(reading->sockets, inode) : NULL;
	if (socket)
		fill_socket(reading, socket, &d);
	name_of(path, sizeof(path), pid, "fd", fd);
	length = readlink(path, target, sizeof(target));
	if (length < 0 || target[0] != '/')
		length = 0;
	r = reading->sink->event(reading->sink, pid, EVENT_descriptor, &d, socket ? socket->text : target,
				 socket ? (uint32_t)strlen(socket->text) : (uint32_t)length, err);
	if (!r && info.lock[0])
		r = state_parse_locks(info.lock, 0, &reading->locks, err);
	for (uint32_t i = 0; !r && i < info.watched; i++) {
		struct event_poll_item item = { .set = d.object, .object = proc_descriptor_object(reading->sockets, pid, info.items[i].fd, NULL),
						.fd = info.items[i].fd, .events = info.items[i].events };

		r = reading->sink->event(reading->sink, pid, EVENT_poll_item, &item, "", 0, err);
	}
	return r;
}

int proc_descriptors_read(const struct proc_sockets *sockets, const struct map *holders, uint32_t pid,
			  struct proc_descriptors_sink *sink, struct err *err)
{
	struct reading reading = { .sockets = sockets, .holders = holders, .sink = sink, .locks.event = on_lock, .pid = pid };
	int r = 0;

	each_descriptor(pid, read_one, &reading, &r, err);
	return r;
}
