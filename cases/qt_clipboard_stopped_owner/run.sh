#!/bin/bash
# FeatherPad (Qt 5): Ctrl+V while the owner of the X11 selection (xclip) is stopped: the GUI thread
# waits in QXcbClipboard until its 5 s timeout.
. "$(dirname "$0")/../lib.sh"

display_start
bus_start
echo "some text" >"$W/clip"
background xclip -quiet -selection clipboard -i "$W/clip" 2>/dev/null
owner=$LAST
actor root_selection_owner "$owner"
sleep 0.4
background featherpad --standalone "$W/new.txt" 2>/dev/null
ping_start $LAST "$W/victim" 39
sleep 2
xdotool windowfocus "$WINDOW"
sleep 0.3
buggy && kill -STOP "$owner"
xdotool key ctrl+v
sleep 15.5
kill -CONT "$owner"
ping_end "$W/victim"
report_file "$W/victim" featherpad
