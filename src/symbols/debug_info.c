/* See debug_info.h. */
#include "symbols/debug_info.h"

#include <elfutils/libdwelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* dwz keeps what several debug files share in another one, named in this. */
static void open_supplement(struct debug_info *info, struct file_opener *opener, const char *path)
{
	const char *name;
	const void *build_id;
	char beside[4200];
	if (dwelf_dwarf_gnu_debugaltlink(info->dwarf, &name, &build_id) <= 0)
		return;
	const char *slash = strrchr(path, '/');
	if (name[0] == '/' || !slash)
		snprintf(beside, sizeof(beside), "%s", name);
	else
		snprintf(beside, sizeof(beside), "%.*s/%s", (int)(slash - path), path, name);
	info->supplement_fd = file_opener_open(opener, beside, NULL);
	if (info->supplement_fd >= 0)
		info->supplement = dwarf_begin(info->supplement_fd, DWARF_C_READ);
	if (info->supplement)
		dwarf_setalt(info->dwarf, info->supplement);
}

static bool try_open(struct debug_info *info, struct file_opener *opener, const char *path)
{
	Dwarf_Off next;
	size_t size;
	info->fd = file_opener_open(opener, path, NULL);
	if (info->fd < 0)
		return false;
	info->dwarf = dwarf_begin(info->fd, DWARF_C_READ);
	if (info->dwarf && dwarf_nextcu(info->dwarf, 0, &next, &size, NULL, NULL, NULL) == 0) {
		open_supplement(info, opener, path);
		return true;
	}
	if (info->dwarf)
		dwarf_end(info->dwarf);
	info->dwarf = NULL;
	close(info->fd);
	return false;
}

bool debug_info_open(struct debug_info *info, struct file_opener *opener, const char *path, const char *debug_path)
{
	*info = (struct debug_info){ .fd = -1, .supplement_fd = -1 };
	return try_open(info, opener, path) || (debug_path[0] && try_open(info, opener, debug_path));
}

void debug_info_close(struct debug_info *info)
{
	if (!info->dwarf)
		return;
	dwarf_end(info->dwarf);
	if (info->supplement)
		dwarf_end(info->supplement);
	if (info->supplement_fd >= 0)
		close(info->supplement_fd);
	close(info->fd);
	info->dwarf = NULL;
}

bool debug_info_unit(const struct debug_info *info, uint64_t address, Dwarf_Die *ret_unit)
{
	Dwarf_Off at = 0, next;
	size_t head;

	if (dwarf_addrdie(info->dwarf, address, ret_unit))
		return true;
	/* no .debug_aranges, as clang leaves it */
	while (dwarf_nextcu(info->dwarf, at, &next, &head, NULL, NULL, NULL) == 0) {
		if (dwarf_offdie(info->dwarf, at + head, ret_unit) && dwarf_haspc(ret_unit, address) > 0)
			return true;
		at = next;
	}
	return false;
}
