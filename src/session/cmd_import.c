/* argus import: a trace from another form. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "session/command.h"
#include "trace/text_import.h"

static const struct option_spec import_options[] = {
	{ "text", 0, OPTION_FLAG, NULL, "FILE is in the text form of `argus dump --text`" },
	OPTION_OUTPUT_TRACE,
	{ 0 }
};

static int run_import(struct command_context *context, struct err *err)
{
	const struct options *options = context->options;
	const char *from = options->argument_count ? options->arguments[0] : "-";
	const char *to = options_text(options, "output", COMMAND_TRACE);
	struct writer_options writer_options = { .cpus = TEXT_IMPORT_CPUS, .whole = true };
	struct writer *writer;
	FILE *text = stdin;
	struct stat info;
	int status;

	if (!options_has(options, "text"))
		return err_set(err, -EINVAL, "say which form FILE has: --text");
	if (strcmp(from, "-") && !(text = fopen(from, "re")))
		return err_sys(err, -errno, "opening '%s'", from);
	if (!fstat(fileno(text), &info) && S_ISDIR(info.st_mode)) {
		fclose(text);
		return err_sys(err, -EISDIR, "reading '%s'", from);
	}
	status = writer_create(to, true, &writer_options, &writer, err);
	if (!status) {
		status = text_import(text, strcmp(from, "-") ? from : "standard input", writer, err);
		if (status)
			writer_drop(writer);
		else
			status = writer_close(writer, err);
	}
	if (text != stdin)
		fclose(text);
	return status == -EINVAL ? -EBADMSG : status; /* a wrong line is no wrong usage */
}

const struct command command_import = {
	.name = "import",
	.arguments = "[FILE]",
	.summary = "make a trace from its text form",
	.help = "Without FILE, or with -, the standard input is read. docs/format.md describes the text form.\n",
	.options = import_options,
	.run = run_import,
};
