/* Memory whose places live/watch_places.sh knows: threads' own variables and what processes share.
 *
 *	watch_places own         prints each thread's number and where its `own` lies; another thread comes with each line
 *	watch_places shared FILE maps FILE in this process and a child, each elsewhere, and prints where
 *	watch_places counts      has variables with names to be mistaken */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

_Thread_local char before_own[3];
_Thread_local volatile int own = 40;
static _Thread_local _Alignas(64) volatile long aligned = 41;
volatile unsigned long counter;
volatile int *cell;

static void tell(const char *name, const volatile void *at)
{
	printf("%s %ld %p\n", name, (long)syscall(SYS_gettid), (const void *)at);
	fflush(stdout);
}

static void *stay(void *data)
{
	before_own[0] = 1;
	tell("own", &own);
	tell("aligned", &aligned);
	pause();
	return data;
}

static void own_ones(void)
{
	pthread_t thread;
	char line[16];

	tell("own", &own);
	tell("aligned", &aligned);
	pthread_create(&thread, NULL, stay, NULL);
	while (fgets(line, sizeof(line), stdin))
		pthread_create(&thread, NULL, stay, NULL);
}

static void map_cells(const char *path)
{
	int fd = open(path, O_RDWR);

	cell = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (cell == MAP_FAILED)
		exit(1);
	cell += 1030;
	tell("cell", cell);
}

static void share(const char *path)
{
	int child = fork();
	char line[16];

	if (child < 0)
		exit(1);
	if (!child) {
		/* elsewhere than the parent has it */
		if (mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			_exit(1);
		map_cells(path);
		pause();
	}
	map_cells(path);
	while (fgets(line, sizeof(line), stdin))
		;
	kill(child, 9);
	waitpid(child, NULL, 0);
}

int main(int count, char **words)
{
	char line[16];

	if (count == 2 && !strcmp(words[1], "own"))
		own_ones();
	else if (count == 3 && !strcmp(words[1], "shared"))
		share(words[2]);
	else if (count == 2 && fgets(line, sizeof(line), stdin))
		counter++;
	return 0;
}
