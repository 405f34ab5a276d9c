#!/bin/bash
# The pack of Qt 5.
. "$HERE/live/_qt.sh" 5
