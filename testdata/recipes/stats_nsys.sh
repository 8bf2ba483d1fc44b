#!/usr/bin/env bash
# Have Nsight Systems make its own tables of exported recordings: stats_nsys.sh DIRECTORY_OF_SQLITE_FILES OUTPUT_DIRECTORY
set -euo pipefail

in=$1
out=$2
tables=(
    cuda_api_sum cuda_gpu_kern_sum cuda_gpu_kern_gb_sum cuda_gpu_mem_time_sum cuda_gpu_mem_size_sum cuda_gpu_trace
    cuda_kern_exec_sum nvtx_sum nvtx_kern_sum nvtx_gpu_proj_sum
)

for recording in nvtx_and_copies transformer_step; do
    mkdir -p "$out/$recording"
    scratch=$(mktemp -d)
    # It writes files beside the one that it reads.
    cp "$in/$recording.sqlite" "$scratch"
    for table in "${tables[@]}"; do
        # A row for each call of an operator says nothing that one recording does not.
        [[ $recording/$table == transformer_step/nvtx_* ]] && continue
        "${NSYS:-nsys}" stats --report "$table" --format csv --output "$scratch/x" "$scratch/$recording.sqlite" > /dev/null
        mv "$scratch/x_$table.csv" "$out/$recording/$table.csv"
    done
    rm -r "$scratch"
done
