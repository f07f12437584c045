#!/usr/bin/env python3
# remat.py - what recomputation costs and saves.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: a build of pp (release preset). Out: a table of GPT's step time and peak
# memory with each `remat`, beside those of remat=none. The techniques take
# turns, round by round; a figure is the median over rounds. Nothing else may
# run.
"""Times a step of GPT with each technique of recomputation."""
import argparse
import os
import statistics
import subprocess
import tempfile

import run

MODEL = dict(layers=12, hidden=768, heads=12, seq=256, batch=8, vocab=50257)
# The largest step time that each may have, of that of none.
TARGETS = {"none": 1.0, "cheap": 1.05, "selective": 1.05, "full": 1.33}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(run.ROOT, "build"), help="build folder of pp")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    args = parser.parse_args()
    args.sides, args.tool = ["ours"], lambda name: os.path.join(args.build, "bin", name)
    run.share_cores()
    runs = {remat: [] for remat in TARGETS}
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([args.tool("pp-model"), "gpt", *run.dimensions(MODEL), "-o",
                        os.path.join(scratch, "gpt.mlir")], check=True)
        for _ in range(args.rounds):
            for remat in TARGETS:
                row = run.Row(remat, f"precision={args.precision} remat={remat}", [], 0)
                runs[remat].append(run.run_ours(args, row, scratch))

    def median(remat, key):
        return statistics.median(its[key] for its in runs[remat])

    print("| remat | ms | of none | target | met | peak MiB over the idle process |\n|---|---|---|---|---|---|")
    for remat, target in TARGETS.items():
        ratio = median(remat, "median_ms") / median("none", "median_ms")
        print(f"| {remat} | {median(remat, 'median_ms'):.1f} | {ratio:.2f} | <= {target:.2f} | "
              f"{'yes' if ratio <= target else 'no'} | {median(remat, 'mib'):.0f} |")


if __name__ == "__main__":
    main()
