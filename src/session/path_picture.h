/* The path of a hang's window, folded: in words where the hang is made of many short links,
 * for the interactive session, and for the page, as a line with the fold beside it. */
#ifndef SESSION_PATH_PICTURE_H
#define SESSION_PATH_PICTURE_H

#include "base/json.h"
#include "path/fold.h"
#include "session/session.h"

/* The path of the thread through a window of the session's scene, to be freed with fold_done.
 * `cells`: of its line, 0 none. False where the scene does not hold the window. */
bool path_window(const struct session *session, uint32_t thread, uint64_t from_ns, uint64_t to_ns, size_t cells, struct fold *ret_fold);
/* True when links that are too short to be told one by one are half of the path or more. */
bool path_in_pieces(const struct fold *fold);
/* The member `name`: the fold, and its line where one was asked for; null where the fold is empty. */
void path_picture_json(const struct fold *fold, uint64_t from_ns, uint64_t to_ns, const char *name, struct json *json);

#endif
