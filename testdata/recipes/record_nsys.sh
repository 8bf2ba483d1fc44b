#!/usr/bin/env bash
# Record recipes with Nsight Systems: record_nsys.sh OUTPUT_DIRECTORY
# Where nsys cannot finish its files (no importer on the machine with the GPU), it leaves .qdstrm files behind;
# export_nsys.sh takes either.
set -uo pipefail

out=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

failed=0
record() { # NAME RECIPE NSYS_OPTION…
    local name=$1 recipe=$2
    shift 2
    "${NSYS:-nsys}" profile --trace=cuda,nvtx --sample=none --cpuctxsw=none \
        --capture-range=cudaProfilerApi --capture-range-end=stop "$@" --force-overwrite=true --output="$out/$name" \
        "${PYTHON:-python3}" "$here/$recipe.py" --device cuda --out "$out" --nsys || { echo "FAILED $name"; failed=1; }
}
record transformer_step transformer_step
record nvtx_and_copies nvtx_and_copies
record cuda_graph_nodes cuda_graph_replay --cuda-graph-trace=node
record cuda_graph_whole cuda_graph_replay --cuda-graph-trace=graph
exit $failed
