/* Makes system calls from ever new places: each call's stack is another way down a
 * binary tree of calls, so a recorder of stacks is told of new ones without end. */
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEPTH 24

static __attribute__((noinline)) void go(uint32_t way, int depth)
{
	if (depth == DEPTH)
		syscall(SYS_getppid);
	else if (way >> depth & 1)
		go(way, depth + 1);
	else
		go(way, depth + 1);
	/* no tail call, and no way of telling the two calls apart but by where they return */
	__asm__ volatile("");
}

int main(void)
{
	for (uint32_t way = 1;; way = way * 1664525u + 1013904223u)
		go(way >> 8, 0);
}
