/* Does one of each thing that the full level records besides plain messages:
 * timers, queues, semaphores, io_uring, splice, passed descriptors, terminals,
 * a watched file, the end of a process, signals. */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIMES 5 /* that timers fire: there are kernels that tell nothing of interrupts while threads of the first process run */

static void check(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static void ignore(int number)
{
	(void)number;
}

static void timers(void)
{
	struct itimerspec soon = { .it_value.tv_nsec = 3000000 };
	struct itimerval interval = { .it_value.tv_usec = 3000 };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	sigset_t both;
	uint64_t count;
	timer_t id;
	int fd = timerfd_create(CLOCK_MONOTONIC, 0), number;

	sigemptyset(&both);
	sigaddset(&both, SIGALRM);
	sigaddset(&both, SIGUSR1);
	sigprocmask(SIG_BLOCK, &both, NULL);
	check(!timerfd_settime(fd, 0, &soon, NULL) && read(fd, &count, 8) == 8, "timerfd");
	check(!timer_create(CLOCK_MONOTONIC, &event, &id) && !timer_settime(id, 0, &soon, NULL), "timer");
	sigwait(&both, &number);
	check(!setitimer(ITIMER_REAL, &interval, NULL), "setitimer");
	sigwait(&both, &number);
	alarm(60);
	alarm(0);
	close(fd);
}

static void queues(void)
{
	struct { long type; char text[24]; } message = { 1, "" };
	struct sembuf up = { 0, 1, 0 }, down = { 0, -1, 0 };
	struct mq_attr attr = { .mq_maxmsg = 4, .mq_msgsize = 64 };
	char name[32], text[64];
	int queue = msgget(IPC_PRIVATE, 0600), set = semget(IPC_PRIVATE, 1, 0600);
	mqd_t mq;

	check(!msgsnd(queue, &message, 24, 0) && msgrcv(queue, &message, 24, 0, 0) == 24, "msgsnd");
	msgctl(queue, IPC_RMID, NULL);
	check(!semop(set, &up, 1) && !semop(set, &down, 1), "semop");
	semctl(set, 0, IPC_RMID);
	snprintf(name, sizeof(name), "/argus-%d", (int)getpid());
	mq = mq_open(name, O_RDWR | O_CREAT, 0600, &attr);
	check(mq >= 0 && !mq_send(mq, "hello", 5, 0) && mq_receive(mq, text, sizeof(text), NULL) == 5, "mq");
	mq_close(mq);
	mq_unlink(name);
}

/* One no-op through an io_uring, by the system calls alone. */
static void uring(void)
{
	struct io_uring_params params = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 4, &params);
	struct io_uring_sqe *entries;
	unsigned *tail, *array;
	char *ring;

	if (fd < 0)
		return; /* switched off on this machine */
	ring = mmap(NULL, params.sq_off.array + params.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
	entries = mmap(NULL, params.sq_entries * sizeof(*entries), PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
	check(ring != MAP_FAILED && entries != MAP_FAILED, "io_uring");
	tail = (unsigned *)(ring + params.sq_off.tail);
	array = (unsigned *)(ring + params.sq_off.array);
	entries[0] = (struct io_uring_sqe){ .opcode = IORING_OP_NOP, .user_data = 0x1234 };
	array[0] = 0;
	__atomic_store_n(tail, 1, __ATOMIC_RELEASE);
	check(syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1, "io_uring_enter");
	printf("uring\n");
	close(fd);
}

static void two_ended(void)
{
	char page[4096] = "x";
	struct iovec part = { page, 100 };
	int first[2], second[2], file = open("two_ended.tmp", O_RDWR | O_CREAT | O_TRUNC, 0600);

	check(!pipe(first) && !pipe(second) && file >= 0, "pipe");
	check(write(file, page, 300) == 300 && lseek(file, 0, SEEK_SET) == 0, "write");
	check(vmsplice(first[1], &part, 1, 0) == 100, "vmsplice");
	check(tee(first[0], second[1], 100, 0) == 100, "tee");
	check(splice(first[0], NULL, second[1], NULL, 100, 0) == 100, "splice");
	check(read(second[0], page, 200) == 200, "read");
	check(sendfile(second[1], file, NULL, 300) == 300 && read(second[0], page, 300) == 300, "sendfile");
	unlink("two_ended.tmp");
}

static void packets(void)
{
	char text[8192] = "";
	int ends[2];

	check(!pipe2(ends, O_DIRECT), "pipe2");
	check(write(ends[1], text, 10) == 10 && write(ends[1], text, 21) == 21 && write(ends[1], text, 5000) == 5000, "write");
	/* what is left of a packet is gone; more than a page makes two */
	check(read(ends[0], text, 4) == 4 && read(ends[0], text, 8192) == 21, "read");
	check(read(ends[0], text, 8192) == 4096 && read(ends[0], text, 8192) == 904, "read");
	check(!fcntl(ends[1], F_SETFL, 0) && write(ends[1], text, 22) == 22 && read(ends[0], text, 22) == 22, "fcntl");
	close(ends[0]);
	close(ends[1]);
}

static void descriptors(void)
{
	char room[CMSG_SPACE(sizeof(int))] = "", byte = 'x';
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
	struct mmsghdr several[3];
	struct cmsghdr *control = CMSG_FIRSTHDR(&message);
	int ends[2], zero = 0;

	check(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(control), &zero, sizeof(zero));
	check(sendmsg(ends[0], &message, 0) == 1 && recvmsg(ends[1], &message, 0) == 1, "sendmsg");
	check(!socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), "socketpair");
	memset(several, 0, sizeof(several));
	for (int i = 0; i < 3; i++) {
		several[i].msg_hdr.msg_iov = &part;
		several[i].msg_hdr.msg_iovlen = 1;
	}
	check(sendmmsg(ends[0], several, 3, 0) == 3 && recvmmsg(ends[1], several, 3, 0, NULL) == 3, "sendmmsg");
}

static void terminal(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
	char text[16];

	check(master >= 0 && !grantpt(master) && !unlockpt(master), "openpt");
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	check(write(master, "hi\n", 3) == 3 && read(slave, text, sizeof(text)) == 3, "terminal");
	close(slave);
	close(master);
}

static void watched(void)
{
	char events[4096];
	int watcher = inotify_init(), file;

	check(inotify_add_watch(watcher, ".", IN_MODIFY | IN_CREATE | IN_MOVE | IN_DELETE) >= 0, "inotify");
	file = open("watched.tmp", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	check(write(file, "x", 1) == 1 && read(watcher, events, sizeof(events)) > 0, "watch");
	close(file);
	check(rename("watched.tmp", "./renamed.tmp") == 0 && read(watcher, events, sizeof(events)) > 0, "rename");
	unlink("renamed.tmp");
	check(read(watcher, events, sizeof(events)) > 0, "unlink");
	close(watcher);
}

static void watched_by_fanotify(void)
{
	char events[4096];
	int watcher = fanotify_init(FAN_CLASS_NOTIF, O_RDONLY), file = open("fanotify.tmp", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (watcher < 0)
		return;
	printf("fanotify\n");
	check(!fanotify_mark(watcher, FAN_MARK_ADD, FAN_MODIFY, AT_FDCWD, "fanotify.tmp"), "fanotify_mark");
	check(write(file, "x", 1) == 1 && read(watcher, events, sizeof(events)) > 0, "fanotify");
	close(file);
	close(watcher);
	unlink("fanotify.tmp");
}

/* A child that waits to be told to end; who waits for its end sleeps first. */
static void process(void)
{
	int child = fork(), end;
	struct pollfd wait = { .events = POLLIN };

	if (!child)
		for (;;)
			pause();
	wait.fd = (int)syscall(SYS_pidfd_open, child, 0);
	check(wait.fd >= 0, "pidfd_open");
	check(poll(&wait, 1, 20) == 0, "poll");
	check(!syscall(SYS_pidfd_send_signal, wait.fd, SIGTERM, NULL, 0), "pidfd_send_signal");
	check(poll(&wait, 1, -1) == 1 && waitpid(child, &end, 0) == child, "pidfd");
	close(wait.fd);
}

static void signals(void)
{
	signal(SIGUSR2, ignore);
	check(!kill(getpid(), SIGUSR2), "kill");
}

int main(void)
{
	signal(SIGPIPE, ignore);
	for (int i = 0; i < TIMES; i++)
		timers();
	queues();
	uring();
	two_ended();
	packets();
	descriptors();
	terminal();
	watched();
	watched_by_fanotify();
	process();
	signals();
	return 0;
}
