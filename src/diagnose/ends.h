/* Ends: which processes have an object open, and who receives from a channel,
 * from the descriptor snapshots in the trace. What was opened between two
 * snapshots is not seen, so an answer is evidence, not proof. */
#ifndef DIAGNOSE_ENDS_H
#define DIAGNOSE_ENDS_H

#include "base/map.h"
#include "diagnose/scene.h"

/* Who began a connection: the one that connected asks, the other serves. */
enum end_role { END_UNKNOWN, END_CLIENT, END_SERVER, END_LISTENER };

struct ends {
	const struct tables *tables;
	const struct judgement *judgement;
	struct map roles;          /* object -> enum end_role */
	struct map set_roles;      /* epoll set -> highest enum end_role of what it listens to */
	struct map windows;        /* processes that are connected to an X server or a Wayland compositor */
	struct map listeners;      /* hash of a listener's address -> index of its descriptor + 1 */
	struct map accepted;       /* connections of which nobody is seen to have the far end, though it was accepted (ends_accepted.c) */
	struct row by_object;      /* indices into tables->descriptors, sorted by object, then time */
	struct row by_channel;     /* those that receive from a channel, sorted by it, by where they send to, then time */
	struct row by_pid;         /* sorted by process, then time */
	struct row asking;         /* of by_pid, what a process connected itself */
	struct row unread;         /* sockets of datagrams of which some lie there unread, by time */
};

void ends_build(struct arena *arena, const struct scene *scene, struct ends *ret_ends);
void ends_done(struct ends *ends);
enum end_role ends_role(const struct ends *ends, uint64_t object);
/* Of an epoll set: its own, or the highest of what was ever put into it. */
enum end_role ends_set_role(const struct ends *ends, uint64_t set);
/* Descriptors of the object, of any process; a part of by_object. */
struct row ends_of_object(const struct ends *ends, uint64_t object);
struct row ends_receiving(const struct ends *ends, uint64_t channel);
/* Who has the other end of the connection, by time. */
struct row ends_far(const struct ends *ends, const struct descriptor *d);
/* That process has the other end of the connection. */
bool ends_faces(const struct ends *ends, uint64_t object, uint32_t pid);
/* They are the two ends of one connection. */
bool ends_are_two(const struct ends *ends, uint64_t one, uint64_t other);
struct row ends_of_process(const struct ends *ends, uint32_t pid);
/* Of a process's: its last snapshot found it, and no older one. */
bool ends_is_newest(const struct ends *ends, struct row row, uint32_t i);
/* Of those the ends of connections that it began: a server may have thousands of others. */
struct row ends_begun_by(const struct ends *ends, uint32_t pid);
/* The listener at the address that the descriptor is connected to, or connecting;
 * NULL when none was seen. */
const struct descriptor *ends_listener(const struct ends *ends, const struct descriptor *client);
/* It is made, and no process is known to have its other end. */
bool ends_has_none(const struct ends *ends, const struct descriptor *client);
/* True when no process has the other end of the connection: its listener's has not
 * accepted it, as far as the snapshots tell. */
bool ends_not_accepted(const struct ends *ends, const struct descriptor *client);
/* Its far end was accepted, and is closed, but neither an answer nor that came. */
bool ends_lost(const struct ends *ends, const struct descriptor *client);
bool ends_listens_to_lost(const struct ends *ends, uint32_t pid, const struct wait *wait);
/* Finds those that were accepted all the same, and closed before the snapshot. */
void ends_note_accepted(const struct scene *scene, struct ends *ends);
/* Nobody has answered to its connecting, though the one that listens there has no connection left to accept: what it sends does
 * not arrive, or no answer does. */
bool ends_kept_out(const struct ends *ends, const struct descriptor *client);
/* It was accepted, and nobody has its other end open any more: had word of that come, it would not stand as a connection. */
bool ends_let_go(const struct ends *ends, const struct descriptor *client);
/* One end of datagrams alone can be sent to from anywhere; where it is connected, from the other end. */
bool ends_is_datagram(uint64_t object);
bool ends_is_connected_datagram(const struct ends *ends, uint64_t object);
/* What is sent to the datagram socket is an answer: it is connected, or bound to a port that the kernel chose. */
bool ends_asks_by_datagram(const struct scene *scene, const struct ends *ends, uint64_t object);
/* One of them is connected to an X server or a Wayland compositor. */
bool ends_lead_to_windows(const struct ends *ends, struct row row);
bool ends_has_windows(const struct ends *ends, uint32_t pid);
/* It is an X server or a Wayland compositor. */
bool ends_is_window_server(const struct ends *ends, uint32_t pid);
/* That is the server of such a connection of the process. */
bool ends_shows_windows_of(const struct ends *ends, uint32_t server, uint32_t pid);
/* That side of a pseudo terminal at which programs show what others print and pass on what is typed. */
bool ends_is_terminal_master(const struct ends *ends, uint64_t object);
bool ends_shows_terminals(const struct ends *ends, uint32_t pid);
/* It does, and the wait is for those, among others or alone. */
bool ends_listens_at_terminals(const struct ends *ends, uint32_t pid, const struct wait *wait);
/* What was written to the terminal lies unread at its other side, in the wait: then nobody has stopped the output, but nobody reads it either. */
bool ends_lies_unread(const struct ends *ends, const struct wait *writes);
/* Nobody sits before that terminal: whoever has its other side open stood in something else all through the wait. */
bool ends_terminal_unattended(const struct ends *ends, const struct scene *scene, uint64_t object, const struct wait *wait);
/* The first thing that the wait listens to; a select that stood as the recording began tells only how many numbers it
 * looked at: where that is one, it is descriptor 0. */
uint64_t ends_listened_to(const struct ends *ends, uint32_t pid, const struct wait *wait);
static inline const struct descriptor *ends_at(const struct ends *ends, struct row row, uint32_t i)
{
	return &ends->tables->descriptors[row.items[i]];
}

#endif
