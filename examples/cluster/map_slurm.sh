#!/bin/sh
#SBATCH --job-name=tracelens-map
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
# A task of a Slurm array maps one trace: sbatch --array=0-1023 map_slurm.sh TRACES TABLES
set -eu
traces=$1 tables=$2
trace=$(find "$traces" -type f -name '*.json*' | sort | sed -n "$((SLURM_ARRAY_TASK_ID + 1))p")
test -n "$trace" || { echo "no trace number $SLURM_ARRAY_TASK_ID in $traces" >&2; exit 2; }
exec "${TRACELENS:-tracelens}" map "$trace" --jobs 1 --out "$tables"
