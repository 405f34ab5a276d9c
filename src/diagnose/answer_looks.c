/* What an answer says of what a thread looks at, again and again, or waits to see change (looked_at.h, watched.h). See answer.h. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

#include "diagnose/answer.h"
#include "diagnose/looked_at.h"
#include "diagnose/loops.h"
#include "diagnose/tried_command.h"
#include "diagnose/watched.h"

static void put_path(const char *path, struct buf *buf)
{
	if (path[0])
		buf_escaped(buf, path, strlen(path), NULL);
	else
		buf_text(buf, "a file");
}

static void put_address(const struct named_call *c, struct buf *buf)
{
	char text[INET6_ADDRSTRLEN] = "?";
	uint32_t four = (uint32_t)c->address[1];

	if (c->family == AF_UNIX) {
		put_path(c->path, buf);
		return;
	}
	if (c->family == AF_INET)
		inet_ntop(AF_INET, &four, text, sizeof(text));
	else if (c->family == AF_INET6)
		inet_ntop(AF_INET6, c->address, text, sizeof(text));
	buf_printf(buf, c->family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, c->port);
}

static void put_process(const struct describer *d, const char *otherwise, uint32_t thread, uint64_t time, struct buf *buf)
{
	struct actor actor;

	if (!thread) {
		buf_text(buf, otherwise);
		return;
	}
	describe_thread(d, thread, time, &actor);
	buf_text(buf, answer_who(d->arena, &actor));
}

static void put_looked(const struct describer *d, const char *who, const struct looked_at *looked, struct buf *buf)
{
	const char *object, *often = looked->times > 1 ? "Again and again" : "Between two sleeps";

	switch (looked->what) {
	case LOOKED_NOTHING:
		return;
	case LOOKED_ANSWERED:
		if (looked->call || looked->channel) {
			struct row row = ends_receiving(d->ends, looked->channel);

			object = row.count ? describe_object(d, ends_at(d->ends, row, 0)->at.object) : NULL;
			buf_printf(buf, " Again and again %s connects to ", who);
			if (looked->call)
				put_address(looked->call, buf);
			else
				buf_text(buf, object ? object : "a server");
			buf_text(buf, looked->channel ? ", and is answered" : "");
			break;
		}
		object = describe_object(d, looked->object);
		buf_printf(buf, " Again and again %s asks over %s, and is answered", who, object ? object : "a socket");
		break;
	case LOOKED_THERE:
		buf_printf(buf, " Again and again %s looks for ", who);
		put_path(looked_at_path(looked), buf);
		buf_text(buf, ", which is there still");
		break;
	case LOOKED_ABSENT:
		buf_printf(buf, " Again and again %s looks for ", who);
		put_path(looked_at_path(looked), buf);
		buf_text(buf, ", which is not there");
		break;
	case LOOKED_DENIED:
		buf_printf(buf, " Again and again %s tries for ", who);
		put_path(looked_at_path(looked), buf);
		buf_printf(buf, ", in vain (%s)", strerror(-looked->call->result));
		break;
	case LOOKED_PRESENT:
		buf_printf(buf, " %s %s tries to make ", often, who);
		put_path(looked_at_path(looked), buf);
		buf_text(buf, ", which is there already");
		break;
	case LOOKED_DATA:
		object = describe_object(d, looked->object);
		buf_printf(buf, " Again and again %s looks whether something has come over %s, and nothing has", who, object ? object : "a descriptor");
		break;
	case LOOKED_CHILD:
		buf_printf(buf, " %s %s looks whether ", often, who);
		put_process(d, "a child", looked->target, looked->time, buf);
		buf_text(buf, " has ended, which it has not");
		break;
	case LOOKED_PROCESS:
		buf_printf(buf, " %s %s looks whether ", often, who);
		put_process(d, "a process", looked->target, looked->time, buf);
		buf_text(buf, " lives, which it does");
		break;
	case LOOKED_ADDRESS:
		buf_printf(buf, " Again and again %s tries to connect to ", who);
		put_address(looked->call, buf);
		buf_printf(buf, ", in vain (%s)", strerror(-looked->call->result));
		break;
	}
	if (looked->times > 1)
		buf_printf(buf, ": %" PRIu32 " times.", looked->times);
	else
		buf_text(buf, ": once in the time seen.");
}

static void put_watched(const struct describer *d, const char *who, const struct wait *w, uint64_t from_ns, uint64_t to_ns, struct buf *buf)
{
	struct watched watched;

	watched_find(d->scene, w, from_ns, to_ns, &watched);
	if (!watched.files)
		return;
	buf_printf(buf, " %s waits for changes of ", who);
	put_path(watched.path, buf);
	if (watched.files > 1)
		buf_printf(buf, ", and of %u more", watched.files - 1);
	if (!watched.writer) {
		buf_text(buf, ", which no other process that could be looked into has open for writing.");
		return;
	}
	buf_text(buf, ", which ");
	put_process(d, "", watched.writer, to_ns - 1, buf);
	if (watched.writers > 1)
		buf_printf(buf, " and %u more", watched.writers - 1);
	buf_printf(buf, " %s open for writing.", watched.writers > 1 ? "have" : "has");
}

void answer_looks_text(const struct describer *d, const char *who, uint32_t thread, uint64_t from_ns, uint64_t to_ns, struct buf *buf)
{
	const struct scene *scene = d->scene;
	const struct wait *w = scene_stands_until(scene, thread, to_ns);
	struct looked_at looked;

	if (looked_at_known(scene) && looked_at_may(scene, thread, from_ns, to_ns) && looked_at_find(scene, thread, from_ns, to_ns, &looked))
		put_looked(d, who ? who : "it", &looked, buf);
	else if (w && w->end == WAIT_END_OPEN)
		put_watched(d, who ? who : "It", w, from_ns, to_ns, buf);
}

void answer_runs_text(const struct describer *d, const struct diagnosis *g, struct buf *buf)
{
	struct tried_command tried;

	for (size_t i = 0; i < g->path_count; i++) {
		const struct actor *actor = &g->path[i].actor;
		const struct wait *w = actor->thread ? answer_longest_wait(d->scene, actor->thread, g) : NULL;

		if (!w || w->kind != WAIT_KIND_child || !loop_is(d->scene, &d->scene->episodes[w->episode]) ||
		    !tried_command_find(d->scene, actor->thread, g->start_ns, g->end_ns, &tried))
			continue;
		buf_printf(buf, " Again and again %s runs `", actor->thread == g->victim.thread ? "it" : answer_who(d->arena, actor));
		buf_escaped(buf, tried.command, strlen(tried.command), NULL);
		buf_printf(buf, "`, which fails: %" PRIu32 " times.", tried.times);
		return;
	}
}
