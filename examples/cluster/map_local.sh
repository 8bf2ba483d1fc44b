#!/bin/sh
# Maps all traces below a folder, some at a time: map_local.sh TRACES TABLES [AT_ONCE]
set -eu
traces=$1 tables=$2 at_once=${3:-2}
find "$traces" -type f \( -name '*.json' -o -name '*.json.gz' -o -name '*.json.zst' \) -print0 |
    xargs -0 -n 1 -P "$at_once" "${TRACELENS:-tracelens}" map --quiet --jobs 1 --out "$tables"
