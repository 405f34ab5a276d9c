/* argus help: what a word means here. */
#include <errno.h>

#include "session/help.h"

static const struct option_spec options[] = {
	OPTION_JSON,
	{ NULL },
};

static int run(struct command_context *context, struct err *err)
{
	bool json = options_has(context->options, "json"), word = context->options->argument_count > 0;
	struct buf buf;
	int r = 0;

	if (json && word)
		return err_set(err, -EINVAL, "--json writes the tables of all commands; it takes no word");
	buf_init(&buf);
	if (json)
		help_json(&buf);
	else if (word)
		r = help_word(&buf, context->options->arguments[0], context->out->width, err);
	else
		help_commands(&buf);
	if (!r)
		r = sink_buf(context->out, &buf);
	buf_done(&buf);
	return r;
}

const struct command command_help = {
	.name = "help",
	.arguments = "[WORD]",
	.summary = "explain a command, an option, an event, an edge, a rule or a word of an answer",
	.help = "A word that names none of them is looked up in the texts of all of them.\n"
		"`argus help --OPTION` and `argus help OPTION` are the same.\n",
	.options = options,
	.names_options = true,
	.pages = true,
	.run = run,
};
