"""Run by gdb: the stacks of all threads of the attached process, as JSON: for
each thread its frames' addresses, kinds and functions, innermost first, and why the
outermost is the last."""
import json

import gdb

KINDS = {gdb.NORMAL_FRAME: "normal", gdb.INLINE_FRAME: "inline", gdb.SIGTRAMP_FRAME: "signal",
         gdb.TAILCALL_FRAME: "tailcall"}


def frames_of(thread):
    thread.switch()
    frames = []
    frame = gdb.newest_frame()
    reason = None
    while frame is not None and len(frames) < 300:
        frames.append([frame.pc(), KINDS.get(frame.type(), "other"), frame.name() or ""])
        reason = frame.unwind_stop_reason()
        try:
            frame = frame.older()
        except gdb.error:
            break
    return {"frames": frames, "reason": gdb.frame_stop_reason_string(reason) if reason is not None else ""}


def main():
    gdb.execute("set backtrace past-main on")
    gdb.execute("set backtrace past-entry on")
    gdb.execute("set backtrace limit unlimited")
    result = {}
    for thread in gdb.selected_inferior().threads():
        try:
            result[str(thread.ptid[1])] = frames_of(thread)
        except gdb.error as error:
            result[str(thread.ptid[1])] = {"frames": [], "reason": str(error)}
    with open(gdb.convenience_variable("truth_output").string(), "w", encoding="utf-8") as out:
        json.dump(result, out)


main()
