#!/usr/bin/env python3
"""Counts what a training step of GPT 12 x 768 launches on a GPU.

SPDX-License-Identifier: Apache-2.0

A launch costs some microseconds whatever it computes, so their number is held: per layer of
the transformer, forward and backward of every micro-batch, and for the update, per bucket of
parameters. All that the compute queue runs counts, sums over micro-batches and copies too. It
is read from the instruction lists, as pp-run --dry-run traces them; nothing is compiled. That
each of these is one call, of the driver or of cublasLt, is held against what their emulated libraries are
asked for in a step of smaller models of the same layers.

  launches.py --bin=build/bin --emulators=build/test/gpu/lib
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from commands import run

LAYERS = 12
MODEL = f"gpt --layers={LAYERS} --hidden=768 --heads=12 --seq=1024 --batch=8 --vocab=50257"
# Parameters whose gradients are summed up at once (bucket= of a plan), in bytes, of f32; as
# many of lower precision.
BUCKET = {"f32": 25 << 20, "bf16": 25 << 19}
# Most launches of a layer. GELU, its gradient and the sum for a bias are in the launch of a
# product, which adds to the sum of a weight's gradient in f32; what else is added up over
# micro-batches shares launches.
FORWARD, BACKWARD, SUMS = 9, 18, 1
# Of a micro-batch: embeddings, the last norm, the head, the loss.
ENDS = 10
# Of an update, per bucket; of the rounding of parameters before the step, in mixed precision;
# and of each number of all gradients that the update waits for (their norm, whether they are
# finite): sums of tensors that are divided alike share launches.
UPDATE, ROUNDING, TOTALS = 2, 1, 4
# Element types and plans, and the ranks of a stage.
RUNS = [
    ("f32", "optimizer=adamw", 1),
    ("f32", "dp=2 tp=2 pp=2 microbatches=2 optimizer=adamw", 4),
    ("bf16", "dp=2 tp=2 pp=2 microbatches=2 optimizer=adamw", 4),
    ("f32", "precision=bf16 optimizer=adamw", 1),
    ("f32", "dp=2 tp=2 pp=2 microbatches=2 precision=bf16 optimizer=adamw", 4),
    ("f32", "precision=f16 optimizer=adamw", 1),
    ("f32", "dp=2 tp=2 pp=2 microbatches=2 precision=f16 optimizer=adamw", 4),
    ("f32", "optimizer=adamw clip=1.0", 1),
    ("f32", "dp=2 tp=2 pp=2 microbatches=2 optimizer=adamw clip=1.0", 4),
    ("f32", "dp=2 tp=2 pp=2 microbatches=2 precision=f16 optimizer=adamw clip=1.0", 4),
]
PHASES = ("prologue", "forward", "backward", "update")
MOVES = ("load", "emit", "step", "send", "recv", "collective")
# What is small enough to be played, and calls of a launch.
SMALL = "gpt --layers=2 --hidden=32 --heads=4 --seq=8 --batch=4 --vocab=32"
SMALL_RUNS = [
    ("f32", "optimizer=adamw"),
    ("bf16", "optimizer=adamw"),
    ("f32", "precision=bf16 optimizer=adamw clip=1.0"),
]
CALLS = ("cuLaunchKernel", "cublasLtMatmul", "cuMemcpyDtoDAsync_v2")


def count(trace):
    """Launches by phase and micro-batch, of all ranks; by rank, of updates and prologues."""
    parts, updates = collections.Counter(), collections.Counter()
    for event in trace:
        if event["ph"] != "X" or event["cat"] not in PHASES:
            continue
        part, what = event["name"].split()
        if what in MOVES:
            continue
        if event["cat"] in ("prologue", "update"):
            updates[event["pid"]] += 1
        else: # such as 1F0: stage 1, forward, micro-batch 0
            parts[event["cat"], int(part.lstrip("0123456789")[1:])] += 1
    return parts, updates


def count_calls(tools, emulators, folder, dtype, plan):
    """Launches of a step by its trace, and the calls that the emulated libraries counted."""
    model, trace = folder / f"small-{dtype}.mlir", folder / "small.json"
    run(tools / "pp-model", *SMALL.split(), f"--dtype={dtype}", "-o", model)
    run(tools / "pp-run", model, f"--parallelize={plan}", "--target=sm_90", "--dry-run",
        "--quiet", f"--trace={trace}")
    events = json.loads(trace.read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    launches = sum(event["ph"] == "X" and event["cat"] in PHASES and event["name"].split()[-1] not in MOVES
                   for event in events)
    counts = []
    for steps in (2, 3):
        settings, file = folder / "emulated", folder / "counts"
        settings.write_text(f"counts {file}\n")
        subprocess.run([tools / "pp-run", model, f"--parallelize={plan}", "--device=cuda",
                        "--graph=off", "--data=random", "--quiet", f"--steps={steps}"],
                       check=True, timeout=100,
                       env={**os.environ, "PP_EMULATED": str(settings),
                            "LD_LIBRARY_PATH": str(emulators)})
        made = dict(line.split() for line in file.read_text().splitlines())
        counts.append(sum(int(made.get(call, 0)) for call in CALLS))
    return launches, counts[1] - counts[0]


def main():
    arguments = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:])
    tools, errors = pathlib.Path(arguments["bin"]).resolve(), []
    with tempfile.TemporaryDirectory() as folder:
        path, report = pathlib.Path(folder, "trace.json"), pathlib.Path(folder, "report.json")
        for dtype, plan, ranks in RUNS:
            model = pathlib.Path(folder, f"{dtype}.mlir")
            run(tools / "pp-model", *MODEL.split(), f"--dtype={dtype}", "-o", model)
            run(tools / "pp-run", model, f"--parallelize={plan}", "--target=sm_90", "--dry-run",
                "--quiet", f"--trace={path}", f"--report={report}")
            trace = json.loads(path.read_text())
            parts, updates = count(trace["traceEvents"] if isinstance(trace, dict) else trace)
            print(f"{dtype}, {plan}:")
            for (kind, batch), number in sorted(parts.items()):
                limit = FORWARD if kind == "forward" else BACKWARD
                limit += SUMS if kind == "backward" and len(parts) > 2 else 0
                mean = (number / ranks - ENDS) / LAYERS
                print(f"  {kind} of micro-batch {batch}: {number / ranks:.0f} launches, "
                      f"{mean:.2f} a layer, at most {limit}")
                if mean > limit:
                    errors.append(f"{dtype}, {plan}: expects at most {limit} launches a layer "
                                  f"for {kind} of micro-batch {batch}, got {mean:.2f}")
            memory = json.loads(report.read_text())["memory"]
            buckets = {rank["rank"]: max(1, rank["parameters"] / BUCKET[dtype]) for rank in memory}
            worst = max(number / buckets[rank] for rank, number in updates.items())
            limit = (UPDATE + ROUNDING * ("precision=" in plan) +
                     TOTALS * (("clip=" in plan) + ("=f16" in plan)))
            print(f"  update {max(updates.values())} launches, {worst:.2f} per bucket of "
                  f"parameters, at most {limit}")
            if worst > limit:
                errors.append(f"{dtype}, {plan}: expects at most {limit} launches of the update "
                              f"per bucket, got {worst:.2f}")
        for dtype, plan in SMALL_RUNS:
            launches, calls = count_calls(tools, pathlib.Path(arguments["emulators"]).resolve(),
                                          pathlib.Path(folder), dtype, plan)
            print(f"{dtype}, {plan}, small: {launches} launches, {calls} calls")
            if calls != launches:
                errors.append(f"{dtype}, {plan}: expects a call for each of {launches} launches "
                              f"of a step, got {calls}")
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
