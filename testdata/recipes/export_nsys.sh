#!/usr/bin/env bash
# Make sanitised SQLite databases of what record_nsys.sh left: export_nsys.sh INPUT_DIRECTORY OUTPUT_DIRECTORY
# Takes .nsys-rep files, and .qdstrm files where IMPORTER names the QdstrmImporter of the version that recorded them.
set -euo pipefail

in=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

shopt -s nullglob
for stream in "$in"/*.qdstrm; do
    report=${stream%.qdstrm}.nsys-rep
    [ -e "$report" ] || "${IMPORTER:?the QdstrmImporter of Nsight Systems}" -i "$stream" -o "$report" > /dev/null
done
for report in "$in"/*.nsys-rep; do
    database=$out/$(basename "$report" .nsys-rep).sqlite
    "${NSYS:-nsys}" export --quiet true --type sqlite --force-overwrite true --output "$database" "$report" > /dev/null
    "${PYTHON:-python3}" "$here/sanitise_nsys.py" "$database"
done
