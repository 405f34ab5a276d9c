/* See bundle.h. */
#include "session/bundle.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "base/archive.h"
#include "base/vec.h"
#include "record/control.h"
#include "session/artifact.h"

/* Accounts of people, as Debian and its kin number them. */
#define FIRST_USER 1000
#define LAST_USER 59999
/* A shorter name would be taken for a part of other words. */
#define NAME_LEAST 2

struct secret {
	const char *text, *instead;
};

struct bundle {
	const struct command_context *context;
	struct archive archive;
	struct vec(struct secret) secrets;
};

/* ---- what is left out ---- */

static void hide(struct bundle *b, const char *text, const char *instead)
{
	if (!text || strlen(text) < NAME_LEAST || !strcmp(text, "root") || !strcmp(text, "/root"))
		return;
	vec_push(&b->secrets, ((struct secret){ arena_strdup(b->context->arena, text), instead }));
}

static void find_secrets(struct bundle *b)
{
	struct utsname name;

	if (!uname(&name))
		hide(b, name.nodename, "HOST");
	setpwent();
	for (struct passwd *user; (user = getpwent()); )
		if (user->pw_uid >= FIRST_USER && user->pw_uid <= LAST_USER) {
			hide(b, user->pw_dir, "/home/USER");
			hide(b, user->pw_name, "USER");
		}
	endpwent();
	hide(b, getenv("HOME"), "/home/USER");
	hide(b, getenv("SUDO_USER"), "USER");
}

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The secret that stands here, not in the midst of a word. */
static const struct secret *secret_at(const struct bundle *b, const char *text, const char *at)
{
	for (size_t i = 0; i < b->secrets.length; i++) {
		const struct secret *s = &b->secrets.items[i];
		size_t length = strlen(s->text);

		if (!strncmp(at, s->text, length) && !(at > text && is_word(at[-1]) && is_word(at[0])) && !is_word(at[length]))
			return s;
	}
	return NULL;
}

static void redact_words(const struct bundle *b, const char *text, struct buf *out)
{
	for (const char *at = text; *at;) {
		const struct secret *s = secret_at(b, text, at);

		if (s) {
			buf_text(out, s->instead);
			at += strlen(s->text);
		} else {
			buf_char(out, *at++);
		}
	}
}

/* Texts of these members say what somebody did; `"key": "text"` is as our own JSON has it. */
static void redact_members(const char *text, struct buf *out)
{
	static const char *const keys[] = { "\"command\": ", "\"options\": ", "\"path\": ", "\"hostname\": ", "\"file\": ", "\"folder\": ",
					    "\"last_hang\": ", "\"last_failure\": ", "\"place\": " };

	while (*text) {
		size_t key = 0, count = sizeof(keys) / sizeof(*keys);

		while (key < count && strncmp(text, keys[key], strlen(keys[key])))
			key++;
		if (key == count || text[strlen(keys[key])] != '"') {
			buf_char(out, *text++);
			continue;
		}
		buf_printf(out, "%s\"REMOVED\"", keys[key]);
		for (text += strlen(keys[key]) + 1; *text && *text != '"'; text++)
			if (*text == '\\' && text[1])
				text++;
		text += *text == '"';
	}
}

static void add(struct bundle *b, const char *name, const struct buf *text)
{
	struct buf words, members;

	buf_init(&words);
	buf_init(&members);
	redact_words(b, buf_str(text), &words);
	redact_members(buf_str(&words), &members);
	archive_add(&b->archive, arena_printf(b->context->arena, "argus-report/%s", name), &members);
	sink_printf(b->context->notes, "  %-14s %zu bytes\n", name, members.length);
	buf_done(&words);
	buf_done(&members);
}

/* ---- what is told ---- */

static void add_file(struct buf *buf, const char *path)
{
	char text[4096];
	FILE *file = fopen(path, "re");
	size_t n = file ? fread(text, 1, sizeof(text), file) : 0;

	if (file)
		fclose(file);
	while (n && text[n - 1] == '\n')
		n--;
	buf_printf(buf, "%s: ", path);
	if (n)
		buf_escaped(buf, text, n, NULL);
	else
		buf_text(buf, "(none)");
	buf_char(buf, '\n');
}

/* The lines of a long file that begin so. */
static void add_lines(struct buf *buf, const char *path, const char *const *begins, bool once)
{
	gzFile file = gzopen(path, "re"); /* what is not compressed comes as it is */
	char line[512];
	unsigned seen = 0;

	while (file && gzgets(file, line, sizeof(line)))
		for (size_t i = 0; begins[i]; i++)
			if (!strncmp(line, begins[i], strlen(begins[i])) && !(once && seen & 1u << i)) {
				seen |= 1u << i;
				buf_text(buf, line);
			}
	if (file)
		gzclose(file);
}

static void add_limit(struct buf *buf, const char *name, int which)
{
	struct rlimit limit;

	if (!getrlimit(which, &limit))
		buf_printf(buf, "limit %s: %" PRIu64 "\n", name, (uint64_t)limit.rlim_cur);
}

