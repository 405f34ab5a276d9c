/* Messages between the demo's processes. */
#include "socket.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

void message_send(int fd, char kind, uint32_t number)
{
	struct message message = { .number = number, .kind = kind };

	if (send(fd, &message, sizeof(message), MSG_NOSIGNAL) != sizeof(message))
		exit(0); /* the others have ended, and so does this one */
}

int message_receive(int fd, int timeout_ms, struct message *ret_message)
{
	struct pollfd set = { .fd = fd, .events = POLLIN };
	int ready = poll(&set, 1, timeout_ms);

	if (ready == 0)
		return 0;
	if (ready < 0 || recv(fd, ret_message, sizeof(*ret_message), 0) != sizeof(*ret_message))
		exit(0);
	return 1;
}

int argument_number(char **argv, int index)
{
	if (!argv[index]) {
		fprintf(stderr, "%s: started by argus-demo, not by hand\n", argv[0]);
		exit(2);
	}
	return atoi(argv[index]);
}
