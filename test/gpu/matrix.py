#!/usr/bin/env python3
"""Compares partitioned steps on GPUs that are only played with unpartitioned ones.

SPDX-License-Identifier: Apache-2.0

The strategies of verify-matrix on smaller models, one GPU for all ranks and a GPU
for each: `pp-run --verify` must accept every one on both, in an order of its own
of those that CUDA leaves open, every other one recorded as a graph. A sample has
cheap ones that use each axis with each family and each other key of a plan. Of it,
those of gpt are then trained in 16 orders, recorded and not, with equal bits, the others in
two; with a GPU for each rank in two orders, in which NCCL adds alike. With --all
it is every strategy, in 16. Each says what it took. Collectives alone are held to
the processor's bits by PPCudaMovesTest.

  matrix.py --bin=build/bin --stand-ins=build/test/gpu/lib        # a sample
  matrix.py --bin=build/bin --stand-ins=build/test/gpu/lib --all  # every strategy
"""
import argparse
import concurrent.futures
import functools
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "EndToEnd"))

import margins  # noqa: E402
import strategies  # noqa: E402
import verify_matrix  # noqa: E402

ORDERS, FEW_ORDERS = 16, 2
GPUS = 1, strategies.DEVICES  # of which the first is shared
LIMIT = 600  # seconds of one run
LEAST_WIDTH = 3  # of a resnet
# Of strategies.py, as small as its degrees let them be.
SIZES = {"--hidden=20": "--hidden=8", "--hidden=12": "--hidden=8", "--seq=8": "--seq=4",
         "--vocab=32": "--vocab=8", "--vocab=24": "--vocab=8", "--image=16": "--image=8",
         "--width=6": f"--width={LEAST_WIDTH}", "--depth=2 --image=8": "--depth=2 --image=4"}


def shrink(strategy):
    """Of one row more than it shares out, so that shares differ."""
    for usual, smaller in SIZES.items():
        if "--width" not in smaller or strategy.said.get("tp", 1) <= LEAST_WIDTH:
            strategy.model = strategy.model.replace(usual, smaller)
    rows = math.prod(strategy.said.get(key, 1) for key in ("microbatches", "dp", "ep")) + 1
    strategy.model = re.sub("--batch=[0-9]+", f"--batch={rows}", strategy.model)


def work(strategy):
    """As many kernels as it has, about."""
    return math.prod(strategy.said.get(key.name, 1) for key in strategies.KEYS
                     if key.is_axis or key.name == "microbatches")


def sample(drawn):
    """Some with each axis for each family, and with each other key: most news for its work."""
    keys = {key.name: key for key in strategies.KEYS}
    uses = [{(s.family if keys[name].is_axis else "any", name)
             for name, value in s.said.items() if value != keys[name].values[0]} for s in drawn]
    missing, chosen = set().union(*uses), []
    while missing:
        best = max(range(len(drawn)), key=lambda i: len(uses[i] & missing) / work(drawn[i]))
        missing -= uses[best]
        chosen.append(best)
    return [drawn[i] for i in sorted(chosen)]


class Judge:
    def __init__(self, args, folder):
        self.tools, self.dtype, self.folder = args.bin.resolve(), args.dtype, folder
        self.stand_ins = args.stand_ins.resolve()

    @functools.cache
    def model(self, flags):
        path = self.folder / f"{abs(hash(flags))}.mlir"
        path.write_bytes(subprocess.run(
            [self.tools / "pp-model", *flags.split(), f"--dtype={self.dtype}"], check=True,
            capture_output=True).stdout)
        return path

    @functools.cache
    def data(self, flags, optimizer):
        """A seed of random data under which rounding chooses no experts."""
        if self.dtype == "f64" or not flags.startswith("moe"):
            return 0
        return margins.find_seed(self.tools, self.model(flags).read_text(), optimizer, 1,
                                 verify_matrix.MARGIN)

    @functools.cache
    def artifact(self, number, flags, plan):
        path = self.folder / f"{number}.ppx"
        subprocess.run([self.tools / "pp-opt", self.model(flags), f"--pp-parallelize={plan}",
                        "--emit=ppx", "--targets=sm_90", "-o", path], check=True,
                       capture_output=True)
        return path

    def run(self, program, strategy, gpus, order, *options):
        """In `order`, the seed of the stand-in, of which every other one is recorded."""
        with tempfile.NamedTemporaryFile("w", dir=self.folder) as settings:
            settings.write(f"devices {gpus}\nseed {order}\n")
            settings.flush()
            return subprocess.run(
                [self.tools / "pp-run", program, "--device=cuda", "--data=random",
                 f"--graph={'on' if order % 2 else 'off'}",
                 f"--seed={self.data(strategy.model, strategy.optimizer)}", *options],
                capture_output=True, text=True, timeout=LIMIT,
                env={**os.environ, "PP_STANDIN": settings.name,
                     "LD_LIBRARY_PATH": str(self.stand_ins)})

    def verify(self, number, strategy):
        """What was said with one GPU and with several, and the seconds."""
        begin = time.monotonic()
        done = [self.run(self.model(strategy.model), strategy, gpus, number + turn, "--verify",
                         "--steps=1", f"--parallelize={strategy.spell()}")
                for turn, gpus in enumerate(GPUS)]
        return done, time.monotonic() - begin

    def train(self, number, strategy, gpus, order):
        """What is saved, and the losses; None for a run that failed."""
        name = self.folder / f"{number}-{gpus}-{order}"
        saved, metrics = name.with_suffix(".safetensors"), name.with_suffix(".jsonl")
        done = self.run(self.artifact(number, strategy.model, strategy.spell()), strategy, gpus,
                        order, "--quiet", "--steps=2", f"--save={saved}", f"--metrics={metrics}")
        if done.returncode:
            print(f"FAILED {strategy.model}: {strategy.spell()}: {gpus} GPUs, seed {order}: exit "
                  f"{done.returncode}\n{done.stderr[-2000:]}")
            return None
        losses = [line.split(',"ms"')[0] for line in metrics.read_text().splitlines()]
        result = saved.read_bytes(), losses
        saved.unlink()
        return result


