/* See kernel_place.h. The functions are those that wait, or that only this kind of wait
 * has above it; a kernel that calls them otherwise is one of which nothing is said. */
#include "diagnose/kernel_place.h"

#include <string.h>

#define FRAMES_LOOKED_AT 16

/* `under`: the name of a caller must begin so, too; NULL: none is asked for. */
static const struct {
	const char *function, *under;
	enum kernel_place place;
} places[] = {
	{ "request_wait_answer", NULL, KERNEL_PLACE_FUSE },
	{ "fuse_", NULL, KERNEL_PLACE_FUSE },
	{ "percpu_rwsem_wait", "vfs_write", KERNEL_PLACE_FROZEN },
	{ "percpu_rwsem_wait", "vfs_iter_write", KERNEL_PLACE_FROZEN },
	{ "percpu_rwsem_wait", "vfs_fallocate", KERNEL_PLACE_FROZEN },
	{ "percpu_rwsem_wait", "mnt_want_write", KERNEL_PLACE_FROZEN },
	{ "percpu_rwsem_wait", "do_page_mkwrite", KERNEL_PLACE_FROZEN },
	{ "percpu_rwsem_wait", "ext4_", KERNEL_PLACE_FROZEN },
	{ "percpu_rwsem_wait", "xfs_", KERNEL_PLACE_FROZEN },
	{ "__sb_start_write", NULL, KERNEL_PLACE_FROZEN },
	{ "rpc_wait_bit_killable", NULL, KERNEL_PLACE_NFS },
	{ "nfs_", NULL, KERNEL_PLACE_NFS },
	{ "jbd2_log_wait_commit", NULL, KERNEL_PLACE_JOURNAL },
	{ "wait_transaction_locked", NULL, KERNEL_PLACE_JOURNAL },
	{ "mem_cgroup_oom_synchronize", NULL, KERNEL_PLACE_MEMORY },
	{ "io_schedule", NULL, KERNEL_PLACE_BLOCK_IO },
	{ "blk_", NULL, KERNEL_PLACE_BLOCK_IO },
	{ "sk_stream_wait_close", NULL, KERNEL_PLACE_LINGER },
	{ "wait_for_partner", NULL, KERNEL_PLACE_FIFO },
	{ "__break_lease", NULL, KERNEL_PLACE_LEASE },
	{ "rwsem_down_", "path_", KERNEL_PLACE_INODE },
	{ "rwsem_down_", "vfs_", KERNEL_PLACE_INODE },
};

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static bool is_called_by(const char *const *functions, unsigned count, const char *caller)
{
	for (unsigned i = 0; i < count; i++)
		if (begins(functions[i], caller))
			return true;
	return false;
}

/* A page is waited for alike, whether a block device is to bring it or the server of a file system. */
static enum kernel_place below_file_system(const char *const *functions, unsigned count)
{
	return is_called_by(functions, count, "fuse_") ? KERNEL_PLACE_FUSE : is_called_by(functions, count, "nfs_") ? KERNEL_PLACE_NFS : KERNEL_PLACE_BLOCK_IO;
}

enum kernel_place kernel_place_of(struct names *names, const struct tables *tables, uint32_t kstack)
{
	const char *functions[FRAMES_LOOKED_AT];
	unsigned count = 0;

	for (uint32_t node = kstack; names && node && node < tables->frame_count && count < FRAMES_LOOKED_AT; node = tables->frames[node].parent) {
		const struct name *name = names_frame(names, node);

		functions[count++] = name && name->function ? name->function : "";
	}
	for (unsigned i = 0; i < count; i++)
		for (size_t j = 0; j < sizeof(places) / sizeof(places[0]); j++)
			if (begins(functions[i], places[j].function) &&
			    (!places[j].under || is_called_by(functions + i + 1, count - i - 1, places[j].under)))
				return places[j].place == KERNEL_PLACE_BLOCK_IO ? below_file_system(functions + i + 1, count - i - 1) : places[j].place;
	return KERNEL_PLACE_UNKNOWN;
}

enum kernel_place kernel_place_of_wait(struct names *names, const struct tables *tables, const struct wait *wait)
{
	enum kernel_place place = kernel_place_of(names, tables, wait->kstack);
	const struct name *name;

	if (place != KERNEL_PLACE_UNKNOWN || !names || !wait->kstack || wait->kstack >= tables->frame_count || tables->frames[wait->kstack].parent)
		return place;
	name = names_frame(names, wait->kstack);
	/* whoever writes to a file waits for this kind of lock only while the file system is frozen */
	if (wait->kind == WAIT_KIND_write && object_kind(wait->object) == OBJECT_KIND_file && name && begins(name->function, "percpu_rwsem_wait"))
		return KERNEL_PLACE_FROZEN;
	return place;
}

const char *kernel_place_words(enum kernel_place place)
{
	switch (place) {
	case KERNEL_PLACE_UNKNOWN: return NULL;
	case KERNEL_PLACE_FUSE: return "for the answer of the file system's server";
	case KERNEL_PLACE_FROZEN: return "until the file system is thawed: it is frozen, by whom is not known";
	case KERNEL_PLACE_NFS: return "for the answer of an NFS server";
	case KERNEL_PLACE_BLOCK_IO: return "for a block device";
	case KERNEL_PLACE_JOURNAL: return "for the file system's journal";
	case KERNEL_PLACE_FIFO: return "until somebody opens the other end of the FIFO";
	case KERNEL_PLACE_MEMORY: return "until its control group has memory";
	case KERNEL_PLACE_LEASE: return "until the holder of a lease on the file gives it up";
	case KERNEL_PLACE_LINGER:
		return "until the other end has taken what was sent, as it closes a connection (SO_LINGER): whose that is is not known any more";
	case KERNEL_PLACE_INODE: return "for the lock of a file or directory";
	}
	return NULL;
}
