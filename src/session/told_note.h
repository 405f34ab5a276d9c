/* Which of a long trace's hangs is told to who asks about none by name: to find that out looks at several. It is noted in the index. */
#ifndef SESSION_TOLD_NOTE_H
#define SESSION_TOLD_NOTE_H

#include "session/session.h"

/* The number, from 1, that was noted of just these hangs; 0 none. */
size_t told_note_read(const struct session *session, const struct hang *hangs, size_t count);
void told_note_write(struct session *session, const struct hang *hangs, size_t count, size_t number);

#endif
