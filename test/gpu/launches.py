#!/usr/bin/env python3
"""Counts what a training step of GPT 12 x 768 launches on a GPU.

SPDX-License-Identifier: Apache-2.0

A launch costs some microseconds whatever it computes, so their number is held: per layer of
the transformer, forward and backward, and for the update, per bucket of parameters. They
are read from the instruction lists, as pp-run --dry-run traces them; nothing is compiled.

  launches.py --bin=build/bin
"""
import collections
import json
import pathlib
import re
import sys
import tempfile

from commands import run

LAYERS = 12
MODEL = f"gpt --layers={LAYERS} --hidden=768 --heads=12 --seq=1024 --batch=8 --vocab=50257"
# Parameters whose gradients are summed up at once (bucket= of a plan), in bytes.
BUCKET = 25 << 20
# GELU, its gradient and the sum for a bias are in the launch of a product.
FORWARD, BACKWARD = 9, 18
# Of a plan: the ranks of a stage, most launches of a layer, forward and backward, and of an
# update per bucket.
PLANS = {
    "optimizer=adamw": (1, FORWARD, BACKWARD, 2),
    "dp=2 tp=2 pp=2 microbatches=2 optimizer=adamw": (4, FORWARD, BACKWARD, 2),
}
# So many more where the model ends, or is cut into stages within a layer.
ENDS = 4


def count(trace):
    """Kernels of one micro-batch: by kind and layer, those of layers; by rank, of updates."""
    layers, updates = collections.Counter(), collections.Counter()
    for event in trace:
        if event["ph"] != "X" or event["cat"] not in ("forward", "backward", "update"):
            continue
        part, what = event["name"].split()
        layer = re.match(r"h\.(\d+)\.", event.get("args", {}).get("detail", ""))
        if event["cat"] == "update":
            updates[event["pid"]] += 1
        elif layer and part.endswith("0") and re.match(r"fused|matmul", what):
            layers[event["cat"], int(layer[1]), event["pid"]] += 1
    return layers, updates


def main():
    arguments = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:])
    tools, errors = pathlib.Path(arguments["bin"]).resolve(), []
    with tempfile.TemporaryDirectory() as folder:
        model, path = pathlib.Path(folder, "gpt.mlir"), pathlib.Path(folder, "trace.json")
        report = pathlib.Path(folder, "report.json")
        run(tools / "pp-model", *MODEL.split(), "-o", model)
        for plan, (ranks, *most, per_bucket) in PLANS.items():
            run(tools / "pp-run", model, f"--parallelize={plan}", "--target=sm_90", "--dry-run",
                "--quiet", f"--trace={path}", f"--report={report}")
            trace = json.loads(path.read_text())
            layers, updates = count(trace["traceEvents"] if isinstance(trace, dict) else trace)
            print(f"{plan}:")
            for kind, limit in zip(("forward", "backward"), most):
                found = collections.Counter()
                for (of, layer, rank), number in layers.items():
                    if of == kind:
                        found[layer] += number / ranks
                mean = sum(found.values()) / LAYERS
                print(f"  {kind} {mean:.2f} launches a layer, at most {limit}")
                if len(found) != LAYERS or mean > limit + ENDS / LAYERS:
                    errors.append(f"{plan}: expects at most {limit} launches for {kind} of each "
                                  f"of {LAYERS} layers, got {dict(found)}")
            memory = json.loads(report.read_text())["memory"]
            buckets = {rank["rank"]: max(1, rank["parameters"] / BUCKET) for rank in memory}
            worst = max(number / buckets[rank] for rank, number in updates.items())
            print(f"  update {max(updates.values())} launches, {worst:.2f} per bucket of "
                  f"parameters, at most {per_bucket}")
            if worst > per_bucket:
                errors.append(f"{plan}: expects at most {per_bucket} launches of the update per "
                              f"bucket, got {worst:.2f}")
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
