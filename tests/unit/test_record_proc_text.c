/* What /proc says of threads and descriptors, and sock_diag of this process's own sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/proc_sockets.h"
#include "record/proc_text.h"

static void names_do_not_end_what_stands_behind_them(void **unused)
{
	static const char status[] = "Name:\ta) R 1\nUid:\t33\t33\t33\t33\nVmSize:\t 1 kB\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t2\n";
	static const char stat[] = "12 (a) R 1) S 3 12 12 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 500 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 17 3 0 0\n";
	struct task_found found;
	struct proc_thread more;

	(void)unused;
	assert_true(proc_text_thread(status, stat, 100, &found, &more));
	assert_int_equal(found.waiting.state, TASK_STATE_sleeping);
	assert_int_equal(found.task.parent, 3);
	assert_int_equal(found.task.uid, 33);
	assert_int_equal(found.task.start_ns, 5000000000);
	assert_int_equal(found.task.flags, 0);
	assert_string_equal(found.comm, "a) R 1");
	assert_int_equal(more.switches, 9);
	assert_int_equal(more.processor, 3);
	assert_true(proc_text_thread("Name:\ta\\nb\\\\nc\\d-and-more\nUid:\t0\n", stat, 100, &found, &more));
	assert_string_equal(found.comm, "a\nb\\nc\\d-and-mo");
	assert_false(proc_text_thread(status, "12 (a", 100, &found, &more));
	assert_false(proc_text_thread("", "", 100, &found, &more));
}

static void calls_are_told_from_running(void **unused)
{
	struct proc_call call;

	(void)unused;
	assert_true(proc_text_call("202 0x7f00 0x80 0x2 0x0 0x0 0x0 0x7ffe 0x7f12\n", &call));
	assert_int_equal(call.number, 202);
	assert_int_equal(call.words[0], 0x7f00);
	assert_int_equal(call.words[2], 2);
	assert_int_equal(call.sp, 0x7ffe);
	assert_int_equal(call.ip, 0x7f12);
	assert_true(proc_text_call("-1 0x7ffe 0x7f12\n", &call));
	assert_int_equal(call.number, -1);
	assert_int_equal(call.sp, 0x7ffe);
	assert_int_equal(call.words[0], 0);
	assert_false(proc_text_call("running\n", &call));
	assert_false(proc_text_call("", &call));
}

static void a_controller_has_its_group(void **unused)
{
	char first[] = "7:cpuacct,cpu:/a/b\n6:freezer:/c\n0::/d\n", second[] = "7:cpuacct:/a\n0::/d\n", third[] = "7:cpuset:/a\n8\n:\n";

	(void)unused;
	assert_string_equal(proc_text_group(first, "cpu"), "/a/b");
	assert_string_equal(proc_text_group(second, "cpu"), "/d");
	assert_null(proc_text_group(third, "cpu"));
}

static void the_kernels_functions_stand_one_a_line(void **unused)
{
	struct proc_function functions[PROC_FUNCTIONS_MOST];
	char many[16 * PROC_FUNCTIONS_MOST], *at = many;

	(void)unused;
	assert_int_equal(proc_text_stack("[<0>] futex_wait_queue+0x60/0x90\n[<0>] 0xffffffffc0\n[<0>] ext4_x+0x1/0x2 [ext4]\n", functions), 2);
	assert_int_equal(functions[0].length, strlen("futex_wait_queue"));
	assert_memory_equal(functions[1].name, "ext4_x", functions[1].length);
	assert_int_equal(proc_text_stack("do_wait", functions), 1);
	assert_int_equal(functions[0].length, 7);
	assert_int_equal(proc_text_stack("0", functions), 0);
	assert_int_equal(proc_text_stack("", functions), 0);
	assert_int_equal(proc_text_stack("[\n[<\n[ \n\n+\n", functions), 0);
	for (unsigned i = 0; i < PROC_FUNCTIONS_MOST + 5; i++)
		at = stpcpy(at, "[<0>] f+1\n");
	assert_int_equal(proc_text_stack(many, functions), PROC_FUNCTIONS_MOST);
}

static void an_epoll_set_tells_what_it_watches(void **unused)
{
	static struct proc_fdinfo info;

	(void)unused;
	proc_text_fdinfo("pos:\t0\nflags:\t02000002\nPid:\t77\ntfd:        4 events:       19 data:\n"
			 "tfd:        9 events: 80000001 data:\ntfd: x", &info);
	assert_int_equal(info.flags & 3, 2);
	assert_int_equal(info.awaited, 77);
	assert_int_equal(info.watched, 2);
	assert_int_equal(info.items[1].fd, 9);
	assert_int_equal(info.items[1].events, 0x80000001);
	assert_string_equal(info.lock, "");
	proc_text_fdinfo("lock:\t1: POSIX  ADVISORY  WRITE 5 fe:01:2 0 EOF\nlock:\t2: OFDLCK ADVISORY  READ -1 fe:01:2 0 EOF\nflags:\t01\n", &info);
	assert_string_equal(info.lock, "2: OFDLCK ADVISORY  READ -1 fe:01:2 0 EOF\n");
	assert_int_equal(info.flags, 1);
	proc_text_fdinfo("pos:\t0\nfuse_connection:\t40\n", &info);
	assert_int_equal(info.fuse, 40);
	proc_text_fdinfo("Pid:\t-1\n", &info);
	assert_int_equal(info.awaited, 0);
}

static uint64_t inode_of(int fd)
{
	struct stat info;

	assert_int_equal(fstat(fd, &info), 0);
	return info.st_ino;
}

static void mounts_tell_which_user_space_file_system(void **unused)
{
	static const char mounts[] = "21 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
		"60 21 0:39 / /mnt/a rw - fuse hangs rw\n"
		"61 21 0:40 / /mnt/a/with\\040space rw shared:2 - fuse.sshfs host: rw\n"
		"62 21 0:41 / /sys/fs/fuse/connections rw - fusectl none rw\n"
		"63 21 0:42 / /mnt/a/plain rw - tmpfs none rw\nnot a mount\n64 21 - fuse\n";
	char text[sizeof(mounts)];

	(void)unused;
#define MOUNT(path) (memcpy(text, mounts, sizeof(text)), proc_text_fuse_mount(text, path))
	assert_int_equal(MOUNT("/mnt/a/file"), 39);
	assert_int_equal(MOUNT("/mnt/a"), 39);
	assert_int_equal(MOUNT("/mnt/a/with space/x"), 40);
	assert_int_equal(MOUNT("/mnt/a/plain/x"), 0);
	assert_int_equal(MOUNT("/mnt/ab"), 0);
	assert_int_equal(MOUNT("/sys/fs/fuse/connections/39"), 0);
	assert_int_equal(MOUNT(""), 0); /* two */
	memcpy(text, mounts, sizeof(text));
	*strstr(text, "61 21") = 0;
	assert_int_equal(proc_text_fuse_mount(text, ""), 39);
	text[0] = 0;
	assert_int_equal(proc_text_fuse_mount(text, "/mnt"), 0);
}

