/* The file of corrections beside a trace: any file is taken or refused in words, what is
 * taken is laid over the trace or refused, and what was laid over can be taken back. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "fuzz_session.h"
#include "session/knowledge.h"
#include "session/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct session session;
	struct knowledge knowledge = { 0 };
	struct err err = { 0 };
	char path[64];
	int fd = memfd_create("knowledge", MFD_CLOEXEC), r;

	if (!session.trace && session_open(fuzz_session_path(), &session, &err))
		__builtin_trap();
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		__builtin_trap();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = knowledge_read(&knowledge, path, &err);
	if (!r)
		r = knowledge_apply(&knowledge, session.scene, &err);
	if (r && !err.text[0])
		__builtin_trap();
	while (knowledge.statements.length)
		knowledge_undo(&knowledge, &err);
	if (knowledge_apply(&knowledge, session.scene, &err))
		__builtin_trap();
	knowledge_done(&knowledge);
	close(fd);
	return 0;
}
