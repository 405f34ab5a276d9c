"""Run by gdb: each call of one function of a program that it starts: the first three integer
arguments, and the value returned, as JSON."""
import json

import gdb

calls = []


def number(name):
    return int(gdb.parse_and_eval(name)) & (1 << 64) - 1


class Return(gdb.FinishBreakpoint):
    def __init__(self, call):
        super().__init__(gdb.newest_frame(), internal=True)
        self.silent = True
        self.call = call

    def stop(self):
        self.call["result"] = number("$rax")
        return False


class Call(gdb.Breakpoint):
    def stop(self):
        call = {"args": [number("$rdi"), number("$rsi"), number("$rdx")], "result": None}
        calls.append(call)
        Return(call)
        return False


def main():
    function = gdb.convenience_variable("truth_function").string()
    library = gdb.convenience_variable("truth_library").string()
    found = []

    def loaded(event):
        if library in event.new_objfile.filename and not found:
            found.append(Call(f"*{int(gdb.parse_and_eval(f'(unsigned long)&{function}')):#x}", internal=True))

    gdb.events.new_objfile.connect(loaded)
    gdb.execute("run")
    with open(gdb.convenience_variable("truth_output").string(), "w", encoding="utf-8") as out:
        json.dump(calls, out)


main()
