#!/usr/bin/env bash
# The runs that a session with one GPU makes first, in order, several at a time under MPS:
#
#     bash experiments/plus/session.sh DATA OUT [SECONDS]
#
# DATA holds cifar-10-batches-py and fashion-mnist. After each run the new lines are copied to OUT; put them into
# results/ afterwards. After SECONDS (1500) no further command starts and the one at work is stopped. The same call goes
# on where the last one ended, as long as /tmp/plus is there.
set -u
data=$1 out=$2 until=$(($(date +%s) + ${3:-1500}))
cd "$(dirname "$0")/../.."
export PYTHONPATH=src PYTHONUNBUFFERED=1 DISTPU_DATA=$data
mkdir -p "$out" /tmp/plus/results
cp -rn results/plus /tmp/plus/results/ # lines that are there are not made again
pgrep -f nvidia-cuda-mps-control >/dev/null || nvidia-cuda-mps-control -d

make() { # NAME ARGUMENTS
    local left=$((until - $(date +%s)))
    if [ "$left" -lt 60 ]; then echo "no time left for $*"; return; fi
    echo "== $(date +%T) $*"
    timeout "$left" python3 -m distpu reproduce "$@" --results /tmp/plus/results --runs /tmp/plus/runs 2>&1
}
keep() {
    for file in /tmp/plus/results/plus/*/runs.jsonl; do
        [ -e "$file" ] && cp -f "$file" "$out/$(basename "$(dirname "$file")").jsonl"
    done
}
while sleep 5; do keep; done &
keeper=$!
trap 'kill $keeper; keep' EXIT

make plus-cifar-10 --only CNN-13 --jobs 3              # 3 more: 390 s by what two took
make plus-other-sets --only CNN-13 --jobs 3            # 200 s
make search-plus-fashion-mnist --jobs 5                # 120 s
make plus-cifar-10 --only ResNet-18 --jobs 2           # 1,200 s
make plus-cifar-10 --only "CNN-13 with an estimated prior" --jobs 3
echo "== $(date +%T) done"
