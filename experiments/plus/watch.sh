#!/usr/bin/env bash
# How far session.sh is:   bash experiments/plus/watch.sh OUT SECONDS
# Prints the newest epoch of each run every half minute, then the end of the log; OUT gets the lines and the logs.
set -u
out=$1 until=$(($(date +%s) + $2))
mkdir -p "$out"
while [ "$(date +%s)" -lt "$until" ]; do
    sleep 30
    find /tmp/plus -name metrics.jsonl -newermt "-40 seconds" | while read -r file; do
        echo "$(date +%T) $(basename "$(dirname "$file")" | cut -c1-60) $(tail -n 1 "$file" | cut -c1-120)"
    done
    cp /tmp/plus/out/*.jsonl "$out/" 2>/dev/null
done
grep -v '^$' /tmp/plus/session.log | tail -n 20 | cut -c1-200
find /tmp/plus -name metrics.jsonl -o -name prior.json -o -name session.log | tar czf "$out/logs.tgz" -T -
