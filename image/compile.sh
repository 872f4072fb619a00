#!/bin/sh
# Lets Node keep what it compiles, for one user, and readable by no other: half of a start is compiling, of the process and of each thread.
# Usage: compile.sh [OPTION...], with the options of the start: code that was compiled with others is not used.
set -e
install --directory --owner=10001 compile-cache
setpriv --reuid=10001 --regid=10001 --clear-groups node "$@" image/compile.js
chown --recursive root:root compile-cache
chmod --recursive go+rX compile-cache
