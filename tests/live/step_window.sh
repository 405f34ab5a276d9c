#!/bin/bash
# A GTK handler that takes a millisecond is stepped, library calls over: it ends within 5 s each time, and the
# program's window answers every ping of the window manager meanwhile.
. "$HERE/live/_lib.sh"
need_bpf
need_command Xvfb gcc /usr/bin/python3
[ -e /sys/bus/event_source/devices/uprobe/type ] || skip "the kernel has no uprobes"
library=$(PATH=$PATH:/usr/sbin:/sbin ldconfig -p | awk '/libgtk-3\.so\.0 .*x86-64/ { found = $NF } END { print found }')
[ -n "$library" ] || skip "libgtk-3 is not installed"
glib=$(PATH=$PATH:/usr/sbin:/sbin ldconfig -p | awk '/libglib-2\.0\.so\.0 .*x86-64/ { found = $NF } END { print found }')
/usr/bin/python3 -c 'import Xlib' 2>/dev/null || skip "python3-xlib is not installed"

cat >window.c <<'END2'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
void gtk_init(int *count, char ***words);
void *gtk_window_new(int type);
void gtk_widget_show_all(void *widget);
void gtk_window_set_title(void *window, const char *title);
void gtk_main(void);
unsigned g_timeout_add(unsigned ms, int (*function)(void *), void *data);
char *g_strdup(const char *text);
void g_free(void *memory);
static unsigned long ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000000000ul + (unsigned long)t.tv_nsec;
}
static long turns;
/* About a millisecond: the turns that took so long when nobody stepped it. */
__attribute__((noinline)) unsigned long handler(void)
{
	unsigned long sum = 0;
	for (long i = 0; i < turns; i++) {
		char *copy = g_strdup("a text to copy");
		sum += strlen(copy) + (i % 7 ? 1 : 2);
		g_free(copy);
	}
	return sum;
}
static int tick(void *window)
{
	unsigned long begin = ns(), sum = handler(), took = ns() - begin;
	FILE *file = fopen("times.txt", "a");
	fprintf(file, "%lu %lu\n", took, sum);
	fclose(file);
	gtk_window_set_title(window, "ticks");
	return 1;
}
int main(int count, char **words)
{
	unsigned long begin, took = 0;
	gtk_init(&count, &words);
	for (turns = 1000; took < 1000000; turns += turns / 4) {
		begin = ns();
		handler();
		took = ns() - begin;
	}
	void *window = gtk_window_new(0);
	gtk_widget_show_all(window);
	g_timeout_add(500, tick, window);
	gtk_main();
}
END2
gcc -O1 -fno-builtin -o window window.c "$library" "$glib"

Xvfb -displayfd 3 -screen 0 400x300x24 -nolisten tcp 3>display.txt 2>/dev/null &
server=$!
trap 'kill $pid $server 2>/dev/null || true' EXIT
pid=$server
wait_until 10 test -s display.txt
DISPLAY=:$(cat display.txt)
export DISPLAY
NO_AT_BRIDGE=1 GDK_BACKEND=x11 ./window 2>/dev/null &
pid=$!
/usr/bin/python3 "$HERE/../cases/window_ping.py" $pid pings 60 &
pinger=$!
wait_until 20 test -s pings.ready
wait_until 20 test -s times.txt
before=$(wc -l <times.txt)
argus step $pid window:handler --duration 6s -o handler.step 2>notes || fail "step: $(cat notes)"
kill -TERM $pinger
wait_until 10 test -s pings
read -r _ sent answered count <pings
tail -n +$((before + 1)) times.txt >stepped
[ "$(wc -l <stepped)" -ge 2 ] || fail "it was not called while it was stepped: $(cat times.txt)"
most=$(sort -n stepped | tail -1 | cut -d' ' -f1)
sums=$(cut -d' ' -f2 times.txt | sort -u | wc -l)
argus step --show handler.step >shown
matches 'places of .*window' <shown || fail "no steps: $(head -3 shown)"
echo "a call of $(head -1 times.txt | cut -d' ' -f1) ns took at most $most ns when stepped; $count pings, the slowest answered after $((answered - sent)) ns; $(head -1 shown)"
[ "$sums" = 1 ] || fail "the handler's result differs: $(cat times.txt)"
[ "$most" -lt 5000000000 ] || fail "the handler took $most ns: $(cat times.txt)"
[ "$count" -gt 20 ] || fail "only $count pings were answered"
[ $((answered - sent)) -lt 5000000000 ] || fail "a ping was answered after $((answered - sent)) ns"
kill -0 $pid || fail "it did not survive"