def verify_all(judge, pool, drawn):
    """Those that were accepted, how many were refused, and the worst errors."""
    accepted, refused, worst = [], 0, {}
    for number, (strategy, (runs, seconds)) in enumerate(
            zip(drawn, pool.map(judge.verify, range(len(drawn)), drawn))):
        said = f"{strategy.model}: {strategy.spell()}, seed {number}"
        for done in runs:
            for kind, error in verify_matrix.find_errors(done.stdout).items():
                worst[kind] = max(worst.get(kind, 0), error)
        if all(done.returncode == 1 and verify_matrix.REFUSAL in done.stderr for done in runs):
            refused += 1
            said = f"refused: {said}"
        elif any(done.returncode for done in runs):
            said = f"FAILED {said}" + "".join(
                f"\n{gpus} GPUs: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
                for gpus, done in zip(GPUS, runs))
        else:
            accepted.append((number, strategy))
        print(f"{seconds:6.1f} s {said}", flush=True)
    return accepted, refused, worst


def have_equal_bits(judge, pool, number, strategy, gpus, orders):
    begin = time.monotonic()
    judge.artifact(number, strategy.model, strategy.spell())
    runs = list(pool.map(functools.partial(judge.train, number, strategy, gpus), range(orders)))
    same = runs[0] is not None and all(run == runs[0] for run in runs)
    print(f"{time.monotonic() - begin:6.1f} s {'' if same else 'FAILED: other bits: '}{orders} "
          f"orders with {gpus} GPUs of {strategy.model}: {strategy.spell()}", flush=True)
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--stand-ins", type=pathlib.Path, required=True)
    parser.add_argument("--dtype", choices=("f64", "f32"), default="f64")
    parser.add_argument("--families", default=",".join(strategies.FAMILIES))
    parser.add_argument("--all", action="store_true",
                        help=f"{verify_matrix.COUNT} strategies, each in {ORDERS} orders")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    drawn = strategies.draw_all(verify_matrix.COUNT, args.families.split(","))
    drawn = drawn if args.all else sample(drawn)
    for strategy in drawn:
        shrink(strategy)
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(args, pathlib.Path(folder))
        for strategy in drawn:  # one at a time: they are remembered
            judge.data(strategy.model, strategy.optimizer)
            judge.model(strategy.model)
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            accepted, refused, worst = verify_all(judge, pool, drawn)
            many = {number for number, strategy in accepted if args.all or strategy.family == "gpt"}
            different = sum(not have_equal_bits(
                judge, pool, number, strategy, gpus,
                ORDERS if number in many and (args.all or gpus == 1) else FEW_ORDERS)
                for number, strategy in accepted for gpus in GPUS)
    print("worst errors: " + ", ".join(f"{kind} {error:.1e}" for kind, error in worst.items()))
    print(f"{len(accepted)} of {len(drawn)} strategies agree with the unpartitioned step in "
          f"{args.dtype} on one GPU and on {GPUS[1]} that are played; {refused} refused; of "
          f"{len(many)} all bits were compared in {ORDERS} orders, of the others in {FEW_ORDERS}: "
          f"{different} differ")
    return 0 if (len(accepted) + refused == len(drawn) and not different and
                 refused <= verify_matrix.FEW * len(drawn)) else 1


if __name__ == "__main__":
    sys.exit(main())
