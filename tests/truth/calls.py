#!/usr/bin/env python3
"""Calls and return values of library functions in packaged programs, as probes record them and as
gdb's breakpoints see them, in two runs of the same command.

Usage: calls.py [--argus build/argus]. Needs root, gdb and the programs; what is missing is passed over.
The last line says how many functions agree; the status is 1 when one does not."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = [
    # library, function, which arguments are numbers (pointers differ from run to run), the command
    ("libc.so.6", "getopt_long", [0], ["sort", "-r", "-n", "-k", "1,1", "-t", ":", "numbers"]),
    ("libz.so", "crc32", [0, 2], ["/usr/bin/python3", "-S", "-c", "import zlib\nc = 0\nfor i in range(40): c = zlib.crc32(b'x' * (8000 + i), c)"]),
    ("libsqlite3.so", "sqlite3_step", [], ["sqlite3", ":memory:", "create table t(a); insert into t values (1), (2), (3); select a * 2 from t;"]),
    ("libz.so", "deflate", [1], ["/usr/bin/python3", "-S", "-c", "import zlib\nfor i in range(30): zlib.compress(b'abc' * (9000 + i))"]),
    ("libcrypto.so", "EVP_DigestUpdate", [2], ["openssl", "dgst", "-sha256", "numbers"]),
]


def record(argus, work, library, function, command):
    names = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    path = next((line.split("=> ")[1] for line in names.splitlines() if library in line.split("=>")[0] and "x86-64" in line), None)
    if not path:
        return None
    done = subprocess.run([argus, "record", "-o", "calls.trace", "--probe", f"call={path}:{function}", "--probe", f"back={path}:{function}%return",
                           "--"] + command, cwd=work, capture_output=True, text=True, check=False)
    if not os.path.exists(os.path.join(work, "calls.trace")):
        raise SystemExit(f"calls: {function}: {done.stderr}")
    events = json.loads(subprocess.run([argus, "dump", "--json", "--type", "probe", "calls.trace"], cwd=work, capture_output=True,
                                       check=True).stdout)["events"]
    calls, open_calls = [], {}
    for event in events:
        if event["probe_name"] == "call":
            call = {"args": [int(event.get(f"arg{i}", "0"), 16) for i in (1, 2, 3)], "result": None}
            calls.append(call)
            open_calls.setdefault(event["tid"], []).append(call)
        elif open_calls.get(event["tid"]):
            open_calls[event["tid"]].pop()["result"] = int(event.get("result", "0"), 16)
    return calls


def by_gdb(work, library, function, command):
    output = os.path.join(work, "gdb.json")
    if os.path.exists(output):
        os.remove(output)
    subprocess.run(["gdb", "-nx", "-q", "-batch", "-ex", f'set $truth_function = "{function}"', "-ex", f'set $truth_library = "{library}"',
                    "-ex", f'set $truth_output = "{output}"', "-x", os.path.join(HERE, "gdb_calls.py"), "--args"] + command,
                   cwd=work, capture_output=True, check=False)
    if not os.path.exists(output):
        return None
    with open(output, encoding="utf-8") as file:
        return json.load(file)


def comparable(calls, numbers):
    """Results of functions that return int: the upper half of the register is left over."""
    return [([call["args"][i] & 0xffffffff for i in numbers], None if call["result"] is None else call["result"] & 0xffffffff) for call in calls]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--argus", default="build/argus")
    argus = os.path.abspath(options.parse_args().argus)
    agree, wrong, total = 0, [], 0
    if not shutil.which("gdb"):
        raise SystemExit("calls: gdb is missing")
    with tempfile.TemporaryDirectory() as work:
        with open(os.path.join(work, "numbers"), "w", encoding="utf-8") as file:
            file.writelines(f"{i * 7919 % 1000}:{i}\n" for i in range(20000))
        for library, function, numbers, command in CASES:
            program = shutil.which(command[0])
            if not program:
                print(f"{function}: {command[0]} is missing")
                continue
            command = [program] + command[1:]
            ours = record(argus, work, library, function, command)
            theirs = ours is not None and by_gdb(work, library, function, command)
            if not theirs:
                print(f"{function}: not called by {command[0]}, or gdb does not find it")
                continue
            same = comparable(ours, numbers) == comparable(theirs, numbers)
            total += len(theirs)
            agree += same
            print(f"{function} in {command[0]}: {len(ours)} calls, gdb {len(theirs)}: {'the same' if same else 'not the same'}")
            if not same:
                wrong.append(function)
                for i, (a, b) in enumerate(zip(comparable(ours, numbers), comparable(theirs, numbers))):
                    if a != b:
                        print(f"  call {i}: {a}, gdb {b}")
                        break
    print(f"calls: {agree} functions agree in {total} calls, {len(wrong)} do not")
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
