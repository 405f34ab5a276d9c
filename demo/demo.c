/* The demo's person: starts the browser and the renderer, joined by sockets, and
 * types. After half of the keys the text is long, and each key hangs.
 *     argus-demo [KEYS [NORMAL]]     types KEYS (8), the first NORMAL (4) go well */
#include "socket.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void start(const char *self, const char *name, const int *fds, int count, const char *last)
{
	char path[4096], numbers[3][16];
	char *arguments[6] = { path };
	const char *slash = strrchr(self, '/');
	int n = 0;

	snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash - self + 1) : 0, self, name);
	if (fork() != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (n = 0; n < count; n++) {
		fcntl(fds[n], F_SETFD, 0);
		snprintf(numbers[n], sizeof(numbers[n]), "%d", fds[n]);
		arguments[n + 1] = numbers[n];
	}
	if (last)
		arguments[n + 1] = (char *)last;
	execv(path, arguments);
	perror(path);
	_exit(127);
}

static int pair(int *ret_ends)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_ends);
}

int main(int argc, char **argv)
{
	uint32_t count = argc > 1 ? (uint32_t)atoi(argv[1]) : 8;
	const char *normal = argc > 2 ? argv[2] : "4";
	int keys[2], box[2], render[2];

	if (pair(keys) || pair(box) || pair(render)) {
		perror(argv[0]);
		return 1;
	}
	start(argv[0], "demo-browser", (int[]){ keys[1], box[0], render[0] }, 3, NULL);
	start(argv[0], "demo-renderer", (int[]){ box[1], render[1] }, 2, normal);
	close(keys[1]);
	for (int i = 0; i < 2; i++) {
		close(box[i]);
		close(render[i]);
	}
	for (uint32_t number = 1; number <= count; number++) {
		struct message answer;

		/* A person's pace between two keys; nothing waits on it. */
		nanosleep(&(struct timespec){ .tv_nsec = 150000000 }, NULL);
		message_send(keys[0], MESSAGE_KEY, number);
		message_receive(keys[0], -1, &answer);
	}
	return 0;
}
