/* See arena.h. Blocks double up to a limit; large requests get their own. */
#include "base/arena.h"

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST_BLOCK (16u * 1024)
#define MAX_BLOCK (4u * 1024 * 1024)
#define OWN_PAGES (512 * 1024)
#define LARGE_BLOCK (1024 * 1024)
#define TRIM_PARTED (64 * 1024 * 1024)
#define OWN_BYTES 64u /* at a block's ends, that malloc may write to when it is free */

struct arena_block {
	struct arena_block *before;
	size_t size;            /* usable bytes behind the header */
	_Alignas(max_align_t) unsigned char data[];
};

static bool scarce;

static _Noreturn void out_of_memory(size_t size)
{
	fprintf(stderr, "argus: out of memory (%zu bytes wanted)\n", size);
	abort();
}

void *mem_alloc(size_t size)
{
	void *memory = malloc(size ? size : 1);

	if (!memory)
		out_of_memory(size);
	return memory;
}

void *mem_zalloc(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	if (!memory)
		out_of_memory(size);
	return memory;
}

void *mem_realloc(void *old, size_t size)
{
	void *memory = realloc(old, size ? size : 1);

	if (!memory)
		out_of_memory(size);
	return memory;
}

void *mem_reserve(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void mem_keep(bool keep)
{
	mallopt(M_MMAP_MAX, keep ? 0 : 65536);
	mallopt(M_TRIM_THRESHOLD, keep ? INT_MAX : 128 * 1024);
	mallopt(M_ARENA_MAX, keep ? 1 : 0);
	if (!keep)
		malloc_trim(0);
}

void mem_part(bool part)
{
	mallopt(M_ARENA_MAX, part || scarce ? 1 : 0);
	if (!scarce)
		mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK); /* stays so, see mem_give_back */
	mallopt(M_TRIM_THRESHOLD, part ? TRIM_PARTED : 128 * 1024);
	if (!part)
		malloc_trim(0);
}

void mem_free_pages(void *block)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)block + OWN_BYTES, to = (uintptr_t)block + (block ? malloc_usable_size(block) : 0) - OWN_BYTES;

	from = (from + page - 1) / page * page;
	to = to / page * page;
	if (block && to > from)
		madvise((void *)from, to - from, MADV_DONTNEED);
	free(block);
}

void mem_give_back(void)
{
	scarce = true;
	mallopt(M_MMAP_THRESHOLD, OWN_PAGES); /* said once, glibc leaves it so */
	mallopt(M_ARENA_MAX, 1);
}

void mem_step_ends(void)
{
	if (scarce)
		malloc_trim(0);
}

bool mem_is_scarce(void)
{
	return scarce;
}

size_t arena_array_bytes(size_t size, size_t count)
{
	size_t bytes;

	if (__builtin_mul_overflow(size, count, &bytes))
		out_of_memory(SIZE_MAX);
	return bytes;
}

void arena_init(struct arena *arena)
{
	*arena = (struct arena){ 0 };
}

void arena_done(struct arena *arena)
{
	arena_rewind(arena, (struct arena_mark){ 0 });
	arena->total_bytes = 0;
}

static void add_block(struct arena *arena, size_t at_least)
{
	size_t size = arena->last ? arena->last->size * 2 : FIRST_BLOCK;
	struct arena_block *block;

	if (size > MAX_BLOCK)
		size = MAX_BLOCK;
	if (size < at_least)
		size = at_least;
	block = mem_alloc(sizeof(*block) + size);
	block->before = arena->last;
	block->size = size;
	arena->last = block;
	arena->used = 0;
	arena->total_bytes += size;
}

void *arena_alloc(struct arena *arena, size_t size, size_t align)
{
	size_t start;
	void *memory;

	if (size > SIZE_MAX / 2)
		out_of_memory(size);
	start = (arena->used + align - 1) & ~(align - 1);
	if (!arena->last || start > arena->last->size || size > arena->last->size - start) {
		add_block(arena, size);
		start = 0;
	}
	memory = arena->last->data + start;
	arena->used = start + size;
	return memset(memory, 0, size);
}

void *arena_memdup(struct arena *arena, const void *data, size_t size)
{
	void *copy = arena_alloc(arena, size, _Alignof(max_align_t));

	return size ? memcpy(copy, data, size) : copy;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
	char *copy;

	length = strnlen(text, length);
	copy = arena_alloc(arena, length + 1, 1);
	memcpy(copy, text, length);
	return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return arena_strndup(arena, text, strlen(text));
}

char *arena_vprintf(struct arena *arena, const char *format, va_list args)
{
	va_list again;
	int length;
	char *text;

	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	text = arena_alloc(arena, (size_t)length + 1, 1);
	vsnprintf(text, (size_t)length + 1, format, args);
	return text;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = arena_vprintf(arena, format, args);
	va_end(args);
	return text;
}

struct arena_mark arena_mark(const struct arena *arena)
{
	return (struct arena_mark){ arena->last, arena->used };
}

void arena_rewind(struct arena *arena, struct arena_mark mark)
{
	while (arena->last != mark.last) {
		struct arena_block *block = arena->last;

		arena->last = block->before;
		arena->total_bytes -= block->size;
		free(block);
	}
	arena->used = mark.used;
}
