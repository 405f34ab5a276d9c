#!/bin/bash
# Two GLib services call each other synchronously over D-Bus; only a 1.5 s call timeout breaks the
# circle, and each request closes it again: a livelock.
. "$(dirname "$0")/../lib.sh"

display_start
bus_start
actor dbus_daemon "$BUS"
background /usr/bin/python3 "$FOLDER/service.py" t.renderer t.browser "$MODE" "$W/victim" 4000
actor renderer $LAST
background /usr/bin/python3 "$FOLDER/service.py" t.browser t.renderer "$MODE" "$W/victim" 1500
actor browser $LAST
finish python3
