/* See child.h. */
#include "session/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/options.h"

static bool is_absent(const char *path)
{
	return access(path, F_OK) && (errno == ENOENT || errno == ENOTDIR);
}

/* As execvp looks for it. */
int child_look_for(const char *name, struct err *err)
{
	const char *folders = getenv("PATH");
	bool absent = true;
	struct buf path;

	if (strchr(name, '/') || !folders)
		absent = strchr(name, '/') && is_absent(name);
	else
		for (bool more = true; more && absent; folders++) {
			size_t length = strcspn(folders, ":");

			buf_init(&path);
			buf_printf(&path, "%.*s%s%s", (int)length, folders, length ? "/" : "", name);
			absent = !*name || is_absent(buf_str(&path));
			buf_done(&path);
			folders += length;
			more = *folders;
		}
	return absent ? err_sys(err, -ENOENT, "starting '%s'", name) : 0;
}

/* Under sudo the command is the invoking user's, not root's. */
static int become_invoker(void)
{
	const char *uid_text = getenv("SUDO_UID"), *gid_text = getenv("SUDO_GID");
	uint64_t uid, gid;
	struct passwd *user;

	if (geteuid() || !uid_text || !gid_text || parse_number(uid_text, &uid) || parse_number(gid_text, &gid) ||
	    !uid || uid >= UINT32_MAX || gid >= UINT32_MAX)
		return 0;
	user = getpwuid((uid_t)uid);
	if (user ? initgroups(user->pw_name, (gid_t)gid) : setgroups(0, NULL))
		return -errno;
	if (setgid((gid_t)gid) || setuid((uid_t)uid))
		return -errno;
	if (user) {
		setenv("HOME", user->pw_dir, 1);
		setenv("USER", user->pw_name, 1);
		setenv("LOGNAME", user->pw_name, 1);
	}
	return 0;
}

static _Noreturn void run_child(const char *const *words, int go, int failed, const sigset_t *mask)
{
	char byte;
	ssize_t n;
	int error;

	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	/* the recorder is gone before it could let us go */
	if (n != 1)
		_exit(STATUS_NOT_EXECUTABLE);
	error = -become_invoker();
	if (!error) {
		sigprocmask(SIG_SETMASK, mask, NULL);
		execvp(words[0], (char *const *)words);
		error = errno;
	}
	if (write(failed, &error, sizeof(error)) < 0)
		_exit(STATUS_NOT_EXECUTABLE);
	_exit(error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
}

int child_start(const char *const *words, const sigset_t *mask, struct child *ret_child, struct err *err)
{
	int go[2], failed[2];
	pid_t pid;

	if (pipe2(go, O_CLOEXEC))
		return err_sys(err, -errno, "starting the command");
	if (pipe2(failed, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return err_sys(err, -errno, "starting the command");
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		run_child(words, go[0], failed[1], mask);
	}
	close(go[0]);
	close(failed[1]);
	if (pid < 0) {
		close(go[1]);
		close(failed[0]);
		return err_sys(err, -errno, "starting the command");
	}
	*ret_child = (struct child){ pid, go[1], failed[0] };
	return 0;
}

int child_go(struct child *child, const char *name, struct err *err)
{
	int error = 0;
	ssize_t n;

	if (write(child->go, "", 1) < 0)
		return err_sys(err, -errno, "starting '%s'", name);
	do
		n = read(child->failed, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(error))
		return 0;
	return err_sys(err, error ? -error : -EIO, "starting '%s'", name);
}

void child_drop(struct child *child)
{
	if (child->pid <= 0)
		return;
	close(child->go);
	close(child->failed);
}

void child_kill(struct child *child)
{
	if (child->pid <= 0)
		return;
	kill(child->pid, SIGKILL);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	child->pid = 0;
}
