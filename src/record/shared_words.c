/* See shared_words.h. */
#include "record/shared_words.h"

#include <string.h>

#include "record/object.h"
#include "record/proc_maps.h"
#include "record/tasks.h"

#define NO_DESCRIPTOR UINT32_MAX

struct search {
	uint64_t address;          /* that is looked for, where `found` is given */
	struct shared_word *found;
	const struct shared_word *words;
	size_t count;
	uint64_t mapped;
};

static void look_at(void *data, const struct module_source *mapping)
{
	struct search *search = data;
	uint64_t size = mapping->end - mapping->start;

	if (search->found && search->address >= mapping->start && search->address < mapping->end) {
		*search->found = (struct shared_word){ .device = mapping->device, .inode = mapping->inode,
						       .offset = mapping->offset + (search->address - mapping->start) };
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

bool shared_word_at(uint32_t pid, uint64_t address, struct shared_word *ret_word)
{
	struct search search = { .address = address, .found = ret_word };

	*ret_word = (struct shared_word){ 0 };
	return !proc_maps_read_shared((pid_t)pid, look_at, &search) && ret_word->inode;
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
	while (known < words->length && !is_same(&words->items[known], word))
		known++;
	if (!has_owner && known == words->length && known < SHARED_WORDS_MOST)
		vec_push(words, *word);
}
