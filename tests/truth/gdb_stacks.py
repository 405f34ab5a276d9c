"""Run by gdb: the stacks of all threads of the attached process, as JSON: for
each thread its frames' addresses and kinds, innermost first, and the process's
mappings with code."""
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
    process = gdb.selected_inferior()
    result = {"threads": {}, "maps": []}
    for thread in process.threads():
        try:
            result["threads"][str(thread.ptid[1])] = frames_of(thread)
        except gdb.error as error:
            result["threads"][str(thread.ptid[1])] = {"frames": [], "reason": str(error)}
    with open("/proc/%d/maps" % process.pid, encoding="utf-8", errors="replace") as maps:
        for line in maps:
            fields = line.split(None, 5)
            if "x" in fields[1]:
                start, end = (int(x, 16) for x in fields[0].split("-"))
                result["maps"].append([start, end, int(fields[2], 16), fields[5].strip() if len(fields) > 5 else ""])
    with open(gdb.convenience_variable("truth_output").string(), "w", encoding="utf-8") as out:
        json.dump(result, out)


main()
