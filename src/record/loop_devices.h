/* Which loop devices have their file on a user-space file system: who waits for such a disk waits for that one's server. Nothing is asked of the
 * file system. */
#ifndef RECORD_LOOP_DEVICES_H
#define RECORD_LOOP_DEVICES_H

#include "base/buf.h"

/* Adds "loop_devices=loop0=28,loop3=31" and a 0: the connection of each; nothing where there is none. */
void loop_devices_find(struct buf *buf);

#endif
