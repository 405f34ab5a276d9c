/* Arenas: memory that is given back all at once.
 *
 * A function whose first parameter is a `struct arena *` leaves its result in
 * that arena; nothing in an arena is freed singly. Memory comes zeroed.
 * Running out of memory ends the process with a message. Not thread-safe: one
 * arena belongs to one thread at a time. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena_block;

struct arena {
	struct arena_block *last;  /* newest block; NULL while empty */
	size_t used;               /* bytes handed out of the newest block */
	size_t total_bytes;        /* of all blocks, for reports */
};

struct arena_mark {
	struct arena_block *last;
	size_t used;
};

void arena_init(struct arena *arena);
void arena_done(struct arena *arena);   /* frees all; the arena can be used again */

void *arena_alloc(struct arena *arena, size_t size, size_t align);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t length);
void *arena_memdup(struct arena *arena, const void *data, size_t size);
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *arena, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* Scratch use: everything allocated after the mark goes at the rewind. */
struct arena_mark arena_mark(const struct arena *arena);
void arena_rewind(struct arena *arena, struct arena_mark mark);

#define arena_new(arena, type) ((type *)arena_alloc((arena), sizeof(type), _Alignof(type)))
#define arena_array(arena, type, count) \
	((type *)arena_alloc((arena), arena_array_bytes(sizeof(type), (count)), _Alignof(type)))

/* size * count; ends the process when the product overflows. */
size_t arena_array_bytes(size_t size, size_t count);

/* malloc, calloc and realloc that end the process when memory is out; for
 * growing containers and buffers outside arenas. Free with free(). */
void *mem_alloc(size_t size);
void *mem_zalloc(size_t size);
void *mem_realloc(void *old, size_t size);
/* Zeroed memory of which only what is touched is taken; NULL where there is no room for it. Give it back with munmap. */
void *mem_reserve(size_t size);
/* For work in rounds that need the same memory each time: what is freed stays with the
 * process, where it need not be cleared again, until that is ended. Of the whole process. */
void mem_keep(bool keep);
/* For a while two threads work, each with as much memory: large blocks have pages of their own, which go when they are freed.
 * Where such blocks of several lie between each other in one heap, half as much again stays that nobody uses. */
void mem_part(bool part);
/* Frees a block of which only a part was ever touched: its pages go back even so, for who gets that place next touches others. */
void mem_free_pages(void *block);
/* For work that must not take much: what is large lies in pages of its own, which grow
 * without a copy and go back when they are freed. For good. */
void mem_give_back(void);
/* Where that was said: what was freed in small pieces goes back, too. Between two steps of the work. */
void mem_step_ends(void);
/* Whether it was said: whoever could be faster with more takes less. */
bool mem_is_scarce(void);

#endif
