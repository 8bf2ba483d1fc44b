#!/bin/sh
# Builds the wheel in an image of manylinux or musllinux, which has Python and a C compiler:
#
#   docker run --rm --volume "$PWD:/io" --workdir /io quay.io/pypa/manylinux_2_28_x86_64 sh packaging/wheel.sh
set -eu

curl --proto '=https' --tlsv1.2 --silent --show-error --fail https://sh.rustup.rs \
    | sh -s -- -y --quiet --profile minimal --default-toolchain 1.95.0
PATH="$HOME/.cargo/bin:/opt/python/cp312-cp312/bin:$PATH"
python -m pip install --quiet 'maturin>=1.9,<2'
cargo install --locked cargo-about@0.9.3 --features cli
# The checkout is another user's.
git config --global --add safe.directory "$PWD"
cargo xtask dist --wheel
