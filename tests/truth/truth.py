#!/usr/bin/env python3
"""Compares recorded stacks with those that other walkers find in the same stopped
threads (references.py).

A program runs under load and is recorded; every now and then it is stopped by
SIGSTOP, which leaves each thread a switch with its stack, and each reference walks
the same stacks. Counted for each program: how many stacks are whole (those that end
in code made at run time, without a way through, are told apart), and of those that
a reference walked to their end, how many frames are equal. Less than 99 % of either,
or a program of which no reference knows most stacks, is a failure.

usage: truth.py [--argus PROGRAM] [--stops N] [PROGRAM...]
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from programs import CASES, Skip, need, state_of, threads_of, wait_for
from references import JIT, PROGRAMS, REFERENCES, mappings

FRAMES_KEPT = 127


def stop_process(pid):
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: all(state_of(pid, t) in "TtX" for t in threads_of(pid)), "the stop of %d" % pid)


class Comparison:
    """With one reference."""

    def __init__(self):
        self.stacks = self.frames = self.equal = 0

    def add(self, ours, truth):
        """False when they differ."""
        truth = truth[:FRAMES_KEPT]
        equal = 0
        while equal < min(len(ours), len(truth)) and ours[equal] == truth[equal]:
            equal += 1
        self.stacks += 1
        self.frames += len(truth)
        self.equal += equal
        return equal == len(truth) == len(ours)

    def share(self):
        return 100 * self.equal / self.frames if self.frames else None


class Score:
    def __init__(self, references):
        self.stacks = self.whole = self.jit = self.missing = self.known = 0
        self.deepest = 0
        self.with_reference = {r: Comparison() for r in references}
        self.differences = []

    def add(self, name, tid, recorded, truths):
        ours = [(f["module"] if not f["module"].startswith("/tmp/perf-") else JIT, f["address"]) for f in recorded]
        ends = recorded[-1].get("ends") if recorded else "none"
        if ends == "jit":
            self.jit += 1
            return
        self.stacks += 1
        self.whole += ends is None or (ends == "too_deep" and len(ours) == FRAMES_KEPT)
        self.deepest = max(self.deepest, len(ours))
        self.known += any(truths.values())
        for reference, truth in truths.items():
            if truth and not self.with_reference[reference].add(ours, truth):
                self.differences.append({"program": name, "tid": tid, "ends": ends, "ours": ours, "reference": reference,
                                         "truth": truth})

    def whole_share(self):
        return 100 * self.whole / max(self.stacks, 1)

    def good(self):
        shares = [c.share() for c in self.with_reference.values()]
        return self.stacks > 0 and self.whole_share() >= 99 and self.known > self.stacks / 2 and \
            all(share is None or share >= 99 for share in shares)


def row(name, score):
    text = "%-14s %7d %6.1f %% %7d %9d %8d" % (name, score.stacks, score.whole_share(), score.deepest, score.missing, score.jit)
    for comparison in score.with_reference.values():
        share = comparison.share()
        text += "  %7d %8d %9s" % (comparison.stacks, comparison.frames, "-" if share is None else "%.2f %%" % share)
    return text


def is_walked(options, trace, pids):
    """Whether each process's stack at a stop made just now is walked to its end."""
    for pid in pids:
        stop_process(pid)
        os.kill(pid, signal.SIGCONT)
    dump = subprocess.run([options.argus, "dump", "--json", "--stacks", "-e", "switch"] + [a for p in pids for a in ("-p", str(p))] +
                          [trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    walked = {e["tid"] for e in (json.loads(dump)["events"] if dump else [])
              if e.get("state") == "stopped" and e.get("stack") and not e["stack"][-1].get("ends")}
    return walked >= set(pids)


def until_walked(options, trace, pids):
    """Waits until the tables are there; of what is never walked the comparison tells."""
    until = time.monotonic() + 20
    while not (os.path.exists(trace) and is_walked(options, trace, pids)) and time.monotonic() < until:
        time.sleep(0.2)


def look(name, case, options, references, folder):
    pids = case.start()
    trace = folder + "/truth.trace"
    recorder = subprocess.Popen([options.argus, "record", "-a", "-o", trace, "--stacks", "waits", "--freq", "0"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    truths = []
    try:
        until_walked(options, trace, pids)
        until = time.monotonic() + options.seconds
        for _ in range(options.stops):
            for pid in pids:
                if time.monotonic() > until:
                    break
                time.sleep(random.uniform(0.01, 0.15))
                stop_process(pid)
                when, maps = time.monotonic_ns(), mappings(pid)
                truths.append((when, {r: REFERENCES[r](pid, maps, folder) for r in references}))
                os.kill(pid, signal.SIGCONT)
    finally:
        recorder.send_signal(signal.SIGINT)
        recorder.wait()
    score = Score(references)
    dump = json.loads(subprocess.run([options.argus, "dump", "--json", "--stacks", "-e", "switch"] +
                                     [a for p in set(pids) for a in ("-p", str(p))] + [trace],
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)
    stopped = {}
    for event in dump["events"]:
        if event.get("state") == "stopped":
            stopped.setdefault(event["tid"], []).append(event)
    for when, found in truths:
        for tid in set().union(*found.values()):
            before = [e for e in stopped.get(tid, []) if e["time_ns"] < when]
            if before:
                score.add(name, tid, before[-1].get("stack", []), {r: found[r].get(tid) for r in references})
            else:
                score.missing += 1
    if options.keep:
        shutil.copy(trace, options.keep + "/" + name + ".trace")
        with open(options.keep + "/" + name + ".json", "w", encoding="utf-8") as out:
            json.dump(score.differences, out, indent=1)
    return score


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--argus", default="argus")
    parser.add_argument("--stops", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=90, help="stop no more after so long")
    parser.add_argument("--keep", help="folder for traces and differences")
    parser.add_argument("programs", nargs="*", help=", ".join(CASES))
    options = parser.parse_args()
    references = [r for r in REFERENCES if shutil.which(PROGRAMS[r])]
    failed = False
    if not references:
        need(*PROGRAMS.values())
    print("%-14s %7s %8s %7s %9s %8s" % ("program", "stacks", "whole", "deepest", "unpaired", "JIT end") +
          "".join("  %7s %8s %9s" % (r[:7], "frames", "equal") for r in references))
    for name in options.programs or CASES:
        folder = tempfile.mkdtemp(prefix="truth-")
        case = CASES[name](folder)
        try:
            score = look(name, case, options, references, folder)
        except (Skip, subprocess.SubprocessError, OSError) as reason:
            print("%-14s skipped: %s" % (name, reason), flush=True)
            continue
        finally:
            case.stop()
            shutil.rmtree(folder, ignore_errors=True)
        print(row(name, score), flush=True)
        failed |= not score.good()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
