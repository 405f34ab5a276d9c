/* A process whose memory lies: owners of locks that point anywhere, words at the edge of what is mapped,
 * arguments of calls that are gone, stacks that lead in circles or nowhere, lists without an end, a name
 * that writes on the terminal. Prints "ready"; all its threads wait for ever. */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u
#define POLLED 512u

/* As glibc's mutex lies in memory. */
struct mutex { uint32_t word, depth, owner, users, kind, rest[5]; };

static struct mutex mutexes[8];
static pthread_barrier_t all;
static int ends[2];

static void wait_for(volatile uint32_t *word, uint32_t value)
{
	for (;;)
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void *of_owner(void *number)
{
	struct mutex *m = &mutexes[(uintptr_t)number];

	if (m->owner == 1)
		m->owner = (uint32_t)gettid(); /* itself */
	pthread_barrier_wait(&all);
	wait_for(&m->word, m->word);
	return NULL;
}

/* Two that own each other's, by what they wrote there. */
static uint32_t pair[2];
static void *of_pair(void *number)
{
	uintptr_t mine = (uintptr_t)number;
	struct mutex *m = &mutexes[6 + mine];

	__atomic_store_n(&pair[mine], gettid(), __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&pair[!mine], __ATOMIC_SEQ_CST))
		usleep(1000);
	*m = (struct mutex){ .word = 2, .owner = pair[!mine], .users = 1 };
	pthread_barrier_wait(&all);
	wait_for(&m->word, 2);
	return NULL;
}

static char *pages(size_t count) { return mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

/* The mutex's word is the last that is mapped. */
static void *at_edge(void *x)
{
	char *two = pages(2);
	uint32_t *word = (uint32_t *)(void *)(two + PAGE - 4);

	*word = 2;
	munmap(two + PAGE, PAGE);
	pthread_barrier_wait(&all);
	wait_for(word, 2);
	return x;
}

static char *gone[2];
static void *of_polled(void *x)
{
	struct pollfd *set = (void *)gone[0];

	for (unsigned i = 0; i < POLLED; i++)
		set[i] = (struct pollfd){ .fd = i ? -1 : ends[0], .events = POLLIN };
	pthread_barrier_wait(&all);
	poll(set, POLLED, -1);
	return x;
}
static void *of_time(void *x)
{
	struct timespec *time = (void *)gone[1];

	time->tv_sec = 100000;
	pthread_barrier_wait(&all);
	clock_nanosleep(CLOCK_MONOTONIC, 0, time, NULL);
	return x;
}

/* Code without tables, whose frame points to itself; then one whose stack is nowhere. */
static const unsigned char self_frame[] = {
	0x48, 0x83, 0xec, 0x40,                         /* sub  $64, %rsp */
	0x48, 0x8d, 0x2c, 0x24,                         /* lea  (%rsp), %rbp */
	0x48, 0x89, 0x6d, 0x00,                         /* mov  %rbp, (%rbp) */
	0x48, 0x8d, 0x05, 0x04, 0x00, 0x00, 0x00,       /* lea  4(%rip), %rax */
	0x48, 0x89, 0x45, 0x08,                         /* mov  %rax, 8(%rbp) */
	0xb8, 34, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7,      /* again: pause; jmp again */
};
static const unsigned char no_stack[] = {
	0x48, 0xc7, 0xc4, 0x00, 0x10, 0x00, 0x00,       /* mov  $0x1000, %rsp */
	0x48, 0xc7, 0xc5, 0xf8, 0xff, 0xff, 0xff,       /* mov  $-8, %rbp */
	0xb8, 34, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7,      /* again: pause; jmp again */
};
static void *in_code(void *which)
{
	char *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*run)(void);

	memcpy(code, which ? self_frame : no_stack, which ? sizeof(self_frame) : sizeof(no_stack));
	memcpy(&run, &code, sizeof(run));
	pthread_barrier_wait(&all);
	run();
	return NULL;
}

/* The list of robust locks goes in a circle, and its pending one is nowhere. */
static struct robust_list_head circle = { .list = { &circle.list }, .list_op_pending = (void *)0x10 };
static struct robust_list first = { &first };
static void *of_list(void *x)
{
	circle.list.next = &first;
	syscall(SYS_set_robust_list, &circle, sizeof(circle));
	pthread_barrier_wait(&all);
	wait_for(&mutexes[0].word, mutexes[0].word);
	return x;
}

int main(void)
{
	static const struct mutex lies[] = {
		{ .word = 2, .owner = 0x3fffffff, .users = 1 }, { .word = 2, .owner = 1, .users = 1 },
		{ .word = 2, .owner = 2, .users = 1 }, { .word = 0xbfffffff, .users = 1, .kind = 16 },
		{ .word = 0x80000001, .users = 1, .kind = 16 }, { .word = 2, .owner = 0x40000001, .users = 0xffffffff, .kind = 0x3ff },
	};
	static void *(*const rest[])(void *) = { at_edge, of_polled, of_time, of_list };
	const size_t lie_count = sizeof(lies) / sizeof(lies[0]), rest_count = sizeof(rest) / sizeof(rest[0]);
	pthread_t t;

	if (pipe(ends))
		return 1;
	memcpy(mutexes, lies, sizeof(lies));
	gone[0] = pages(1);
	gone[1] = pages(1);
	pthread_barrier_init(&all, NULL, (unsigned)(lie_count + rest_count + 2 + 2 + 1));
	for (uintptr_t i = 0; i < lie_count; i++)
		pthread_create(&t, NULL, of_owner, (void *)i);
	for (size_t i = 0; i < rest_count; i++)
		pthread_create(&t, NULL, rest[i], NULL);
	for (uintptr_t i = 0; i < 2; i++) {
		pthread_create(&t, NULL, of_pair, (void *)i);
		pthread_create(&t, NULL, in_code, (void *)i);
	}
	prctl(PR_SET_NAME, "\033[2J\n\r\007\"evil");
	pthread_barrier_wait(&all);
	usleep(200000); /* the calls have their arguments by then */
	munmap(gone[0], PAGE);
	munmap(gone[1], PAGE);
	puts("ready");
	fflush(stdout);
	wait_for(&mutexes[0].word, mutexes[0].word);
}
