#!/bin/bash
# The pack of Qt 6.
. "$HERE/live/_qt.sh" 6
