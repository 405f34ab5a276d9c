/* See mount_path.h. */
#include "record/mount_path.h"

#include <limits.h>
#include <string.h>

/* How much of the path the mount's root takes: all of that, up to a whole name; false: it lies elsewhere. */
static bool lies_below(const char *within, const char *root, size_t length)
{
	if (length == 1 && root[0] == '/')
		return true;
	return !strncmp(within, root, length) && (!within[length] || within[length] == '/');
}

bool mount_path(FILE *table, uint32_t device, const char *within, char *to, size_t size)
{
	size_t best = 0;
	char line[PATH_MAX * 2];

	while (fgets(line, sizeof(line), table)) {
		unsigned major, minor;
		int root = 0, root_end = 0, point = 0, end = 0;
		size_t length, skip;

		if (sscanf(line, "%*u %*u %u:%u %n%*s%n %n%*s%n", &major, &minor, &root, &root_end, &point, &end) < 2 || !end ||
		    major != device >> 20 || minor != (device & 0xfffff) || line[root] != '/')
			continue;
		length = (size_t)(root_end - root);
		if (length <= best || !lies_below(within, line + root, length))
			continue;
		skip = length > 1 ? length : 0;
		/* the root is no name before the next one */
		if (end - point == 1)
			end = point;
		if ((size_t)(end - point) + strlen(within + skip) >= size)
			continue;
		snprintf(to, size, "%.*s%s", end - point, line + point, within + skip);
		best = length;
	}
	if (best && !to[0])
		snprintf(to, size, "/");
	return best > 0;
}
