/* Words of shared memory: where one lies, and who has it mapped. */
#include "record/shared_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/tasks.h"

#define BYTES 8192u

static void lies_in_what_is_mapped(void **state)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);
	char *first, *second, *own;
	struct shared_word word, again;

	(void)state;
	assert_int_equal(ftruncate(fd, BYTES), 0);
	first = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	second = mmap(NULL, BYTES / 2, PROT_READ | PROT_WRITE, MAP_SHARED, fd, BYTES / 2);
	own = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(shared_word_at((uint32_t)getpid(), (uint64_t)(uintptr_t)(first + BYTES / 2 + 8), &word));
	assert_string_equal(word.name, "/memfd:ring");
	assert_int_equal(word.offset, BYTES / 2 + 8);
	/* the same word by another mapping */
	assert_true(shared_word_at((uint32_t)getpid(), (uint64_t)(uintptr_t)(second + 8), &again));
	assert_memory_equal(&word, &again, sizeof(word));
	assert_false(shared_word_at((uint32_t)getpid(), (uint64_t)(uintptr_t)own, &again));
	assert_false(shared_word_at((uint32_t)getpid(), 8, &again));

	munmap(first, BYTES);
	again = word;
	again.offset = 8; /* which nothing maps any more */
	assert_int_equal(shared_words_mapped((uint32_t)getpid(), (struct shared_word[]){ again, word }, 2), 2);
	munmap(second, BYTES / 2);
	assert_int_equal(shared_words_mapped((uint32_t)getpid(), &word, 1), 0);
	munmap(own, BYTES);
	close(fd);
}

static void is_noted_once(void **state)
{
	struct shared_words words = { 0 };
	struct shared_word word = { .device = 1, .inode = 2, .offset = 3, .name = "/dev/shm/x" };
	struct task_found found = { .waiting.object = 77 };
	struct event_descriptor one, other;

	(void)state;
	shared_words_note(&words, &found, &word, true, &one);
	assert_int_equal(words.length, 0); /* its owner is known */
	shared_words_note(&words, &found, &word, false, &one);
	shared_words_note(&words, &found, &word, false, &one);
	assert_int_equal(words.length, 1);
	assert_int_equal(one.object, 77);
	shared_word_describe(&word, &other);
	assert_true(one.channel_out && one.channel_out == other.channel_in && other.object == other.channel_in);
	word.offset++;
	shared_word_describe(&word, &other);
	assert_true(one.channel_out != other.channel_in);
	vec_done(&words);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(lies_in_what_is_mapped), cmocka_unit_test(is_noted_once) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
