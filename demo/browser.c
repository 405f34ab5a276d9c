/* The demo's browser. For each key it tells the renderer, asks it for the
 * bounding box of the text, and waits for the answer, at most 1,500 ms. Paint
 * requests of the renderer are served by its main loop, thus not while it waits:
 * that is the mistake which the demo is about. */
#include "socket.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define BOX_TIMEOUT_MS 1500

static int keys, box, render;

static __attribute__((noinline)) int wait_for_bounding_box(uint32_t number)
{
	struct message answer;

	message_send(box, MESSAGE_BOX, number);
	/* An answer to an earlier question, one that was given up, is passed over. */
	while (message_receive(box, BOX_TIMEOUT_MS, &answer))
		if (answer.number == number)
			return 1;
	return 0;
}

static __attribute__((noinline)) void handle_key(void)
{
	struct message key;

	if (!message_receive(keys, -1, &key))
		return;
	message_send(render, MESSAGE_KEY, key.number);
	printf("key %u: %s\n", key.number, wait_for_bounding_box(key.number) ? "shown at once" : "no answer, given up after 1.5 s");
	fflush(stdout);
	message_send(keys, MESSAGE_DONE, key.number);
}

static __attribute__((noinline)) void serve_render_request(void)
{
	struct message request;

	if (message_receive(render, -1, &request))
		message_send(render, MESSAGE_DONE, request.number);
}

int main(int argc, char **argv)
{
	(void)argc;
	keys = argument_number(argv, 1);
	box = argument_number(argv, 2);
	render = argument_number(argv, 3);
	for (;;) {
		struct pollfd sources[] = { { .fd = render, .events = POLLIN }, { .fd = keys, .events = POLLIN } };

		if (poll(sources, 2, -1) < 0)
			return 1;
		if (sources[0].revents)
			serve_render_request();
		else
			handle_key();
	}
}
