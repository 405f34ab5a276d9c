/* Windows that do not answer: an X11 client of its own that sends _NET_WM_PING
 * to each window that speaks it, as window managers do, and waits for the echo.
 *
 * It speaks the protocol itself, over the display's local socket, and never
 * waits for the server longer than a moment: a display that does not answer is
 * tried again later.
 *
 * Wayland has no such thing for others than the compositor: xdg_wm_base.ping goes
 * over the client's own connection. A client that does not read it leaves it
 * unread, which the trigger for unread input sees. */
#ifndef RECORD_WINDOW_H
#define RECORD_WINDOW_H

#include <stddef.h>
#include <stdint.h>

struct windows;

/* `display` like ":0"; the cookie is taken from $XAUTHORITY or ~/.Xauthority.
 * NULL when the display's name is not one of this machine. */
struct windows *windows_open(const char *display);
void windows_close(struct windows *windows);
/* Sends pings, takes echoes; 1 when a window has owed its echo for so long and
 * was not reported before, with words; else 0. */
int windows_check(struct windows *windows, uint64_t now_ns, uint64_t limit_ns, char *text, size_t size);

#endif
