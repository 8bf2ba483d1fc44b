#!/bin/sh
# Maps all traces below a folder with GNU parallel over hosts that share the folders:
# map_parallel.sh TRACES TABLES HOST[,HOST…]
set -eu
traces=$1 tables=$2 hosts=$3
find "$traces" -type f -name '*.json*' -print0 |
    parallel -0 --sshlogin "$hosts" --workdir "$PWD" --retries 3 \
        "${TRACELENS:-tracelens}" map --quiet --jobs 1 --out "$tables" {}
