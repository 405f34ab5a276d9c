/* The path of a hang's window, folded: in words where the hang is made of many short links,
 * for the interactive session, and for the page, as a line with the fold beside it. */
#ifndef SESSION_PATH_PICTURE_H
#define SESSION_PATH_PICTURE_H

#include "base/json.h"
#include "diagnose/diagnosis.h"
#include "path/fold.h"
#include "session/session.h"

/* The path of the thread through a window, to be freed with fold_done. `cells`: of its line, 0
 * none. Of a trace in blocks the window may be longer than the session's scene, which the
 * thread is of: then it is walked part by part. False where there is nothing to walk. */
bool path_window(const struct session *session, uint32_t thread, uint64_t from_ns, uint64_t to_ns, size_t cells, struct fold *ret_fold);
/* The same by tid, of a thread of any stretch. */
bool path_window_of(const struct session *session, uint32_t tid, uint64_t from_ns, uint64_t to_ns, size_t cells, struct fold *ret_fold);
/* True when links that are too short to be told one by one are half of the path or more. */
bool path_in_pieces(const struct fold *fold);
/* True when most of the path went by in programs that the answer names: another way that was
 * walked back would contradict it. */
bool path_agrees(const struct session *session, const struct diagnosis *answer, const struct fold *fold);
/* The member `name`: the fold, and its line where one was asked for; null where the fold is empty. */
void path_picture_json(const struct fold *fold, uint64_t from_ns, uint64_t to_ns, const char *name, struct json *json);

#endif
