/* See artifact.h. */
#include "session/artifact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Without a name, where the file system can; it vanishes with the process. */
static int open_nameless(const char *path, mode_t mode)
{
	const char *slash = strrchr(path, '/');
	struct buf folder;
	int fd;

	buf_init(&folder);
	buf_printf(&folder, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
	fd = open(folder.data, O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
	buf_done(&folder);
	return fd;
}

static int open_passing(struct artifact *a, mode_t mode)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	buf_printf(&a->passing, "%s.XXXXXX", a->path);
	fd = mkostemp(a->passing.data, O_CLOEXEC);
	if (fd < 0)
		buf_clear(&a->passing);
	else
		fchmod(fd, mode & ~mask);
	return fd;
}

int artifact_open(struct artifact *a, const char *path, mode_t mode, struct err *err)
{
	struct stat there;
	int fd;

	*a = (struct artifact){ .path = path };
	buf_init(&a->passing);
	a->in_place = !stat(path, &there) && !S_ISREG(there.st_mode);
	fd = a->in_place ? open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY) : open_nameless(path, mode);
	if (fd < 0 && !a->in_place && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
		fd = open_passing(a, mode);
	a->file = fd < 0 ? NULL : fdopen(fd, "wb");
	if (a->file)
		return 0;
	int status = err_sys(err, -errno, "creating '%s'", path);
	if (fd >= 0)
		close(fd);
	if (a->passing.length)
		unlink(a->passing.data);
	buf_done(&a->passing);
	return status;
}

/* A name of its own for what has none yet. */
static int name_it(struct artifact *a)
{
	char link[64];

	if (a->passing.length)
		return 0;
	buf_printf(&a->passing, "%s.%d.part", a->path, (int)getpid());
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fileno(a->file));
	if (!linkat(AT_FDCWD, link, AT_FDCWD, a->passing.data, AT_SYMLINK_FOLLOW))
		return 0;
	buf_clear(&a->passing);
	return -errno;
}

int artifact_close(struct artifact *a, int status, struct err *err)
{
	int r = fflush(a->file) ? -errno : 0;

	if (!status && r)
		status = err_sys(err, r, "writing '%s'", a->path);
	if (!status && !a->in_place) {
		r = name_it(a);
		if (!r && rename(a->passing.data, a->path))
			r = -errno;
		if (r)
			status = err_sys(err, r, "creating '%s'", a->path);
	}
	if (fclose(a->file) && !status)
		status = err_sys(err, -errno, "writing '%s'", a->path);
	if (status && a->passing.length)
		unlink(a->passing.data);
	buf_done(&a->passing);
	return status;
}

int artifact_write(const char *path, const struct buf *text, struct err *err)
{
	struct artifact artifact;
	int status = artifact_open(&artifact, path, 0600, err);

	if (status)
		return status;
	if (fwrite(text->data, 1, text->length, artifact.file) != text->length)
		status = err_sys(err, -errno, "writing '%s'", path);
	return artifact_close(&artifact, status, err);
}