static void sockets_know_their_other_ends(void **unused)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = "\0argus-test" };
	const struct proc_socket *one, *other;
	struct proc_sockets *sockets;
	int pair[2], listener = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(sa_family_t) + 11), 0);
	assert_int_equal(listen(listener, 1), 0);
	sockets = proc_sockets_read();
	one = proc_sockets_find(sockets, inode_of(pair[0]));
	if (!one) {
		print_message("this kernel has no unix_diag\n");
		proc_sockets_free(sockets);
		skip();
	}
	other = proc_sockets_find(sockets, inode_of(pair[1]));
	assert_non_null(other);
	assert_int_equal(one->peer, other->inode);
	assert_int_equal(one->kind, OBJECT_KIND_unix_stream);
	other = proc_sockets_find(sockets, inode_of(listener));
	assert_non_null(other);
	assert_int_equal(other->state, 10);
	assert_string_equal(other->text, "@argus-test");
	proc_sockets_free(sockets);
	close(pair[0]);
	close(pair[1]);
	close(listener);
}

static void test_restarted_calls(void **state)
{
	(void)state;
	assert_int_equal(proc_text_restarted("poll_schedule_timeout.constprop.0"), 7);
	assert_int_equal(proc_text_restarted("futex_wait_queue"), 202);
	assert_int_equal(proc_text_restarted("hrtimer_nanosleep"), 230);
	assert_int_equal(proc_text_restarted("0"), PROC_CALL_RESTART);
	assert_int_equal(proc_text_restarted(""), PROC_CALL_RESTART);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_do_not_end_what_stands_behind_them),
		cmocka_unit_test(calls_are_told_from_running), cmocka_unit_test(a_controller_has_its_group),
		cmocka_unit_test(the_kernels_functions_stand_one_a_line),
		cmocka_unit_test(an_epoll_set_tells_what_it_watches),
		cmocka_unit_test(mounts_tell_which_user_space_file_system),
		cmocka_unit_test(sockets_know_their_other_ends),
		cmocka_unit_test(test_restarted_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
