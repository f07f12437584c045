#!/usr/bin/env python3
"""Interrupts runs and lets them go on, and compares with runs that nobody interrupts.

SPDX-License-Identifier: Apache-2.0

Under strategies (strategies.py), as threads, as processes of MPI and on played
GPUs: a run that is ended twice, at random steps, and each time goes on from its
checkpoint, has the losses and the parameters of one that is not, to the bit,
with loss scaling, warm-up, dropout and running states. Then pairs of strategies
of a model in f64: a run that begins under one and goes on under the other ends
as one under either, up to rounding.

  resume.py --bin=build/bin [--all] [--only=WORD]
"""
import argparse
import array
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import strategies

STEPS = 9
# Of each strategy one, in turn; what the models know beyond strategies.KEYS.
EXTRAS = ["", "warmup=4", "precision=f16 warmup=3", "precision=bf16", "clip=0.3", "precision=f16 clip=0.3"]
ENGINES = ["threads", "mpi", "threads", "mpi", "threads", "cuda"]
COUNT, ALL, PAIRS, ALL_PAIRS = 12, 60, 5, 40
BOUND = 1e-10


class Run:
    """A program, and the ways to run it."""

    def __init__(self, tools, folder, strategy, engine, dtype, extra="", name="p"):
        self.tools, self.folder, self.engine, self.name = tools, folder, engine, name
        self.plan = strategy.spell()
        # A key is given once.
        if "clip" not in self.plan or "clip" not in extra:
            self.plan += f" {extra}"
        model = subprocess.run([tools / "pp-model", *strategy.model.split(), f"--dtype={dtype}"],
                               check=True, capture_output=True, text=True).stdout
        target = "sm_80" if engine == "cuda" else "cpu"
        self.program = f"{folder}/{name}.ppx"
        subprocess.run([tools / "pp-opt", "-", "--emit=ppx", f"--targets={target}",
                        f"--pp-parallelize={self.plan}", "-o", self.program],
                       input=model, text=True, check=True, timeout=200)

    def train(self, steps, *options, processes=0):
        """Losses of all steps so far, and the file of the parameters."""
        metrics, saved = f"{self.folder}/{self.name}.jsonl", f"{self.folder}/{self.name}.safetensors"
        command = [str(self.tools / "pp-run"), self.program, f"--steps={steps}", "--quiet", "--seed=3",
                   f"--metrics={metrics}", f"--save={saved}", *options]
        environment = dict(os.environ)
        if self.engine == "cuda":
            command.append("--device=cuda")
            environment["LD_LIBRARY_PATH"] = str(self.tools.parent / "test/gpu/lib")
        if processes > 1:
            command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
                       "--host", f"localhost:{processes}", "-n", str(processes), *command]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.returncode}: {done.stderr}")
        lines = [json.loads(line) for line in open(metrics)]
        if [line["step"] for line in lines] != list(range(1, steps + 1)):
            raise RuntimeError(f"expects a line of each step, got {lines}")
        return [{key: line.get(key) for key in ("step", "loss", "metrics")} for line in lines], saved


def world_size(strategy):
    size = 1
    for key in strategies.KEYS:
        size *= strategy.said.get(key.name, 1) if key.is_axis else 1
    return size


def check_interrupted(tools, folder, strategy, engine, extra, draw):
    run = Run(tools, folder, strategy, engine, "f32", extra)
    size = world_size(strategy)

    def processes():
        return draw.randint(2, size) if engine == "mpi" else 0
    expected, saved = run.train(STEPS, processes=processes())
    parameters = open(saved, "rb").read()
    first, second = sorted(draw.sample(range(1, STEPS), 2))
    checkpoints = [f"--checkpoint={folder}/checkpoints", "--resume"]
    for steps in first, second, STEPS:
        every = f"--save-every={draw.randint(1, 4)}"
        got, saved = run.train(steps, *checkpoints, every, processes=processes())
    where = f"[{run.plan}] of {strategy.model} on {engine}, interrupted after {first} and {second}"
    if got != expected:
        wanted, its = next((a, b) for a, b in zip(expected, got) if a != b)
        yield f"{where}: expects {wanted}, got {its}"
    if open(saved, "rb").read() != parameters:
        yield f"{where}: expects the same parameters"


def load(path):
    """The f64 tensors of a safetensors file."""
    data = open(path, "rb").read()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    return {name: array.array("d", data[8 + length + tensor["data_offsets"][0]:
                                        8 + length + tensor["data_offsets"][1]])
            for name, tensor in header.items() if name != "__metadata__" and tensor["dtype"] == "F64"}


def distance(saved, other):
    a, b = load(saved), load(other)
    norms = {name: math.hypot(*value) for name, value in b.items()}
    return max(math.dist(a[name], b[name]) / max(norms[name], 1e-6 * max(norms.values())) for name in b)


def check_pair(tools, folder, one, other, draw):
    before = Run(tools, folder, one, "threads", "f64", name="before")
    after = Run(tools, folder, other, "threads", "f64", name="after")
    steps = draw.randint(1, STEPS - 1)
    expected, saved = before.train(STEPS)
    pathlib.Path(saved).rename(f"{folder}/expected.safetensors")
    before.train(steps, f"--checkpoint={folder}/checkpoints")
    got, saved = after.train(STEPS, f"--resume={folder}/checkpoints")
    error = max([distance(saved, f"{folder}/expected.safetensors"),
                 *(abs(a["loss"] - b["loss"]) / abs(b["loss"]) for a, b in zip(got, expected))])
    if not error <= BOUND:
        yield f"{one.model}, {steps} steps under [{before.plan}], then [{after.plan}]: {error}"


def draw_pairs(count):
    """Strategies of a model, with optimizers that keep the same states."""
    draw = random.Random(5)
    names = [name for name, family in strategies.FAMILIES.items() for _ in range(family.share)]
    while count:
        one = strategies.draw_one(draw, draw.choice(names))
        other = strategies.draw_one(draw, one.family)
        other.model, other.optimizer = one.model, one.optimizer
        if strategies.fits(other) and other.said != one.said:
            count -= 1
            yield one, other


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", default="", help="strategies whose text has this word")
    args = parser.parse_args()

    draw, failures, runs, pairs = random.Random(1), 0, 0, 0
    drawn = strategies.draw_all(ALL if args.all else COUNT, list(strategies.FAMILIES))
    cases = [("resumed", check_interrupted, (strategy, ENGINES[i % len(ENGINES)],
                                             EXTRAS[i // 2 % len(EXTRAS)]))
             for i, strategy in enumerate(drawn)]
    cases += [("pair", check_pair, pair) for pair in draw_pairs(ALL_PAIRS if args.all else PAIRS)]
    for kind, check, arguments in cases:
        if args.only not in str(arguments):
            continue
        runs, pairs = runs + (kind == "resumed"), pairs + (kind == "pair")
        with tempfile.TemporaryDirectory() as folder:
            try:
                errors = list(check(args.bin.resolve(), folder, *arguments, draw))
            except RuntimeError as error:
                errors = [str(error)]
        for error in errors:
            failures += 1
            print(error)
    print(f"{runs} interrupted runs, {pairs} pairs of strategies, {failures} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
