#!/bin/bash
# xmllint (libxml2 2.9): the check for duplicate attributes is quadratic in their number.
. "$(dirname "$0")/../lib.sh"

buggy && attributes=45000 || attributes=2000
perl -e 'print "<r"; printf " a%d=\"v\"", $_ for 1 .. $ARGV[0]; print "/>\n"' $attributes >"$W/in.xml"
timed "$W/victim" 39 xmllint --noout --huge "$W/in.xml" &
finish xmllint
