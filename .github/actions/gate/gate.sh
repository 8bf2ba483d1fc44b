#!/usr/bin/env bash
# Runs `tracelens gate` for the action beside it and ends with its exit code.
# BASELINE, CANDIDATE: patterns of files, one a line. CONFIG: thresholds file, or empty. COMMENT: true for a comment of the
# pull request PULL_REQUEST, written by `gh` with the token of the job.
set -euo pipefail

# expand SIDE PATTERNS: prints the files that the patterns stand for, one a line.
expand() {
    local side="$1" pattern found=0
    while IFS= read -r pattern; do
        if [ -z "${pattern//[[:space:]]/}" ]; then
            continue
        fi
        if ! compgen -G "$pattern"; then
            echo "tracelens gate: no file of the ${side} matches ${pattern}" >&2
            exit 2
        fi
        found=1
    done <<< "$2"
    if [ "$found" = 0 ]; then
        echo "tracelens gate: the input ${side} names no file" >&2
        exit 2
    fi
}

# comment FILE: replaces the comment of the pull request that an earlier run wrote, or writes one.
comment() {
    local comments="repos/${GITHUB_REPOSITORY}/issues/${PULL_REQUEST}/comments" mine
    mine="$(gh api --paginate "$comments" \
        --jq '.[] | select(.body | startswith("<!-- tracelens-gate -->")) | .id' | head -n 1)"
    if [ -n "$mine" ]; then
        gh api --method PATCH "repos/${GITHUB_REPOSITORY}/issues/comments/${mine}" -F "body=@$1" > /dev/null
    else
        gh api --method POST "$comments" -F "body=@$1" > /dev/null
    fi
}

files="$(expand baseline "$BASELINE")"
mapfile -t baseline <<< "$files"
files="$(expand candidate "$CANDIDATE")"
mapfile -t candidate <<< "$files"
report="${RUNNER_TEMP}/tracelens-gate.md"
json="${RUNNER_TEMP}/tracelens-gate.json"
rm -f "$report" "$json"
arguments=(--baseline "${baseline[@]}" --candidate "${candidate[@]}" --markdown "$report" --json)
if [ -n "${CONFIG:-}" ]; then
    arguments+=(--config "$CONFIG")
fi
code=0
tracelens gate "${arguments[@]}" > "$json" || code=$?

# Members of the result are indented by four blanks, those of its parts by more.
verdict="$(sed -n '/^  "result": {$/,/^  }/s/^    "verdict": "\([a-z_]*\)",\{0,1\}$/\1/p' "$json")"
slowdown="$(sed -n '/^  "result": {$/,/^  }/s/^    "slowdown_pct": \([-0-9.e]*\),\{0,1\}$/\1/p' "$json")"
{
    echo "verdict=${verdict}"
    echo "slowdown-pct=${slowdown}"
    echo "report=${report}"
} >> "$GITHUB_OUTPUT"
if [ -f "$report" ]; then
    cat "$report" >> "$GITHUB_STEP_SUMMARY"
    if [ "${COMMENT:-false}" = true ] && [ -n "${PULL_REQUEST:-}" ]; then
        comment "$report" || echo "::warning::the comment of the pull request could not be written"
    fi
fi
exit "$code"
