#!/bin/sh
# Assembles the playground as one file that needs no network and no server: build.sh PACKAGE_FOLDER OUT_FOLDER
set -eu
mkdir -p "$2"
exec node "$(dirname "$0")/assemble.js" "$1" "$2/index.html"
