/* See err.h. */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *format, ...)
{
	if (err) {
		va_list args;

		err->code = code;
		va_start(args, format);
		vsnprintf(err->text, sizeof(err->text), format, args);
		va_end(args);
	}
	return code;
}

int err_sys(struct err *err, int code, const char *format, ...)
{
	if (err) {
		va_list args;
		size_t used;

		err->code = code;
		va_start(args, format);
		vsnprintf(err->text, sizeof(err->text), format, args);
		va_end(args);
		used = strlen(err->text);
		snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(-code));
	}
	return code;
}

int err_prefix(struct err *err, const char *format, ...)
{
	char rest[sizeof(err->text)];
	va_list args;
	size_t used;

	if (!err)
		return 0;
	memcpy(rest, err->text, sizeof(rest));
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %.*s", (int)(sizeof(rest) - 1), rest);
	return err->code;
}
