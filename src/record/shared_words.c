/* See shared_words.h. */
#include "record/shared_words.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "record/object.h"
#include "record/proc_maps.h"
#include "record/tasks.h"

#define NO_DESCRIPTOR UINT32_MAX
#define FOLDER_MOST 4096u /* entries of a folder that are looked at for a name */

struct search {
	uint64_t address;          /* that is looked for, where `found` is given */
	struct shared_word *found;
	const struct shared_word *words;
	size_t count;
	uint64_t mapped;
	uint64_t start, end;       /* of the mapping that was found */
};

static void look_at(void *data, const struct module_source *mapping)
{
	struct search *search = data;
	uint64_t size = mapping->end - mapping->start;

	if (search->found && search->address >= mapping->start && search->address < mapping->end) {
		*search->found = (struct shared_word){ .device = mapping->device, .inode = mapping->inode,
						       .offset = mapping->offset + (search->address - mapping->start) };
		search->start = mapping->start;
		search->end = mapping->end;
		/* which the kernel calls so where a program asks for memory without a file */
		if (strcmp(mapping->path, "/dev/zero") != 0)
			strncpy(search->found->name, mapping->path, SHARED_WORD_NAME - 1);
	}
	for (size_t i = 0; i < search->count; i++) {
		const struct shared_word *w = &search->words[i];

		if (w->inode == mapping->inode && w->device == mapping->device && w->offset >= mapping->offset && w->offset - mapping->offset < size)
			search->mapped |= 1ull << i;
	}
}

/* A file whose first name was taken away when it had got its own, as the C library makes semaphores: the one in the same folder. */
static void find_other_name(struct shared_word *word)
{
	char folder[SHARED_WORD_NAME], *slash;
	struct dirent *entry;
	unsigned looked_at = 0;
	DIR *dir;

	memcpy(folder, word->name, sizeof(folder));
	slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return;
	*slash = 0;
	dir = opendir(folder);
	while (dir && looked_at++ < FOLDER_MOST && (entry = readdir(dir))) {
		char path[SHARED_WORD_NAME + sizeof(entry->d_name)];
		struct stat file;

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (entry->d_ino == word->inode && strlen(path) < sizeof(word->name) && !stat(path, &file) && file.st_ino == word->inode &&
		    file.st_dev == word->device) {
			memcpy(word->name, path, strlen(path) + 1);
			break;
		}
	}
	if (dir)
		closedir(dir);
}

/* Memory of System V is found by its number, which no folder has. */
static void find_name(uint32_t pid, const struct search *search)
{
	struct shared_word *word = search->found;
	struct stat mapped, named;
	char path[96];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid, search->start, search->end);
	if (stat(path, &mapped) || mapped.st_ino != word->inode)
		return;
	word->unnamed = !mapped.st_nlink && strncmp(word->name, "/SYSV", 5) != 0;
	if (mapped.st_nlink && word->name[0] == '/' && (stat(word->name, &named) || named.st_ino != word->inode))
		find_other_name(word);
}

bool shared_word_at(uint32_t pid, uint64_t address, struct shared_word *ret_word)
{
	struct search search = { .address = address, .found = ret_word };

	*ret_word = (struct shared_word){ 0 };
	if (proc_maps_read_shared((pid_t)pid, look_at, &search) || !ret_word->inode)
		return false;
	find_name(pid, &search);
	return true;
}

uint64_t shared_words_mapped(uint32_t pid, const struct shared_word *words, size_t count)
{
	struct search search = { .words = words, .count = count < SHARED_WORDS_MOST ? count : SHARED_WORDS_MOST };

	return proc_maps_read_shared((pid_t)pid, look_at, &search) ? 0 : search.mapped;
}

static uint64_t channel_of(const struct shared_word *word)
{
	return object_of(OBJECT_KIND_futex, object_hash(object_hash(object_hash(word->device) ^ word->inode) ^ word->offset));
}

void shared_word_describe(const struct shared_word *word, struct event_descriptor *ret_descriptor)
{
	uint64_t channel = channel_of(word);

	*ret_descriptor = (struct event_descriptor){ .object = channel, .channel_in = channel, .channel_out = channel, .fd = NO_DESCRIPTOR,
						     .kind = OBJECT_KIND_futex, .access = 3 };
}

static bool is_same(const struct shared_word *a, const struct shared_word *b)
{
	return a->device == b->device && a->inode == b->inode && a->offset == b->offset;
}

void shared_words_note(struct shared_words *words, const struct task_found *found, const struct shared_word *word, bool has_owner,
		       struct event_descriptor *ret_descriptor)
{
	size_t known = 0;

	shared_word_describe(word, ret_descriptor);
	ret_descriptor->object = found->waiting.object;
	ret_descriptor->state = word->unnamed ? DESCRIPTOR_UNNAMED : 0;
	while (known < words->length && !is_same(&words->items[known], word))
		known++;
	if (!has_owner && known == words->length && known < SHARED_WORDS_MOST)
		vec_push(words, *word);
}
