#!/bin/bash
# mousepad (GTK 3): keys are typed into a file that is one huge line; at each, the main thread lays
# the line out again in Pango.
. "$(dirname "$0")/../lib.sh"

display_start
bus_start
long_line "$W/big.txt"
background mousepad --disable-server "$W/big.txt" 2>/dev/null
victim=$LAST
ping_start "$victim" "$W/starting" 60
sleep 6
ping_end "$W/starting" 300
ping_start "$victim" "$W/victim" 60
xdotool windowfocus "$WINDOW" 2>/dev/null
sleep 0.5
xdotool key --delay 2 x y z
sleep 9
ping_end "$W/victim"
report_file "$W/victim" mousepad
