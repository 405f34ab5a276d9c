#include "symbols/kallsyms.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

#define KALLSYMS_BYTES_MAX (256u << 20)

/* Lines: address, type, name, and [module] where it is in one. */
static void parse_line(char *line, struct kallsyms *k)
{
	char *at;
	uint64_t address = strtoull(line, &at, 16);
	if (*at != ' ' || !at[1] || at[2] != ' ' || !address)
		return;
	char type = (char)tolower((unsigned char)at[1]);
	char *name = at + 3;
	if (strcmp(name, "_text") == 0)
		k->text = address;
	if (type != 't' && type != 'w')
		return;
	char *module = strchr(name, '\t');
	if (module)
		*module = ' ';
	symbol_table_add_name(&k->symbols, address, 0, name, 0);
}

/* A symbol reaches to the next one: the kernel lists all its functions. */
static void set_sizes(struct symbol_table *table)
{
	for (size_t i = 0; i + 1 < table->symbols.length; i++) {
		struct symbol *s = &table->symbols.items[i];
		size_t next = i + 1;
		while (next < table->symbols.length && table->symbols.items[next].start == s->start)
			next++;
		if (next < table->symbols.length)
			s->bytes = table->symbols.items[next].start - s->start;
	}
}

void kallsyms_parse(const char *text, size_t length, struct kallsyms *ret_kallsyms)
{
	struct kallsyms k = { 0 };
	struct buf line = { 0 };
	for (const char *at = text, *end = text + length; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		if (!stop)
			stop = end;
		buf_clear(&line);
		buf_add(&line, at, (size_t)(stop - at));
		if (line.length)
			parse_line(line.data, &k);
		at = stop + 1;
	}
	buf_done(&line);
	symbol_table_sort(&k.symbols);
	set_sizes(&k.symbols);
	symbol_table_sort(&k.symbols);
	*ret_kallsyms = k;
}

int kallsyms_read(struct kallsyms *kallsyms, struct err *err)
{
	struct buf text = { 0 };
	char chunk[65536];
	ssize_t got = 0;
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, -errno, "cannot read /proc/kallsyms");
	while (text.length < KALLSYMS_BYTES_MAX && (got = read(fd, chunk, sizeof(chunk))) > 0)
		buf_add(&text, chunk, (size_t)got);
	int r = got < 0 ? -errno : 0;
	close(fd);
	if (r == 0)
		kallsyms_parse(buf_str(&text), text.length, kallsyms);
	buf_done(&text);
	return r < 0 ? err_sys(err, r, "cannot read /proc/kallsyms") : 0;
}

uint64_t kallsyms_text(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512];
	uint64_t text = 0, address;
	char name[8];

	/* it stands behind the processors' own variables, before all functions */
	while (file && !text && fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 " %*c %7s", &address, name) == 2 && !strcmp(name, "_text"))
			text = address;
	if (file)
		fclose(file);
	return text;
}

void kallsyms_done(struct kallsyms *kallsyms)
{
	symbol_table_done(&kallsyms->symbols);
}
