#!/usr/bin/env python3
"""Where the time of a step goes: each kind of kernel, the bytes it needs, and the rate it reaches.

SPDX-License-Identifier: Apache-2.0

Traces some steps of the main job and adds up what the trace says of each kernel. Bytes are what
the kernel reads and writes if each value is moved once; GB/s are these over its time, beside
what copying reaches over all threads. Of the traced steps the median one is told.

  benchmarks/kernels_of_step.py [--bin=build/bin] [--model="gpt ..."] [--plan="threads=2"] [--steps=12] [--rows=25]
"""
import argparse
import collections
import json
import pathlib
import re
import statistics
import subprocess
import tempfile

MODEL = "gpt --layers=4 --hidden=256 --heads=8 --seq=128 --batch=16 --vocab=256"


def kernels_of(event):
    """What is alike in every layer, by name and place."""
    place = re.sub(r"\.\d+\.", ".*.", event["args"].get("detail", ""))
    return event["cat"], re.sub(r"^\S+ ", "", event["name"]), place


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default="build/bin")
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--plan", default="threads=2")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rows", type=int, default=25)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model, trace = folder / "model.mlir", folder / "trace.json"
        subprocess.run([args.bin / "pp-model", *args.model.split(), "-o", model], check=True)
        subprocess.run([args.bin / "pp-run", model, f"--parallelize={args.plan} optimizer=adamw lr=1e-3",
                        f"--steps={args.steps}", f"--trace={trace}", f"--trace-steps={args.steps - 1}", "--quiet"],
                       check=True)
        events = [event for event in json.loads(trace.read_text())["traceEvents"]
                  if event["ph"] == "X" and "args" in event and event.get("cat") != "host"]
    kinds = collections.defaultdict(lambda: collections.defaultdict(float))
    for event in events:
        kind = kinds[kernels_of(event)]
        kind["calls"] += 1
        kind["ms"] += event["dur"] / 1e3
        kind["MB"] += event["args"].get("GB/s", 0) * event["dur"] / 1e3
        kind["GFLOP"] += event["args"].get("GFLOP/s", 0) * event["dur"] / 1e6
    total = sum(kind["ms"] for kind in kinds.values())
    print(f"{total:.1f} ms of kernels, {sum(kind['MB'] for kind in kinds.values()):.0f} MB needed")
    print("| phase | kernel | at | calls | ms | share | MB | GB/s | GFLOP/s |\n|---|---|---|---|---|---|---|---|---|")
    for (phase, kernel, place), kind in sorted(kinds.items(), key=lambda item: -item[1]["ms"])[:args.rows]:
        print(f"| {phase} | {kernel} | {place} | {kind['calls']:.0f} | {kind['ms']:.2f} | {kind['ms'] / total:.1%} | "
              f"{kind['MB']:.1f} | {kind['MB'] / kind['ms']:.1f} | {1e3 * kind['GFLOP'] / kind['ms']:.0f} |")


if __name__ == "__main__":
    main()
