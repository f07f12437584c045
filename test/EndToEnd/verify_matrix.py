#!/usr/bin/env python3
"""Compares partitioned training steps with the unpartitioned one.

SPDX-License-Identifier: Apache-2.0

For every mesh of dp, tp and pp with degrees 1 to 4 and at most eight devices
(a batch, heads and a hidden size that do not divide among them), both
schedules, tied and untied, four optimizers, zero, sequence and dropout drawn,
and for some meshes mixtures of experts: `pp-run --verify` must accept loss,
every gradient, every updated parameter and every optimizer state of two steps.

  verify_matrix.py --bin=build/bin [--dtype=f64|f32] [--jobs=2]
"""
import argparse
import concurrent.futures
import itertools
import pathlib
import random
import subprocess
import sys
import tempfile

SEQUENCE = ("false", "true", "true sequence.gather=keep")
ZERO = ("0", "1", "2", "3", "3 zero.gather=step")
GPT = "gpt --layers=3 --hidden=20 --heads=4 --seq=8 --batch=16 --vocab=32"
OPTIMIZERS = ["sgd lr=0.1", "adamw lr=1e-3", "adamw lr=1e-3 clip=0.5", "momentum lr=0.05"]

# Room for all choices; some are dropped; experts and their places do not divide.
MOE = "moe --layers=2 --hidden=12 --heads=4 --seq=8 --batch=24 --vocab=24"
EXPERTS = ["--experts=4 --top-k=1 --capacity-factor=4", "--experts=4 --top-k=2 --capacity-factor=2",
           "--experts=4 --top-k=1 --capacity-factor=1", "--experts=6 --top-k=2 --capacity-factor=0.8",
           "--experts=3 --top-k=2 --capacity-factor=1 --moe-every=1 --dropout=0.2"]


def meshes():
    for dp, tp, pp in itertools.product(range(1, 5), repeat=3):
        if dp * tp * pp <= 8 and pp <= 3:
            yield dp, tp, pp


def draw_rest(draw, dp, tp):
    """What a plan says beside its mesh."""
    zero = f" zero={draw.choice(ZERO)}" if dp > 1 else ""
    sequence = (f" sequence={draw.choice(SEQUENCE)} vocab={draw.choice(('true', 'false'))}"
                if tp > 1 else "")
    return f" microbatches={draw.randint(1, 4)}{zero}{sequence}"


def gpt_cases():
    draw, draw_dropout = random.Random(1), random.Random(2)
    for tied, (dp, tp, pp), optimizer in itertools.product(("true", "false"), meshes(), OPTIMIZERS):
        for schedule in ("gpipe", "1f1b") if pp > 1 else ("1f1b",):
            yield (f"{GPT} --tied={tied} --dropout={draw_dropout.choice(('0', '0.2'))}",
                   f"dp={dp} tp={tp} pp={pp}{draw_rest(draw, dp, tp)} "
                   f"schedule={schedule} optimizer={optimizer}")


def moe_cases():
    draw = random.Random(3)
    for (dp, tp, pp), ep, experts in itertools.product(meshes(), range(1, 5), EXPERTS):
        count = int(experts.split("=")[1].split()[0])
        fits = dp * tp * pp * ep <= 8 and pp <= 2 and ep <= count
        if fits and draw.random() < (0.2 if ep > 1 else 0.1):
            yield (f"{MOE} {experts}", f"dp={dp} ep={ep} tp={tp} pp={pp}{draw_rest(draw, dp, tp)} "
                   f"optimizer={draw.choice(OPTIMIZERS)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--dtype", choices=("f64", "f32"), default="f64")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        cases = [*gpt_cases(), *moe_cases()]
        models = {}
        for number, model in enumerate(sorted({model for model, _ in cases})):
            models[model] = f"{folder}/{number}.mlir"
            subprocess.run([args.bin / "pp-model", *model.split(), f"--dtype={args.dtype}",
                            "-o", models[model]], check=True)

        def run(case):
            model, partition = case
            result = subprocess.run(
                [args.bin / "pp-run", models[model], f"--parallelize={partition}", "--verify",
                 "--steps=2", "--data=random"],
                capture_output=True, text=True, timeout=120)
            return case, result

        failed = total = 0
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for (model, partition), result in pool.map(run, cases):
                total += 1
                if result.returncode != 0:
                    failed += 1
                    print(f"FAILED {model}: {partition}: exit {result.returncode}\n"
                          f"{result.stdout[-2000:]}{result.stderr[-2000:]}")
    print(f"{total - failed} of {total} partitions agree with the unpartitioned step in {args.dtype}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
