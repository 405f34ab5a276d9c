/* See output.h. */
#include "trace/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/format.h"

bool output_is_trace(const char *path, const struct stat *known)
{
	char magic[sizeof(FORMAT_MAGIC) - 1];
	struct stat st;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool is = false;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && st.st_dev == known->st_dev && st.st_ino == known->st_ino)
		is = st.st_size == 0 || (pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
					 !memcmp(magic, FORMAT_MAGIC, sizeof(magic)));
	close(fd);
	return is;
}

/* 1 where there is nothing, 0 where there is a trace that may be replaced. */
static int check_place(const char *path, struct err *err)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 1 : err_sys(err, -errno, "'%s'", path);
	if (S_ISLNK(st.st_mode))
		return err_set(err, -ELOOP, "'%s' is a link; traces are not written through links", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EEXIST, "'%s' is there and is not a regular file", path);
	if (st.st_uid != geteuid())
		return err_set(err, -EPERM, "'%s' belongs to another user and is left as it is", path);
	if (!output_is_trace(path, &st))
		return err_set(err, -EEXIST, "'%s' is there and is not a trace of Argus; it is left as it is", path);
	return 0;
}

static void old_path(const char *path, char old[4096 + 8])
{
	snprintf(old, 4096 + 8, "%s.old", path);
}

/* Whether a new file may come to the path. */
static int check_way(const char *path, bool keep_old, struct err *err)
{
	char old[4096 + 8];
	int r = check_place(path, err);

	/* nothing there: nothing is kept either */
	if (r || !keep_old)
		return r < 0 ? r : 0;
	old_path(path, old);
	r = check_place(old, err);
	return r < 0 ? err_prefix(err, "the trace before would be kept as '%s'", old) : 0;
}

/* Clears the way for a new file at path. */
static int put_aside(const char *path, bool keep_old, struct err *err)
{
	char old[4096 + 8];
	struct stat st;
	int r = check_way(path, keep_old, err);

	if (r || lstat(path, &st))
		return r;
	if (!keep_old)
		return unlink(path) && errno != ENOENT ? err_sys(err, -errno, "removing '%s'", path) : 0;
	old_path(path, old);
	return rename(path, old) ? err_sys(err, -errno, "keeping '%s' as '%s'", path, old) : 0;
}

/* Without a name, where the file system can; else under a passing one. */
static int create_hidden(struct output *out, struct err *err)
{
	char folder[4096];
	const char *slash = strrchr(out->path, '/');

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - out->path + 1) : 1, slash ? out->path : ".");
	out->hidden = true;
	out->fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (out->fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return out->fd < 0 ? err_sys(err, -errno, "creating '%s'", out->path) : 0;
	snprintf(out->passing, sizeof(out->passing), "%s.%d.part", out->path, (int)getpid());
	out->fd = open(out->passing, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out->fd >= 0)
		return 0;
	err_sys(err, -errno, "creating '%s'", out->passing);
	out->passing[0] = 0;
	return -errno;
}

int output_create(struct output *out, const char *path, bool keep_old, enum output_way way, struct err *err)
{
	int status;

	*out = (struct output){ .fd = -1, .keep_old = keep_old };
	if (!*path || strlen(path) >= sizeof(out->path))
		return err_set(err, *path ? -ENAMETOOLONG : -EINVAL, "'%.60s' is not a valid path for a trace", path);
	if (!strcmp(path, "-"))
		return err_set(err, -EINVAL, "a trace is a file and is not written to the standard output");
	memcpy(out->path, path, strlen(path));
	if (way == OUTPUT_WHOLE) {
		status = check_way(path, keep_old, err);
		return status ? status : create_hidden(out, err);
	}
	status = put_aside(path, keep_old, err);
	if (status)
		return status;
	out->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out->fd < 0)
		return err_sys(err, -errno, "creating '%s'", path);
	/* for as long as it is written; a file system without locks has none */
	fcntl(out->fd, F_OFD_SETLK, &(struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET });
	return 0;
}

bool output_is_written(int fd)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };

	return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

int output_publish(struct output *out, struct err *err)
{
	char link[64];
	int status, r;

	if (!out->hidden)
		return 0;
	status = put_aside(out->path, out->keep_old, err);
	if (status)
		return status;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", out->fd);
	r = out->passing[0] ? rename(out->passing, out->path) : linkat(AT_FDCWD, link, AT_FDCWD, out->path, AT_SYMLINK_FOLLOW);
	if (r)
		return err_sys(err, -errno, "creating '%s'", out->path);
	out->hidden = false;
	return 0;
}

int output_write(struct output *out, const void *data, size_t size, struct err *err)
{
	const struct output_room *room = &out->room;
	const char *from = data;
	bool was_full = false;
	size_t done = 0;

	if (room->make)
		room->make(room->data, size, false);
	while (done < size) {
		ssize_t n = pwrite(out->fd, from + done, size - done, (off_t)(out->bytes + done));
		int code;

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		code = n < 0 ? -errno : -ENOSPC;
		if (code == -ENOSPC && room->make && !was_full && room->make(room->data, size - done, true)) {
			was_full = true;
			continue;
		}
		if (ftruncate(out->fd, (off_t)out->bytes)) {
			/* a reader passes over the torn end */
		}
		if ((code == -ENOSPC || code == -EDQUOT) && (out->hidden || !out->bytes))
			return err_set(err, code, "the disk of '%s' is full; nothing of it is kept", out->path);
		if (code == -ENOSPC || code == -EDQUOT)
			return err_set(err, code, "the disk of '%s' is full; the first %" PRIu64 " bytes are kept and readable",
				       out->path, out->bytes);
		return err_sys(err, code, "writing '%s'", out->path);
	}
	out->bytes += size;
	return 0;
}

int output_read(const struct output *out, uint64_t at, void *to, size_t size, struct err *err)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(out->fd, (char *)to + done, size - done, (off_t)(at + done));

		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			return err_sys(err, n ? -errno : -EIO, "reading back '%s'", out->path);
	}
	return 0;
}

void output_remove_empty(const struct output *out)
{
	struct stat ours, there;

	if (out->fd >= 0 && !out->hidden && !out->bytes && !fstat(out->fd, &ours) && !lstat(out->path, &there) &&
	    ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
		unlink(out->path);
}

void output_close(struct output *out)
{
	if (out->hidden && out->passing[0])
		unlink(out->passing);
	if (out->fd >= 0)
		close(out->fd);
	out->fd = -1;
}
