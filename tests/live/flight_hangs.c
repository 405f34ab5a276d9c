/* A client and a server over a socket pair, for the flight recorder's triggers.
 *
 * flight_hangs serve REQUESTS    all are answered at once
 * flight_hangs unread REQUESTS   then one more, which lies unread for 8 s
 * flight_hangs blocked           the client waits uninterruptibly for 8 s
 *
 * Writes "pid PID" of the client at first, "hangs" when the hang begins. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define HANG_S 8

static int serve(int fd, int requests)
{
	char byte;

	for (int i = 0; i < requests; i++)
		if (read(fd, &byte, 1) != 1 || write(fd, &byte, 1) != 1)
			return 1;
	sleep(HANG_S);
	return read(fd, &byte, 1) == 1 && write(fd, &byte, 1) == 1 ? 0 : 1;
}

static void say(const char *what)
{
	puts(what);
	fflush(stdout);
}

int main(int count, char **words)
{
	int requests = count > 2 ? atoi(words[2]) : 0, ends[2];
	bool hangs = count > 1 && !strcmp(words[1], "unread");
	char byte = 'x';

	printf("pid %d\n", (int)getpid());
	fflush(stdout);
	if (count > 1 && !strcmp(words[1], "blocked")) {
		say("hangs");
		/* a parent waits in one uninterruptible sleep until its child has ended */
		if (vfork() == 0) {
			sleep(HANG_S);
			_exit(0);
		}
		return 0;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	if (fork() == 0) {
		close(ends[0]);
		_exit(serve(ends[1], requests));
	}
	close(ends[1]);
	for (int i = 0; i < requests; i++) {
		if (write(ends[0], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
			return 1;
		usleep(20000);
	}
	if (!hangs)
		return 0;
	say("hangs");
	if (write(ends[0], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
		return 1;
	wait(NULL);
	return 0;
}
