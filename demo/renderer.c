/* The demo's renderer. At each key it answers the browser's question for the
 * bounding box and has the browser paint. Once the text is long it paints first,
 * and waits for that, while the browser already waits for the box: each waits for
 * the other until the browser gives up; and at the next key again. */
#include "socket.h"

#include <stdlib.h>

static int box, render;

static __attribute__((noinline)) void request_render(uint32_t number)
{
	struct message answer;

	message_send(render, MESSAGE_RENDER, number);
	do
		message_receive(render, -1, &answer);
	while (answer.kind != MESSAGE_DONE);
}

static __attribute__((noinline)) void answer_bounding_box(void)
{
	struct message question;

	message_receive(box, -1, &question);
	message_send(box, MESSAGE_DONE, question.number);
}

int main(int argc, char **argv)
{
	uint32_t long_text;

	(void)argc;
	box = argument_number(argv, 1);
	render = argument_number(argv, 2);
	long_text = (uint32_t)argument_number(argv, 3);
	for (;;) {
		struct message key;

		message_receive(render, -1, &key);
		if (key.number > long_text) {
			request_render(key.number);
			answer_bounding_box();
		} else {
			answer_bounding_box();
			request_render(key.number);
		}
	}
}
