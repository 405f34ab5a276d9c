/* See command.h. */
#include "session/command.h"

#include <stdarg.h>
#include <string.h>

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
