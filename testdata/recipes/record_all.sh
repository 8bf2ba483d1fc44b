#!/usr/bin/env bash
# Record every trace that a device can show, then check them: record_all.sh cuda|cpu OUTPUT_DIRECTORY
# A recipe that fails is reported and the others still run; the exit status says whether any did.
set -uo pipefail

device=$1 out=$2
here=$(cd "$(dirname "$0")" && pwd)
recipes=(transformer_step transformer_fp8 conv_net_step compiled_block stacks_modules collectives iterations)
[[ $device == cuda ]] && recipes+=(cuda_graph_replay compiled_attention experts_step)

export PYTHONDONTWRITEBYTECODE=1
# Compiled code comes from this run, not from a cache that an earlier one left.
export TORCHINDUCTOR_CACHE_DIR; TORCHINDUCTOR_CACHE_DIR=$(mktemp -d)
trap 'rm -rf "$TORCHINDUCTOR_CACHE_DIR"' EXIT

failed=0
for recipe in "${recipes[@]}"; do
    "${PYTHON:-python3}" "$here/$recipe.py" --device "$device" --out "$out" || { echo "FAILED $recipe"; failed=1; }
done
# JAX may live in an environment of its own; without a GPU it falls back to the CPU by itself.
"${PYTHON_JAX:-${PYTHON:-python3}}" "$here/jax_step.py" --out "$out" || { echo "FAILED jax_step"; failed=1; }
"${PYTHON:-python3}" "$here/check.py" "$out"/*.json.gz || failed=1
exit $failed