static void describe_system(struct buf *buf)
{
	static const char *const processor[] = { "model name", "microcode", NULL }, *const memory[] = { "MemTotal", NULL };
	static const char *const release[] = { "ID=", "VERSION_ID=", "PRETTY_NAME=", NULL };
	static const char *const config[] = { "CONFIG_BPF", "CONFIG_DEBUG_INFO_BTF", "CONFIG_KALLSYMS", "CONFIG_PREEMPT", "CONFIG_UPROBE",
					      "CONFIG_KPROBE", "CONFIG_FTRACE", "CONFIG_SCHEDSTATS", "CONFIG_PERF_EVENTS",
					      "CONFIG_SECURITY_LOCKDOWN", "CONFIG_FUNCTION_TRACER", NULL };
	static const char *const files[] = {
		"/proc/sys/kernel/perf_event_paranoid", "/proc/sys/kernel/kptr_restrict", "/proc/sys/kernel/unprivileged_bpf_disabled",
		"/proc/sys/kernel/perf_event_max_sample_rate", "/proc/sys/kernel/yama/ptrace_scope", "/proc/sys/net/core/bpf_jit_enable",
		"/proc/sys/kernel/sched_rt_runtime_us", "/sys/kernel/security/lockdown", "/sys/kernel/security/lsm",
		"/sys/devices/system/cpu/online", "/sys/devices/system/cpu/possible",
		"/sys/devices/system/clocksource/clocksource0/current_clocksource", "/sys/hypervisor/type", "/sys/class/dmi/id/sys_vendor",
		"/run/systemd/container",
	};
	struct utsname name;

	if (!uname(&name))
		buf_printf(buf, "kernel: %s %s %s\n", name.release, name.version, name.machine);
	add_lines(buf, "/etc/os-release", release, true);
	add_lines(buf, "/proc/cpuinfo", processor, true);
	add_lines(buf, "/proc/meminfo", memory, true);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		add_file(buf, files[i]);
	buf_printf(buf, "user: %s\n", geteuid() ? "not root" : "root");
	add_limit(buf, "memory locked", RLIMIT_MEMLOCK);
	add_limit(buf, "real-time priority", RLIMIT_RTPRIO);
	add_limit(buf, "open files", RLIMIT_NOFILE);
	buf_printf(buf, "control groups: %s\n", access("/sys/fs/cgroup/cgroup.controllers", F_OK) ? "version 1" : "version 2");
	buf_printf(buf, "in a container: %s\n", access("/.dockerenv", F_OK) && access("/run/.containerenv", F_OK) ? "not known" : "yes");
	add_lines(buf, "/proc/config.gz", config, false);
	if (!uname(&name)) {
		char path[sizeof(name.release) + 16];

		snprintf(path, sizeof(path), "/boot/config-%s", name.release);
		add_lines(buf, path, config, false);
	}
}

struct memory_sink {
	struct sink sink;
	struct buf *buf;
};

static int write_memory(struct sink *sink, const void *data, size_t size)
{
	buf_add(((struct memory_sink *)sink)->buf, data, size);
	return 0;
}

/* What another command prints, or why it does not. */
static void add_command(struct bundle *b, const char *file, const char *name, const char *argument, const char *option)
{
	const struct command *command = command_find(name);
	char *words[] = { (char *)option, (char *)argument };
	struct buf text;
	struct memory_sink out = { { .write = write_memory }, &text };
	struct command_context context = *b->context;
	struct options options;
	struct err err = { 0 };
	int r;

	buf_init(&text);
	context.out = &out.sink;
	context.notes = &out.sink;
	context.options = &options;
	r = options_parse(context.arena, command->options, false, argument ? 2 : 1, words, &options, &err);
	if (!r)
		r = command->run(&context, &err);
	if (r < 0)
		buf_printf(&text, "argus %s: %s\n", name, err.text);
	add(b, file, &text);
	buf_done(&text);
}

int bundle_write(const struct command_context *context, const char *path, const char *trace_path, struct err *err)
{
	struct bundle b = { .context = context };
	struct buf text, packed;
	int r;

	buf_init(&text);
	buf_init(&packed);
	archive_init(&b.archive);
	find_secrets(&b);
	sink_printf(context->notes, "%s holds\n", path);
	buf_printf(&text, "argus %s (build %s, " ARGUS_MACHINE ")\n", ARGUS_VERSION, context->build);
	add(&b, "version.txt", &text);
	buf_clear(&text);
	describe_system(&text);
	add(&b, "system.txt", &text);
	add_command(&b, "doctor.json", "doctor", NULL, "--json");
	add_command(&b, "status.json", "status", NULL, "--json");
	if (trace_path)
		add_command(&b, "trace.json", "info", trace_path, "--json");
	r = archive_pack(&b.archive, &packed, err);
	if (!r)
		r = artifact_write(path, &packed, err);
	if (!r)
		sink_text(context->notes, "Names of the host, of users and of their folders, command lines and paths are left out.\n");
	archive_done(&b.archive);
	vec_done(&b.secrets);
	buf_done(&packed);
	buf_done(&text);
	return r;
}
