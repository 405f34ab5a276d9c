/* One-byte-kind, one-number messages between the demo's processes, over Unix
 * sockets that were inherited. */
#ifndef DEMO_SOCKET_H
#define DEMO_SOCKET_H

#include <stdint.h>

struct message {
	uint32_t number;         /* of the input that it belongs to */
	char kind;               /* KEY, BOX, RENDER or their answers */
	char padding[3];
};

enum { MESSAGE_KEY = 'k', MESSAGE_BOX = 'b', MESSAGE_RENDER = 'r', MESSAGE_DONE = 'd' };

void message_send(int fd, char kind, uint32_t number);
/* 1 and a message; 0 when the time (ms, -1 none) is over. The program ends when
 * the other side has closed. */
int message_receive(int fd, int timeout_ms, struct message *ret_message);
int argument_number(char **argv, int index);

#endif
