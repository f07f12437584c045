#!/usr/bin/env python3
# precision.py - what 16 bits cost: losses and gradients of pp and of PyTorch.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: a build of pp and the environment of scripts/install-frameworks. Out: two tables on stdout. All sides start
# from the parameters of `pp-run --seed` and see the same batches, from a place in the text that the seed chooses.
#
#   benchmarks/precision.py [--steps=300] [--seed=7] [--plans "precision=bf16" ...] [--f16]
#
# Learning: steps of AdamW at two learning rates. The distance of a variant is the mean |loss - loss in f32| over all
# steps, of f32 in the same framework; that of pp's f32 is to PyTorch's, which is what rounding alone does. Nats are the
# mean loss of the last steps. A model all in bf16 rounds its loss, too.
#
# Gradients: |a - b| / |b|, Euclidean, of one batch, to PyTorch in f64: of all gradients together, and of the tensor
# that is furthest off; from the initial parameters, and from those after the steps in f32. Every side writes its
# gradients as one step of SGD, at a rate beside which parameters vanish. A step that a loss scale skips shows as 1.
#
# A plan whose key pp-opt refuses has rows without figures. Nothing is timed, and one thread each is fastest while other
# processes run.
"""Compares losses and gradients of low precision with f32 and f64, in pp and in PyTorch."""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

import run
import table

MODEL = dict(layers=2, hidden=128, heads=4, seq=64, batch=16, vocab=256)
RATES = ("1e-3", "1e-5")
LAST = 20
# A power of two, so that a product with it is exact in every type.
GRADIENT_STEP = f"optimizer=sgd lr={2**60}"
F16_PEER = "PyTorch autocast f16, GradScaler"
PEERS = {"PyTorch f32": "f32", "PyTorch autocast bf16": "bf16", F16_PEER: "f16"}
SAME_LOSS = 1e-4


class Sides:
    """Trains a variant: PyTorch's by its precision, pp's by the type of its model and the keys of its plan."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.initial = self.file("initial.safetensors")
        self.pp = {"pp f32": ("f32", ""), "pp, a bf16 model": ("bf16", ""),
                   **{f"pp {plan}": ("f32", plan) for plan in args.plans}}
        for dtype in ("f64", "f32", "bf16"):
            subprocess.run([args.tool("pp-model"), "gpt", *run.dimensions(MODEL), f"--dtype={dtype}",
                            "-o", self.file(dtype + ".mlir")], check=True)
        subprocess.run([args.tool("pp-run"), self.file("f32.mlir"), f"--seed={args.seed}", "--steps=0",
                        f"--save={self.initial}", "--quiet"], check=True)
        with open(run.TEXT, "rb") as file:
            text = file.read()
        start = random.Random(args.seed).randrange(len(text))
        with open(self.file("text"), "wb") as file:
            file.write(text[start:] + text[:start])
        self.refused = [name for name, (_, plan) in self.pp.items() if self.refuses(plan)]

    def file(self, name):
        return os.path.join(self.folder, name)

    def refuses(self, plan):
        done = subprocess.run([self.args.tool("pp-opt"), self.file("f32.mlir"),
                               f"--pp-parallelize={plan} stop-after=graph", "-o", os.devnull],
                              stderr=subprocess.PIPE, text=True)
        if done.returncode and "'precision" not in done.stderr:
            sys.exit(done.stderr)
        if done.returncode:
            print(f"skipped: {done.stderr.strip()}", file=sys.stderr)
        return done.returncode != 0

    def train(self, name, how, steps, start, save=None):
        """The losses, with AdamW or SGD as the keys `how` say."""
        flags = [f"--parameters={start}", f"--steps={steps}"] + ([f"--save={save}"] if save else [])
        if name not in self.pp:
            return run.last_json([
                *run.peer_command(self.args, "torch_precision.py", MODEL), f"--data={self.file('text')}", "--warmup=0",
                "--threads=1", f"--precision={PEERS.get(name, name)}",
                *("--" + key for key in how.split()), *flags])["losses"]
        dtype, plan = self.pp[name]
        report = self.file("report.json")
        subprocess.run([
            self.args.tool("pp-run"), self.file(dtype + ".mlir"), f"--data=text:{self.file('text')}",
            f"--parallelize=threads=1 {how} {plan}".strip(), f"--report={report}", "--quiet", *flags],
            check=True, timeout=900)
        with open(report) as file:
            return [step["loss"] for step in json.load(file)["steps"]]


def learning_cells(runs, name):
    for rate in RATES:
        if name not in runs[rate]:
            yield from ("-", "-")
            continue
        losses = runs[rate][name]
        against = "pp f32" if name.startswith("pp ") and name != "pp f32" else "PyTorch f32"
        distance = statistics.mean(abs(a - b) for a, b in zip(losses, runs[rate][against]))
        yield "-" if name == against else f"{distance:.1e}"
        yield f"{statistics.mean(losses[-LAST:]):.4f}"


def learning(sides):
    """Prints the table of losses; leaves parameters that pp trained in f32."""
    names = [*PEERS, *sides.pp]
    left_out = [*sides.refused, *([] if sides.args.f16 else [F16_PEER])]
    trained = sides.file("trained.safetensors")
    runs = {rate: {name: sides.train(name, f"optimizer=adamw lr={rate}", sides.args.steps, sides.initial,
                                     trained if (name, rate) == ("pp f32", RATES[0]) else None)
                   for name in names if name not in left_out} for rate in RATES}
    first = [runs[RATES[0]][name][0] for name in ("pp f32", "PyTorch f32")]
    if abs(first[0] - first[1]) > SAME_LOSS:
        sys.exit(f"error: expects one function, got first losses of {first[0]} and {first[1]}")
    print("\n".join(table.lines(
        (f"{sides.args.steps} steps of AdamW",
         *(what for rate in RATES for what in (f"distance, lr={rate}", f"nats, lr={rate}"))),
        ((name, *learning_cells(runs, name)) for name in names))))
    return trained


def gradients(sides, trained):
    sides.pp["pp f64"] = ("f64", "")
    names = [*PEERS, *sides.pp]
    cells = {name: [] for name in names}
    for start in (sides.initial, trained):
        files = {name: sides.file(f"{number}.safetensors")
                 for number, name in enumerate(["f64", *names]) if name not in sides.refused}
        for name, path in files.items():
            sides.train(name, GRADIENT_STEP, 1, start, path)
        errors = run.last_json([*run.peer_command(sides.args, "tensor_errors.py", {}), *files.values()])
        for name, error in zip(list(files)[1:], errors):
            cells[name] += [f"{error['all']:.1e}", f"{error['worst']:.1e}", error["name"]]
    print("\n".join(table.lines(
        ("error of gradients", "initial: all", "worst", "tensor", "trained: all", "worst", "tensor"),
        ((name, *(cells[name] or ["-"] * 6)) for name in names))))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(run.ROOT, "build"))
    parser.add_argument("--venv", default=os.path.join(run.ROOT, ".venv-peers"))
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=7, help="of initial parameters and of the text's beginning")
    parser.add_argument("--plans", nargs="+", default=["precision=bf16", "precision=f16"],
                        help="keys of pp's plans, a row each")
    parser.add_argument("--f16", action="store_true",
                        help="also the steps of PyTorch in f16: minutes, on a processor that has no such products")
    args = parser.parse_args()
    args.tool = lambda name: os.path.join(args.build, "bin", name)
    print(f"{table.cpu_name()}; {args.steps} steps, seed {args.seed}\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        sides = Sides(args, folder)
        trained = learning(sides)
        print(flush=True)
        gradients(sides, trained)


if __name__ == "__main__":
    main()
