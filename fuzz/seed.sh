#!/bin/sh
# Fills corpus/<target> with small pieces of the repository's test data. Needs Python 3.9 or later, nothing else.
set -eu
cd "$(dirname "$0")"
exec python3 seeds.py ../testdata corpus
