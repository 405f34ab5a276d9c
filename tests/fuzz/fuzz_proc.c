/* Texts of /proc and answers of sock_diag, in which stand names that processes give
 * themselves: whatever comes, nothing behind its end is read and nothing is taken for more
 * than it is. The first byte says whose the rest is; NULs part the texts. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/proc_sockets.h"
#include "record/proc_text.h"
#include "record/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take_lock(struct state_sink *sink, uint32_t tid, enum event_type type, const void *payload, const char *tail,
		     uint32_t tail_length, struct err *err)
{
	(void)sink;
	(void)tid;
	(void)tail;
	(void)err;
	if (type != EVENT_lock_held || tail_length || object_kind(((const struct event_lock_held *)payload)->object) != OBJECT_KIND_file)
		__builtin_trap();
	return 0;
}

static void check_thread(const char *status, const char *stat)
{
	struct task_found found;
	struct proc_thread more;

	if (proc_text_thread(status, stat, 100, &found, &more) && (memchr(found.comm, 0, sizeof(found.comm)) == NULL || found.waiting.wait))
		__builtin_trap();
}

static void check_fdinfo(const char *text)
{
	static struct proc_fdinfo info;

	proc_text_fdinfo(text, &info);
	if (info.watched > PROC_WATCHED_MOST)
		__builtin_trap();
}

static void check_sockets(const uint8_t *data, size_t size)
{
	struct proc_sockets *sockets = proc_sockets_new();
	void *block = malloc(size ? size : 1); /* of its length exactly */

	memcpy(block, data, size);
	proc_sockets_take(sockets, block, size);
	proc_sockets_join(sockets);
	for (uint64_t inode = 0; inode < 64; inode++) {
		const struct proc_socket *socket = proc_sockets_find(sockets, inode);

		if (socket && (socket->inode != inode || !memchr(socket->text, 0, sizeof(socket->text))))
			__builtin_trap();
	}
	proc_sockets_free(sockets);
	free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct state_sink sink = { take_lock };
	struct proc_function functions[PROC_FUNCTIONS_MOST];
	struct proc_call call;
	uint64_t run, queued;
	char *text, *second;

	if (!size)
		return 0;
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	second = strlen(text) + 1 < size ? text + strlen(text) + 1 : text;
	switch (data[0] % 8) {
	case 0: check_thread(text, second); break;
	case 1: check_fdinfo(text); break;
	case 2: proc_text_call(text, &call); break;
	case 3: proc_text_times(text, &run, &queued); break;
	case 4: state_parse_locks(text, 0, &sink, NULL); break;
	case 5: check_sockets(data + 1, size - 1); break;
	case 7: proc_text_group(text, "cpu"); break;
	case 6: proc_text_stack(text, functions); break;
	}
	free(text);
	return 0;
}
