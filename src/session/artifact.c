/* See artifact.h. */
#include "session/artifact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int artifact_write(const char *path, const struct buf *text, struct err *err)
{
	struct stat there;
	struct buf name;
	int fd, result = 0;

	/* A device or a pipe is not replaced by a file. */
	if (!lstat(path, &there) && !S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode))
		return err_set(err, -EINVAL, "'%s' is there and is not a file", path);
	buf_init(&name);
	buf_printf(&name, "%s.XXXXXX", path);
	fd = mkostemp(name.data, O_CLOEXEC);
	if (fd < 0) {
		result = err_sys(err, -errno, "creating '%s'", path);
		buf_done(&name);
		return result;
	}
	for (size_t done = 0; !result && done < text->length;) {
		ssize_t wrote = write(fd, text->data + done, text->length - done);

		if (wrote >= 0)
			done += (size_t)wrote;
		else if (errno != EINTR)
			result = err_sys(err, -errno, "writing '%s'", path);
	}
	if (close(fd) && !result)
		result = err_sys(err, -errno, "writing '%s'", path);
	if (!result && rename(name.data, path))
		result = err_sys(err, -errno, "creating '%s'", path);
	if (result)
		unlink(name.data);
	buf_done(&name);
	return result;
}
