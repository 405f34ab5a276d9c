#!/bin/bash
# mousepad: a second "mousepad FILE" waits in a D-Bus call for the first instance, whose main
# thread lays out one huge line.
. "$(dirname "$0")/../lib.sh"

display_start
bus_start
actor dbus_daemon "$BUS"
long_line "$W/big.txt"
echo hi >"$W/small.txt"
background mousepad "$W/big.txt" 2>/dev/null
first=$LAST
actor root_first_mousepad "$first"
ping_start "$first" "$W/starting" 60
sleep 6
ping_end "$W/starting" 300
xdotool windowfocus "$WINDOW" 2>/dev/null
sleep 0.5
for key in a b c d e; do xdotool key $key; done
sleep 0.5
timed "$W/victim" 39 mousepad "$W/small.txt" 2>/dev/null &
finish mousepad
