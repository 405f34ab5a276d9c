"""service.py NAME PEER base|buggy OUT TIMEOUT_MS: t.browser asks t.renderer to render, five
times; a buggy renderer asks the browser for a box first, and the browser is blocked."""
import os
import sys
import time

from gi.repository import Gio, GLib

name, peer, mode, out, timeout = *sys.argv[1:5], int(sys.argv[5])
loop = GLib.MainLoop()
bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
INTERFACE = Gio.DBusNodeInfo.new_for_xml('<node><interface name="t.I">'
                                         '<method name="Render"><arg type="s" direction="out"/></method>'
                                         '<method name="Box"><arg type="s" direction="out"/></method>'
                                         '</interface></node>').interfaces[0]


def call(method):
    try:
        return bus.call_sync(peer, '/o', 't.I', method, None, None, Gio.DBusCallFlags.NONE, timeout, None).unpack()[0]
    except GLib.Error:
        return 'timeout'


def on_call(connection, sender, path, interface, method, arguments, invocation):
    if name == 't.renderer' and method == 'Render' and mode == 'buggy':
        call('Box')
    invocation.return_value(GLib.Variant('(s)', ('ok',)))


first_ns, inputs = 0, 0


def on_input():
    global first_ns, inputs
    first_ns = first_ns or time.monotonic_ns()
    call('Render')
    inputs += 1
    if inputs < 5:
        return True
    open(out + '.part', 'w').write('%d %d %d 0\n' % (os.getpid(), first_ns, time.monotonic_ns()))
    os.rename(out + '.part', out)
    return False


def start():
    GLib.timeout_add(20, on_input)
    return False


bus.register_object('/o', INTERFACE, on_call, None, None)
Gio.bus_own_name_on_connection(bus, name, Gio.BusNameOwnerFlags.NONE, None, None)
if name == 't.browser':
    GLib.timeout_add(1000, start)
loop.run()
