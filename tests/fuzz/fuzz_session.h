/* A small trace for targets that need a session: two processes, messages, a hang. */
#ifndef FUZZ_SESSION_H
#define FUZZ_SESSION_H

#include "../unit/text_trace.h"

/* Path of the trace, written at the first call and removed at the program's end. */
static inline const char *fuzz_session_path(void);

static char fuzz_session_directory[] = "/tmp/argus-fuzz-XXXXXX", fuzz_session_file[64];

static void fuzz_session_remove(void)
{
	unlink(fuzz_session_file);
	rmdir(fuzz_session_directory);
}

static inline const char *fuzz_session_path(void)
{
	static const char text[] =
		"1 [0] 10 task pid=10 flags=leader \"client\"\n"
		"1 [0] 20 task pid=20 flags=leader \"server\"\n"
		"1 [0] 21 task pid=20 \"worker\"\n"
		"1.0 [0] 0 switch next=20\n"
		"1.001 [0] 20 switch next=21 state=sleeping wait=epoll object=epoll:1 syscall=epoll_wait\n"
		"1.002 [0] 21 switch next=10 state=sleeping wait=futex object=futex:1 syscall=futex\n"
		"1.1 [0] 10 message object=unix_stream:1 channel=0x1 bytes=5 result=5 peer=20 kind=unix_stream number=write\n"
		"1.11 [0] 10 wake target=20 syscall=write context=softirq cause=own_send object=unix_stream:1\n"
		"1.12 [0] 10 switch next=20 state=sleeping wait=read object=unix_stream:1 syscall=read\n"
		"1.13 [0] 20 wake target=21 syscall=futex cause=thread object=futex:1\n"
		"1.14 [0] 20 wake target=10 syscall=write context=softirq cause=own_send object=unix_stream:2\n"
		"1.15 [0] 20 switch next=10 state=sleeping wait=epoll object=epoll:1 syscall=epoll_wait\n"
		"1.2 [0] 10 wake target=20 syscall=write context=softirq cause=own_send object=unix_stream:1\n"
		"1.21 [0] 10 switch next=20 state=sleeping wait=read object=unix_stream:1 syscall=read\n"
		"1.22 [0] 20 switch next=21 state=sleeping wait=epoll object=epoll:1 syscall=epoll_wait\n"
		"1.23 [0] 0 mark \"frozen\"\n"
		"6 [0] 21 switch next=0 state=sleeping wait=futex object=futex:1 syscall=futex\n";

	if (!fuzz_session_file[0]) {
		if (!mkdtemp(fuzz_session_directory))
			abort();
		snprintf(fuzz_session_file, sizeof(fuzz_session_file), "%s/trace", fuzz_session_directory);
		text_trace_write(text, fuzz_session_file);
		atexit(fuzz_session_remove);
	}
	return fuzz_session_file;
}

#endif
