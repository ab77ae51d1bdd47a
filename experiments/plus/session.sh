#!/usr/bin/env bash
# The runs that a session with one GPU makes first, in two lanes side by side under MPS:
#
#     bash experiments/plus/session.sh DATA OUT [SECONDS]
#
# DATA holds cifar-10-batches-py and fashion-mnist. New lines are copied to OUT as they come; put them into results/
# afterwards. After SECONDS (1500) no further command starts and those at work are stopped. The same call goes on where
# the last one ended, as long as /tmp/plus is there.
set -u
data=$1 out=$2 until=$(($(date +%s) + ${3:-1500}))
cd "$(dirname "$0")/../.."
export PYTHONPATH=src PYTHONUNBUFFERED=1 DISTPU_DATA=$data OMP_NUM_THREADS=4
mkdir -p "$out" /tmp/plus
pgrep -f nvidia-cuda-mps-control >/dev/null || nvidia-cuda-mps-control -d

make() { # LANE NAME ARGUMENTS
    local lane=$1 left=$((until - $(date +%s))); shift
    if [ "$left" -lt 60 ]; then echo "no time left for $*"; return; fi
    echo "== $(date +%T) lane $lane: $*"
    timeout "$left" python3 -m distpu reproduce "$@" --results "/tmp/plus/$lane/results" --runs "/tmp/plus/$lane/runs" 2>&1
}
lane_a() { # two runs at a time: about 450 s each beside lane b
    make a plus-cifar-10 --only ResNet-18 --jobs 2
    make a plus-cifar-10 --only "ResNet-18 with an estimated prior" --jobs 2
}
lane_b() { # about 170 s a run on Fashion-MNIST, 310 s on CIFAR-10
    until [ -e "$data/fashion-mnist" ]; do sleep 1; done
    make b plus-other-sets --only "CNN-13 with a rising rate" --jobs 1
    make b plus-cifar-10 --only "CNN-13 in 60 epochs" --jobs 1 --seeds 2
    make b plus-cifar-10 --only "CNN-13 with a rising rate" --jobs 1
    make b plus-cifar-10 --only "CNN-13 with an estimated prior" --jobs 1
}
keep() {
    for file in /tmp/plus/?/results/plus/*/runs.jsonl; do
        [ -e "$file" ] || continue
        lane=$(echo "$file" | cut -d/ -f4) name=$(basename "$(dirname "$file")")
        cmp -s "$file" "results/plus/$name/runs.jsonl" || cp -f "$file" "$out/$name-$lane.jsonl"
    done
}
for lane in a b; do # lines that are there are not made again
    mkdir -p "/tmp/plus/$lane/results" && cp -r results/plus "/tmp/plus/$lane/results/"
done
while sleep 5; do keep; done &
keeper=$!
trap 'kill $keeper; keep' EXIT
lane_a &
a=$!
lane_b &
wait $a $!
echo "== $(date +%T) done"
