#include "symbols/unwind_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/keyed_hash.h"
#include "base/map.h"
#include "symbols/cache_file.h"
#include "symbols/file_opener.h"

#define CACHE_LEAST_BYTES (64u << 10)     /* of .eh_frame: less is made in a millisecond */
#define CACHE_MOST_BYTES (256u << 20)

/* Anybody can make a file with another's build-id. A table is taken for a file that
 * is the one it was made from, on a disk, where nobody but the kernel sets the time of
 * change; or that holds the same bytes, by a hash that only who reads this file can aim at. */
struct file_state {
	uint64_t device, inode, bytes;
	int64_t changed_ns;        /* 0: none that could be relied on */
};

struct cache_head {
	uint64_t magic;
	uint64_t checksum;         /* of all behind it */
	char build_id[64];
	struct hash_key key;
	uint64_t content;          /* of what the table was made from, by the key */
	struct file_state state;   /* of the file that it was made from */
};

bool unwind_cache_read(const void *data, size_t bytes, const char *build_id, struct unwind_table *ret_table)
{
	struct cache_head head;
	if (bytes < sizeof(head))
		return false;
	memcpy(&head, data, sizeof(head));
	return head.magic == UNWIND_CACHE_MAGIC && strncmp(head.build_id, build_id, sizeof(head.build_id)) == 0 && cache_file_intact(data, bytes) &&
	       unwind_table_unpack((const char *)data + sizeof(head), bytes - sizeof(head), ret_table);
}

static struct file_state state_of(const struct elf_file *file)
{
	struct stat st;
	if (file->fd < 0 || file_opener_stat(file->fd, &st) < 0 || major(st.st_dev) == 0)
		return (struct file_state){ 0 };
	return (struct file_state){ .device = st.st_dev, .inode = st.st_ino, .bytes = (uint64_t)st.st_size,
				    .changed_ns = st.st_ctim.tv_sec * 1000000000ll + st.st_ctim.tv_nsec };
}

/* Of all that a table is made from (unwind_table_make); 0 when it cannot be read. */
static uint64_t content_of(const struct elf_file *file, const struct hash_key *key)
{
	static const char *const names[] = { ".eh_frame", ".debug_frame", ".text", ".got" };
	struct keyed_hash h;

	keyed_hash_begin(&h, key);
	keyed_hash_add(&h, file->segments, file->segment_count * sizeof(*file->segments));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const Elf64_Shdr *section = elf_file_section(file, names[i]);
		void *data;
		if (!section)
			continue;
		keyed_hash_add(&h, names[i], strlen(names[i]) + 1);
		keyed_hash_add(&h, section, sizeof(*section));
		if (i > 1)
			continue;
		if (elf_file_copy(file, section->sh_offset, section->sh_size, &data, NULL) < 0)
			return 0;
		keyed_hash_add(&h, data, section->sh_size);
		free(data);
	}
	return keyed_hash_end(&h);
}

static bool made_from(const struct cache_head *head, const struct elf_file *file)
{
	struct file_state state = state_of(file);
	return (state.changed_ns && memcmp(&state, &head->state, sizeof(state)) == 0) ||
	       (head->content && content_of(file, &head->key) == head->content);
}

static bool cache_load(const char *path, const char *build_id, const struct elf_file *file, struct unwind_table *ret_table)
{
	size_t bytes;
	int fd;
	void *data = cache_file_map_open(path, CACHE_MOST_BYTES, &bytes, &fd);
	if (!data)
		return false;
	if (!unwind_cache_read(data, bytes, build_id, ret_table) || !made_from(data, file)) {
		munmap(data, bytes);
		close(fd);
		return false;
	}
	ret_table->mapped = data;
	ret_table->mapped_bytes = bytes;
	ret_table->file = fd + 1;
	ret_table->rows_at = (uint64_t)((const char *)ret_table->rows - (const char *)data);
	if (mem_is_scarce())
		madvise(data, bytes, MADV_DONTNEED); /* what is looked up comes back from the file */
	return true;
}

/* Failures are no matter: the table is made anew next time. */
static void cache_save(const char *path, const char *build_id, const struct elf_file *file, const struct file_state *before,
		       const struct unwind_table *t)
{
	struct file_state state = state_of(file);
	struct hash_key key;
	/* what is being written while it is read is not kept */
	if (memcmp(&state, before, sizeof(state)) != 0 || hash_key_make(&key) < 0)
		return;
	size_t bytes = sizeof(struct cache_head) + unwind_table_packed_bytes(t);
	char *data = mem_zalloc(bytes);
	struct cache_head head = { .magic = UNWIND_CACHE_MAGIC, .key = key, .content = content_of(file, &key), .state = state };

	memcpy(head.build_id, build_id, strnlen(build_id, sizeof(head.build_id)));
	memcpy(data, &head, sizeof(head));
	unwind_table_pack(t, data + sizeof(head));
	cache_file_keep(path, data, bytes);
	free(data);
}

/* Where the file's table is kept, if it is one that is. */
static bool place_of(const struct elf_file *file, char build_id[65], char *path, size_t path_bytes)
{
	const Elf64_Shdr *section = elf_file_section(file, ".eh_frame");
	char name[80];

	elf_file_build_id_text(file, build_id);
	if (!build_id[0] || !section || section->sh_size < CACHE_LEAST_BYTES)
		return false;
	snprintf(name, sizeof(name), "%s.unwind", build_id);
	return cache_file_path(name, path, path_bytes) >= 0;
}

int unwind_cache_table(const struct elf_file *file, struct unwind_table *ret_table, struct err *err)
{
	char build_id[65], path[4100];

	if (!place_of(file, build_id, path, sizeof(path)))
		return unwind_table_make(file, ret_table, err);
	if (cache_load(path, build_id, file, ret_table))
		return 0;
	struct file_state before = state_of(file);
	int r = unwind_table_make(file, ret_table, err);
	if (r == 0)
		cache_save(path, build_id, file, &before, ret_table);
	return r;
}

int unwind_cache_bounds(const struct elf_file *file, struct unwind_table *ret_table, struct err *err)
{
	char build_id[65], path[4100];
	int r;

	if (!place_of(file, build_id, path, sizeof(path)))
		return unwind_table_bounds(file, ret_table, err);
	r = unwind_cache_table(file, ret_table, err);
	if (!r && mem_is_scarce())
		unwind_cache_take(file, ret_table);
	return r;
}

void unwind_cache_take(const struct elf_file *file, struct unwind_table *table)
{
	char build_id[65], path[4100];
	struct unwind_table kept;

	if (table->file || !place_of(file, build_id, path, sizeof(path)) || !cache_load(path, build_id, file, &kept))
		return;
	unwind_table_done(table);
	*table = kept;
}
