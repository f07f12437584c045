#!/usr/bin/env python3
"""Compares partitioned training steps on images with the unpartitioned one.

SPDX-License-Identifier: Apache-2.0

Residual networks with batch and group norm, and a U-Net, over meshes of dp, tp
and pp (batches and channels that do not divide among them), micro-batches where
the norm knows them, and zero: `pp-run --verify` must accept loss, every
gradient, every updated parameter and every state of two steps. What batch norm
cannot do is refused, and the refusal names what can.

  verify_images.py --bin=build/bin [--all] [--jobs=2]
"""
import argparse
import concurrent.futures
import itertools
import pathlib
import random
import subprocess
import sys
import tempfile

RESNET = "resnet --depth=18 --image=16 --width=6 --groups=3 --classes=5 --batch=12".split()
MODELS = {
    "batch": RESNET + ["--norm=batch"],
    "group": RESNET + ["--norm=group"],
    "unet": "unet --depth=2 --image=8 --width=4 --groups=2 --classes=3 --batch=12".split(),
}
OPTIMIZERS = ["sgd lr=0.05", "momentum lr=0.02", "adamw lr=1e-3"]


def cases():
    draw = random.Random(1)
    for model, dp, tp, pp in itertools.product(MODELS, (1, 2, 3), (1, 2, 4), (1, 2, 3)):
        if dp * tp * pp > 8:
            continue
        most = 1 if model == "batch" else 3
        zero = f" zero={draw.randint(0, 3)}" if dp > 1 else ""
        schedule = draw.choice(("gpipe", "1f1b"))
        yield model, (f"dp={dp} tp={tp} pp={pp} microbatches={draw.randint(1, most)}{zero} "
                      f"schedule={schedule} optimizer={draw.choice(OPTIMIZERS)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--all", action="store_true", help="not a sample only")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    chosen = list(cases())
    if not args.all:
        chosen = random.Random(2).sample(chosen, 8)

    with tempfile.TemporaryDirectory() as folder:
        for model, flags in MODELS.items():
            subprocess.run([args.bin / "pp-model", *flags, "--dtype=f64",
                            "-o", f"{folder}/{model}.mlir"], check=True)

        def run(case):
            model, partition = case
            return case, subprocess.run(
                [args.bin / "pp-run", f"{folder}/{model}.mlir", f"--parallelize={partition}",
                 "--verify", "--steps=2", "--data=random"],
                capture_output=True, text=True, timeout=300)

        failed = 0
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for (model, partition), result in pool.map(run, chosen):
                if result.returncode != 0:
                    failed += 1
                    print(f"FAILED {model} {partition}: exit {result.returncode}\n"
                          f"{result.stdout[-2000:]}{result.stderr[-2000:]}")
        refused = run(("batch", "microbatches=2"))[1]
        if refused.returncode != 1 or "group norm" not in refused.stderr:
            failed += 1
            print(f"FAILED: expects a refusal that names group norm, got exit "
                  f"{refused.returncode}\n{refused.stderr[-2000:]}")
    print(f"{len(chosen) - failed} of {len(chosen)} partitions agree with the unpartitioned step")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
