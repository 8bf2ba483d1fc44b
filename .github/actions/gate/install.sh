#!/usr/bin/env bash
# Installs tracelens for the action beside it. VERSION: the version; empty takes what is there, else the newest.
set -euo pipefail

if [ -z "${VERSION:-}" ] && command -v tracelens > /dev/null; then
    echo "using $(command -v tracelens)"
    exit 0
fi
package="tracelens${VERSION:+@${VERSION}}"
if command -v cargo-binstall > /dev/null; then
    cargo binstall --no-confirm --locked "$package"
else
    cargo install --locked "$package"
fi
