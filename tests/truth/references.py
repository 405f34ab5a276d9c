"""Two walkers that owe nothing to Argus, asked for the stacks of a stopped process:
gdb, and elfutils (eu-stack). Each knows where the other is lost: gdb guesses where
it finds no call frame information (most of Chromium has none), elfutils goes by the
frame pointer there; and it stops at what it cannot evaluate.

A walker's answer: thread -> list of (module, offset), or None where it was lost.
Of a caller the address is the one before that which it returns to, as in a trace.
"""
import json
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
JIT = ""    # module of code that lies in no file


def mappings(pid):
    """Those with code: start, end, offset, path."""
    found = []
    with open("/proc/%d/maps" % pid, encoding="utf-8", errors="replace") as maps:
        for line in maps:
            fields = line.split(None, 5)
            if "x" in fields[1]:
                start, end = (int(x, 16) for x in fields[0].split("-"))
                path = fields[5].strip().removesuffix(" (deleted)") if len(fields) > 5 else ""
                found.append((start, end, int(fields[2], 16), path))
    return found


def place(maps, pc):
    """None where there is no code."""
    for start, end, offset, path in maps:
        if start <= pc < end:
            return (path, pc - start + offset) if path.startswith("/") or path == "[vdso]" else (JIT, pc)
    return None


def placed(maps, addresses):
    frames = [place(maps, a) for a in addresses]
    return frames if frames and None not in frames else None


def gdb(pid, maps, folder, but=()):
    """Without frames of the functions `but`."""
    output = folder + "/gdb.json"
    if os.path.exists(output):
        os.unlink(output)
    subprocess.run(["gdb", "-nx", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off", "-p", str(pid),
                    "-ex", "set $truth_output = \"%s\"" % output, "-x", HERE + "/gdb_stacks.py"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=100, check=False)
    found = {}
    with open(output, encoding="utf-8") as file:
        for tid, thread in json.load(file).items():
            addresses, exact = [], True
            for pc, kind, function in thread["frames"]:
                if kind in ("inline", "tailcall"):
                    continue
                if pc == 0:
                    break
                if function not in but:
                    addresses.append(pc if exact else pc - 1)
                exact = kind == "signal"
            found[int(tid)] = placed(maps, addresses) if thread["reason"] == "outermost" else None
    return found


def as_recorded(frames):
    """From (address, exact?): elfutils takes a signal's trampoline as exact, as what the signal interrupted."""
    addresses, at = [], 0
    while at < len(frames):
        address, exact = frames[at]
        trampoline = 0 < at < len(frames) - 1 and exact and frames[at + 1][1]
        addresses.append(address if exact and not trampoline else address - 1)
        if trampoline:
            at += 1
            addresses.append(frames[at][0])
        at += 1
    return addresses


def elfutils(pid, maps, _folder):
    shown = subprocess.run(["eu-stack", "-a", "-q", "-n", "0", "-p", str(pid)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           stdin=subprocess.DEVNULL, timeout=100, check=False, text=True, errors="replace",
                           env=dict(os.environ, DEBUGINFOD_URLS="")).stdout
    addresses, lost, tid = {}, set(), 0
    for line in shown.splitlines():
        thread, frame = re.match(r"TID (\d+):", line), re.match(r"#\d+ +0x([0-9a-f]+)(.*)", line)
        if thread:
            tid = int(thread.group(1))
            addresses[tid] = []
        elif frame and tid:
            addresses[tid].append((int(frame.group(1), 16), " - 1" not in frame.group(2)))
        elif "dwfl_thread_getframes" in line:
            lost.add(tid)
    return {t: None if t in lost else placed(maps, as_recorded(a)) for t, a in addresses.items()}


REFERENCES = {"gdb": gdb, "elfutils": elfutils}
PROGRAMS = {"gdb": "gdb", "elfutils": "eu-stack"}
