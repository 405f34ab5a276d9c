/* See steps.h. */
#ifdef HAVE_BPF
#include "record/steps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/vec.h"
#include "record/links.h"
#include "record/proc_text.h"

struct steps {
	struct step_wish *wish;     /* shared with the program */
	struct vec(struct attachment) links; /* all places of a file at once, or one by one */
};

static int attach_all(int program, const struct step_wishes *wishes, const struct step_file *file, struct steps *steps, struct err *err)
{
	struct attachment attachment;
	int r = links_uprobe_multi(program, &(struct uprobe_places){ file->path, file->offsets, file->cookies, file->count,
								     (pid_t)wishes->wish.pid, false }, &attachment);

	if (r)
		return err_sys(err, r, "attaching to %zu places of %s", file->count, file->path);
	vec_push(&steps->links, attachment);
	return 0;
}

static int attach_each(struct bpf_program *program, const struct step_wishes *wishes, const struct step_file *file, struct steps *steps,
		       struct err *err)
{
	pid_t pid = wishes->wish.pid ? (pid_t)wishes->wish.pid : -1;

	for (size_t i = 0; i < file->count; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = file->cookies[i]);
		struct bpf_link *link = bpf_program__attach_uprobe_opts(program, pid, file->path, file->offsets[i], &options);

		if (!link)
			return err_sys(err, -errno, "attaching to offset 0x%llx of %s", (unsigned long long)file->offsets[i], file->path);
		vec_push(&steps->links, ((struct attachment){ link, -1 }));
	}
	return 0;
}

int steps_attach(const struct programs *programs, const struct step_wishes *wishes, struct steps **ret_steps, struct err *err)
{
	struct bpf_program *program = programs_find(programs, "on_step");
	int map = programs_map(programs, "step_wishes"), r = 0;
	struct steps *steps;

	if (!program || map < 0)
		return err_set(err, -ENOENT, "the stepping program is missing");
	steps = mem_zalloc(sizeof(*steps));
	steps->wish = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (steps->wish == MAP_FAILED) {
		free(steps);
		return err_sys(err, -errno, "mapping the stepping program's settings");
	}
	*steps->wish = wishes->wish;
	/* a thread that runs on meanwhile would pass places that are not there yet, which looks like another way */
	steps->wish->over = 1;
	for (size_t i = 0; i < wishes->file_count && !r; i++)
		r = programs_uprobe_multi(program) ? attach_all(bpf_program__fd(program), wishes, &wishes->files[i], steps, err) :
						      attach_each(program, wishes, &wishes->files[i], steps, err);
	if (r) {
		steps_detach(steps);
		return r;
	}
	__atomic_store_n(&steps->wish->over, 0, __ATOMIC_RELEASE);
	*ret_steps = steps;
	return 0;
}

void steps_detach(struct steps *steps)
{
	if (!steps)
		return;
	links_destroy(steps->links.items, steps->links.length);
	vec_done(&steps->links);
	munmap(steps->wish, (size_t)sysconf(_SC_PAGESIZE));
	free(steps);
}

/* The thread has come to its end, or to its next wait, from which it may never come to a place again. */
static bool has_stopped(const struct step_wish *wish, uint32_t tid)
{
	char status[4096];

	if (!proc_text_read(wish->pid ? wish->pid : tid, tid, "status", status, sizeof(status)))
		return true;
	return wish->until == STEP_UNTIL_wait && proc_text_waits(status) != wish->waits;
}

bool steps_are_over(const struct steps *steps)
{
	const struct step_wish *wish = steps->wish;
	uint32_t owner = __atomic_load_n(&wish->owner, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&wish->over, __ATOMIC_RELAXED) || __atomic_load_n(&wish->taken, __ATOMIC_RELAXED) >= wish->most ||
	       (owner && has_stopped(wish, owner));
}
#endif
