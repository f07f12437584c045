#!/usr/bin/env python3
"""Compares partitioned training steps with the unpartitioned one.

SPDX-License-Identifier: Apache-2.0

Under every strategy (strategies.py): `pp-run --verify` must accept loss,
metrics, every gradient, every updated parameter and every state of two steps,
in f64 within 1e-10, in f32 within 1e-4. In f32 experts are chosen by a margin
that rounding does not reach (margins.py). What batch norm
cannot do is refused, and the refusal names what can.

With --schedules the strategies are other ones: each schedule with many numbers of
positions and micro-batches, of which a build takes some.

Partitioning does not look at types, kernels and products do: f32 takes the first
of each family's strategies, and f64 all of them.

  verify_matrix.py --bin=build/bin [--dtype=f64|f32] [--families=gpt,moe] [--schedules] [--all] [--jobs=2]
  verify_matrix.py --bin=build/bin --schedules --all --launcher="mpirun -n 2"
"""
import argparse
import concurrent.futures
import functools
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

import margins
import strategies

STEPS = 2
COUNT, COUNT_IN_F32, COUNT_OF_ALL = 120, 40, 420
LEAST_PAIRS = 3300  # of all families, met by COUNT
MARGIN = 1e-4


class Judge:
    def __init__(self, tools, dtype, how, folder):
        self.tools, self.dtype, self.how, self.folder = tools, dtype, how, folder

    @functools.cache
    def model(self, flags):
        text = subprocess.run([self.tools / "pp-model", *flags.split(), f"--dtype={self.dtype}"],
                              check=True, capture_output=True, text=True).stdout
        path = self.folder / f"{abs(hash(flags))}.mlir"
        # Another thread may make the same, and run it.
        own = path.with_suffix(f".{threading.get_ident()}")
        own.write_text(text)
        return own.rename(path)

    @functools.cache
    def seed(self, flags, optimizer):
        if self.dtype == "f64" or not flags.startswith("moe"):
            return 0
        text = self.model(flags).read_text()
        return margins.find_seed(self.tools, text, optimizer, STEPS, MARGIN)

    def run(self, flags, plan, seed):
        return subprocess.run(
            [self.tools / "pp-run", self.model(flags), f"--parallelize={plan}", "--verify",
             f"--steps={STEPS}", "--data=random", f"--seed={seed}", *self.how],
            capture_output=True, text=True, timeout=300)

    def judge(self, strategy):
        return strategy, self.run(strategy.model, strategy.spell(),
                                  self.seed(strategy.model, strategy.optimizer))


def find_errors(output):
    """The worst error of each kind of value that `--verify` printed."""
    return {kind.strip(): float(error) for kind, error in re.findall(
        r"^  (loss|metrics|gradients|parameters|states) +(\S+) ", output, re.MULTILINE)}


def is_refused(judge):
    done = judge.run(f"{strategies.RESNET} --norm=batch", "microbatches=2", 0)
    if done.returncode == 1 and "group norm" in done.stderr:
        return True
    print(f"FAILED: expects a refusal that names group norm, got exit {done.returncode}\n"
          f"{done.stderr[-2000:]}")
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--dtype", choices=("f64", "f32"), default="f64")
    parser.add_argument("--device", default="cpu", help="of pp-run; its judge runs on cpu")
    parser.add_argument("--launcher", default="threads", help="of pp-run")
    parser.add_argument("--families", default=",".join(strategies.FAMILIES))
    parser.add_argument("--schedules", action="store_true", help="those of draw_schedules")
    parser.add_argument("--all", action="store_true",
                        help=f"{COUNT_OF_ALL}, and not {COUNT} or, in f32, {COUNT_IN_F32}")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    count = COUNT_OF_ALL if args.all else COUNT_IN_F32 if args.dtype == "f32" else COUNT
    if args.schedules:
        count, drawn = 0, strategies.draw_schedules(every=1 if args.all else 7)
    else:
        drawn = strategies.draw_all(count, args.families.split(","))

    failed, worst = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(args.bin, args.dtype, (f"--device={args.device}", f"--launcher={args.launcher}"),
                      pathlib.Path(folder))
        for strategy in drawn:  # one at a time: their results are remembered
            judge.seed(strategy.model, strategy.optimizer)
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for strategy, result in pool.map(judge.judge, drawn):
                for kind, error in find_errors(result.stdout).items():
                    worst[kind] = max(worst.get(kind, 0), error)
                if result.returncode != 0:
                    failed += 1
                    print(f"FAILED {strategy.model}: {strategy.spell()}: exit "
                          f"{result.returncode}\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
        is_right = args.schedules or "resnet" not in args.families or is_refused(judge)
    if not args.schedules:
        print("\n".join(strategies.describe(drawn)))
    missing = list(strategies.find_missing(drawn)) if count >= COUNT else []
    if count >= COUNT and len({s.family for s in drawn}) == len(strategies.FAMILIES) and \
            strategies.count_pairs(drawn) < LEAST_PAIRS:
        missing.append(f"{LEAST_PAIRS} pairs of choices")
    print("".join(f"FAILED: never drawn: {word}\n" for word in missing), end="")
    print("worst errors: " + ", ".join(f"{kind} {error:.1e}" for kind, error in worst.items()))
    print(f"{len(drawn) - failed} of {len(drawn)} strategies agree with the unpartitioned "
          f"step in {args.dtype}")
    return 0 if is_right and not failed and not missing else 1


if __name__ == "__main__":
    sys.exit(main())
