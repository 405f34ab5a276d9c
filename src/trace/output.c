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

static bool is_trace(const char *path, const struct stat *known)
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

/* Clears the way for a new file at path. */
static int put_aside(const char *path, bool keep_old, struct err *err)
{
	char old[4096 + 8];
	struct stat st;

	if (lstat(path, &st)) {
		if (errno == ENOENT)
			return 0;
		return err_sys(err, -errno, "'%s'", path);
	}
	if (S_ISLNK(st.st_mode))
		return err_set(err, -ELOOP, "'%s' is a link; traces are not written through links", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EEXIST, "'%s' is there and is no regular file", path);
	if (st.st_uid != geteuid())
		return err_set(err, -EPERM, "'%s' belongs to another user and is left as it is", path);
	if (!is_trace(path, &st))
		return err_set(err, -EEXIST, "'%s' is there and is no trace of Argus; it is left as it is", path);
	if (!keep_old)
		return unlink(path) && errno != ENOENT ? err_sys(err, -errno, "removing '%s'", path) : 0;
	snprintf(old, sizeof(old), "%s.old", path);
	return rename(path, old) ? err_sys(err, -errno, "keeping '%s' as '%s'", path, old) : 0;
}

int output_create(struct output *out, const char *path, bool keep_old, struct err *err)
{
	int status;

	*out = (struct output){ .fd = -1 };
	if (!*path || strlen(path) >= sizeof(out->path))
		return err_set(err, *path ? -ENAMETOOLONG : -EINVAL, "'%.60s' is no path for a trace", path);
	if (!strcmp(path, "-"))
		return err_set(err, -EINVAL, "a trace is a file and is not written to the standard output");
	memcpy(out->path, path, strlen(path));
	status = put_aside(path, keep_old, err);
	if (status)
		return status;
	out->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out->fd < 0)
		return err_sys(err, -errno, "creating '%s'", path);
	return 0;
}

int output_write(struct output *out, const void *data, size_t size, struct err *err)
{
	const char *from = data;
	size_t done = 0;

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
		if (ftruncate(out->fd, (off_t)out->bytes)) {
			/* a reader passes over the torn end */
		}
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

void output_close(struct output *out)
{
	if (out->fd >= 0)
		close(out->fd);
	out->fd = -1;
}
