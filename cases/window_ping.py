"""window_ping.py PID OUT SECONDS: finds the process's largest window that answers
_NET_WM_PING and asks it every 50 ms, as a window manager does. OUT.ready gets the
window when it first answered; at SIGTERM or the end, OUT "pid sent_ns answered_ns
count" of the slowest answer."""
import select
import signal
import sys
import time

from Xlib import X, display
from Xlib.protocol import event

pid, out, seconds = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
server = display.Display()
server.set_error_handler(lambda *_: None)
root = server.screen().root
root.change_attributes(event_mask=X.SubstructureNotifyMask | X.StructureNotifyMask)
PROTOCOLS, PING, PID = (server.intern_atom(n) for n in ('WM_PROTOCOLS', '_NET_WM_PING', '_NET_WM_PID'))
STARTING_NS, PAUSE_NS = 500_000_000, 50_000_000
now = time.monotonic_ns
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))


def find():
    best = None
    for window in root.query_tree().children:
        try:
            owner = window.get_full_property(PID, X.AnyPropertyType)
            protocols = window.get_full_property(PROTOCOLS, X.AnyPropertyType)
            if not (owner and owner.value[0] == pid and protocols and PING in protocols.value):
                continue
            if window.get_attributes().map_state != X.IsViewable:
                continue
            shape = window.get_geometry()
            if best is None or shape.width * shape.height > best[0]:
                best = (shape.width * shape.height, window)
        except Exception:      # the window went away between two requests
            continue
    return best and best[1]


end = now() + int(seconds * 1e9)
window = None
while not window and now() < end:
    window = find()
    window or time.sleep(.05)
if not window:
    open(out, 'w').write('no window\n')
    sys.exit(1)

answers, number, sent, due, answered = [], 1, 0, now(), False
while not stop and now() < end:
    if sent and not answered and now() - sent > STARTING_NS:   # still starting: a ping may be lost
        sent, window = 0, find() or window
    if not sent and now() >= due:
        number += 1
        window.send_event(event.ClientMessage(window=window, client_type=PROTOCOLS,
                                              data=(32, [PING, number, window.id, 0, 0])), event_mask=0)
        server.flush()
        sent = now()
    while server.pending_events():
        came = server.next_event()
        if came.type & 127 != X.ClientMessage or came.client_type != PROTOCOLS or not sent:
            continue
        if came.data[1][0] != PING or came.data[1][1] != number:
            continue
        if answered:
            answers.append((now() - sent, sent, now()))
        else:
            open(out + '.ready', 'w').write(hex(window.id))
            answered = True
        sent, due = 0, now() + PAUSE_NS
    select.select([server.fileno()], [], [], .02)
if sent:
    answers.append((now() - sent, sent, now()))
slowest = max(answers, default=(0, 0, 0))
open(out, 'w').write('%d %d %d %d\n' % (pid, slowest[1], slowest[2], len(answers)))
