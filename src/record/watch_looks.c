/* See watch_looks.h. */
#ifdef HAVE_BPF
#include "record/watch_looks.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>

#include "base/options.h"
#include "record/filter.h"

#define FIRST_NS 2000000u
#define LAST_NS 200000000u
#define BATCH 1024u

void watch_looks_init(struct watch_looks *looks, int filter, size_t spec_count)
{
	*looks = (struct watch_looks){ .filter = filter, .specs = spec_count < 64 ? (1ull << spec_count) - 1 : UINT64_MAX };
}

void watch_looks_done(struct watch_looks *looks)
{
	vec_done(&looks->items);
	map_done(&looks->by_pid);
}

static struct watch_look *see(struct watch_looks *looks, pid_t pid, uint64_t now_ns)
{
	bool is_new;
	uint64_t *place = map_at(&looks->by_pid, (uint64_t)pid, &is_new);

	if (is_new) {
		*place = looks->items.length;
		vec_push(&looks->items, ((struct watch_look){ .pid = pid, .todo = looks->specs, .next_ns = now_ns, .wait_ns = FIRST_NS }));
	}
	looks->items.items[*place].round = looks->round;
	return &looks->items.items[*place];
}

void watch_looks_has(struct watch_looks *looks, pid_t pid, size_t spec)
{
	see(looks, pid, 0)->todo &= ~(1ull << spec);
}

static void see_followed(struct watch_looks *looks, uint64_t now_ns)
{
	uint64_t keys[BATCH], from, to;
	uint8_t values[BATCH];
	bool first = true;

	for (;;) {
		LIBBPF_OPTS(bpf_map_batch_opts, options);
		uint32_t count = BATCH;
		int r = bpf_map_lookup_batch(looks->filter, first ? NULL : &from, &to, keys, values, &count, &options);

		/* -ENOENT: these are the last */
		for (uint32_t i = 0; i < count && (!r || r == -ENOENT); i++)
			if (keys[i] >> FILTER_SHIFT == FILTER_PID)
				see(looks, (pid_t)(keys[i] & INT32_MAX), now_ns);
		if (r)
			return;
		from = to;
		first = false;
	}
}

static void see_all(struct watch_looks *looks, uint64_t now_ns)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	uint64_t number;

	while (folder && (entry = readdir(folder)))
		if (!parse_number(entry->d_name, &number) && number && number <= INT32_MAX)
			see(looks, (pid_t)number, now_ns);
	if (folder)
		closedir(folder);
}

void watch_looks_update(struct watch_looks *looks, uint64_t now_ns)
{
	size_t kept = 0;

	looks->round++;
	if (looks->filter >= 0)
		see_followed(looks, now_ns);
	else
		see_all(looks, now_ns);
	for (size_t i = 0; i < looks->items.length; i++) {
		struct watch_look look = looks->items.items[i];

		if (look.round != looks->round) {
			map_remove(&looks->by_pid, (uint64_t)look.pid);
			continue;
		}
		map_put(&looks->by_pid, (uint64_t)look.pid, kept);
		looks->items.items[kept++] = look;
	}
	looks->items.length = kept;
}

struct watch_look *watch_looks_due(struct watch_looks *looks, uint64_t now_ns)
{
	for (size_t i = 0; i < looks->items.length; i++) {
		struct watch_look *look = &looks->items.items[i];

		if (!look->todo || look->next_ns > now_ns)
			continue;
		look->next_ns = now_ns + look->wait_ns;
		if (look->wait_ns < LAST_NS)
			look->wait_ns *= 2;
		return look;
	}
	return NULL;
}
#endif
