/* See command.h. */
#include "session/command.h"
#include "session/session.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diagnose/judgement.h"
#include "record/control.h"
#include "trace/trace.h"

#define SAVED_JUST_NOW_S 5 /* a trace no older than this beside its ring was saved from it to be asked */

#define COMMAND(name) extern const struct command command_##name;
#include "session/commands.def"
#undef COMMAND

const struct command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "session/commands.def"
#undef COMMAND
	NULL
};

const struct command *command_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

const char *command_trace_path(const struct command_context *context)
{
	return context->options->argument_count ? context->options->arguments[0] : COMMAND_TRACE;
}

/* When the newest file of the folder was written, in seconds; 0 where that cannot be seen. */
static time_t last_written(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	struct stat st;
	time_t last = 0;

	while (dir && (entry = readdir(dir)))
		if (!fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) && st.st_mtime > last)
			last = st.st_mtime;
	if (dir)
		closedir(dir);
	return last;
}

/* A trace that lies about hides what the recorder in the background has written since. */
static void note_newer_ring(const struct command_context *context)
{
	char ring[PATH_MAX];
	struct stat st;

	if (!stat(COMMAND_TRACE, &st) && control_last_ring(ring) && last_written(ring) > st.st_mtime + SAVED_JUST_NOW_S)
		sink_printf(context->notes, "this is from '" COMMAND_TRACE "'; the ring of the recorder in the background is newer: name '%s' to "
			    "ask about that\n", ring);
}

const char *command_trace_or_ring(const struct command_context *context)
{
	const char *path = command_trace_path(context);
	struct buf reply;
	struct err none;
	char ring[PATH_MAX];

	if (context->options->argument_count)
		return path;
	if (!access(COMMAND_TRACE, F_OK)) {
		note_newer_ring(context);
		return path;
	}
	buf_init(&reply);
	if (!control_ask("flush", &reply, &none))
		path = arena_strdup(context->arena, buf_str(&reply));
	else if (control_last_ring(ring) && !access(ring, R_OK)) {
		path = arena_strdup(context->arena, ring);
		sink_printf(context->notes, "no recorder is running: this is from the ring that the last one wrote, '%s'\n", path);
	}
	buf_done(&reply);
	return path;
}

int sink_write(struct sink *sink, const void *data, size_t size)
{
	return size ? sink->write(sink, data, size) : 0;
}

int sink_text(struct sink *sink, const char *text)
{
	return sink_write(sink, text, strlen(text));
}

int sink_buf(struct sink *sink, const struct buf *buf)
{
	return sink_write(sink, buf->data, buf->length);
}

int sink_printf(struct sink *sink, const char *format, ...)
{
	struct buf buf;
	va_list args;
	int r;

	buf_init(&buf);
	va_start(args, format);
	buf_vprintf(&buf, format, args);
	va_end(args);
	r = sink_buf(sink, &buf);
	buf_done(&buf);
	return r;
}

void command_note_damage(const struct command_context *context, const struct trace *trace)
{
	const struct trace_summary *summary = trace_summary(trace);
	bool damaged = summary->damaged_chunks || summary->damaged_stretches || summary->damaged_heads || summary->unreadable_files;
	struct buf path;

	if (!damaged && !summary->truncated_bytes)
		return;
	buf_init(&path);
	buf_escaped(&path, trace_path(trace), strlen(trace_path(trace)), NULL);
	sink_printf(context->notes, "%s is %s: this is about what could be read of it (`argus info` tells more)\n", buf_str(&path),
		    damaged ? "damaged" : "cut off");
	buf_done(&path);
}

void command_note_session(const struct command_context *context, const struct session *session)
{
	if (session->elsewhere)
		sink_printf(context->notes, "the recorded command did not hang; this is about others on the machine\n");
	if (session->from_head)
		sink_printf(context->notes, "the trace has no index: what began before the file of that moment is known as far as the recorder told it "
			    "again there. `argus index` makes one, for an answer from the trace's beginning on\n");
}

/* Each of the words between commas, however often the option was given. */
static int each_word(const struct command_context *context, const char *option, struct judgement *judgement,
		     int (*take)(struct judgement *judgement, const char *word, struct err *err), struct err *err)
{
	const char *text;
	int r = 0;

	for (size_t n = 0; !r && (text = options_nth(context->options, option, n)); n++)
		while (*text && !r) {
			size_t length = strcspn(text, ",");

			if (length)
				r = take(judgement, arena_strndup(context->arena, text, length), err);
			text += length + (text[length] == ',');
		}
	return r;
}

int command_judgement(const struct command_context *context, struct judgement *judgement, struct err *err)
{
	int r = each_word(context, "without", judgement, judgement_without, err);

	return r ? r : each_word(context, "set", judgement, judgement_adjust, err);
}
