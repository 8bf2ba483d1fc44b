#!/usr/bin/env bash
# Count what the hardware does in each case of operators.py: operator_counters.sh OUTPUT_DIRECTORY
# Needs Nsight Compute (ncu) and the right to read counters. Writes OUTPUT_DIRECTORY/operator_counters.csv: a row for each kernel.
set -euo pipefail

out=$1
here=$(cd "$(dirname "$0")" && pwd)
ncu=${NCU:-ncu}

# Operations of the matrix units by type of their operands, of the ordinary units by instruction, and the bytes that
# memory and the second-level cache moved.
counters=(
    gpu__time_duration.sum
    dram__bytes_read.sum dram__bytes_write.sum
    lts__t_sectors_srcunit_tex_op_read.sum lts__t_sectors_srcunit_tex_op_write.sum
    sm__ops_path_tensor_src_{bf16_dst_fp32,fp16,tf32_dst_fp32,fp8,int8,fp64}.sum
    sm__sass_thread_inst_executed_op_{f,h,d}{add,mul,fma}_pred_on.sum
)
"$ncu" --profile-from-start off --nvtx --clock-control none --csv --page raw --print-units base \
    --metrics "$(IFS=,; echo "${counters[*]}")" --log-file "$out/operator_counters.raw.csv" \
    "${PYTHON:-python3}" "$here/operators.py" --out "$out" --counters
"${PYTHON:-python3}" "$here/counters_by_case.py" "$out/operator_counters.raw.csv" "$out/operator_counters.csv"
rm "$out/operator_counters.raw.csv"
