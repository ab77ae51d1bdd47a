#!/bin/sh
# One machine: one process per GPU. Without GPUs, start as many processes as the machine has spare cores.
# Usage: sh examples/cluster/torchrun.sh transactions.parquet fraud
set -eu
GPUS=$(nvidia-smi --list-gpus 2>/dev/null | wc -l)
[ "$GPUS" -gt 0 ] || GPUS=2
exec torchrun --standalone --nproc-per-node "$GPUS" -m distpu fit "$1" --label "$2" \
    --method dist-pu --folder "runs/$(basename "$1")-dist-pu"
