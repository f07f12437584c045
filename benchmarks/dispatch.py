#!/usr/bin/env python3
"""What the runtime itself costs: the main job's model on the device that computes nothing.

SPDX-License-Identifier: Apache-2.0

Compiles the model under some partitions and runs each with --device=null: the
executor walks all queues, every comm op is matched, and no kernel runs. Prints a
Markdown table of medians.

  benchmarks/dispatch.py [--bin=build/bin] [--runs=5] [--steps=100]
"""
import argparse
import pathlib
import re
import statistics
import subprocess
import tempfile

MODEL = "gpt --layers=4 --hidden=256 --heads=8 --seq=128 --batch=16 --vocab=256"
PARTITIONS = ["threads=2", "dp=2", "tp=2", "pp=2 microbatches=8", "dp=2 tp=2 pp=2 microbatches=4"]
FIGURES = re.compile(r"([\d.]+) ms a step; of (\d+) instructions each took ([\d.]+) us")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default="build/bin")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    print("| partition | instructions a step | ms a step | us of a processor an instruction |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        model, program = pathlib.Path(folder) / "gpt.mlir", pathlib.Path(folder) / "gpt.ppx"
        subprocess.run([args.bin / "pp-model", *MODEL.split(), "-o", model], check=True)
        for partition in PARTITIONS:
            subprocess.run([args.bin / "pp-opt", model, f"--pp-parallelize={partition} optimizer=adamw "
                            "lr=1e-3", "--emit=ppx", "-o", program], check=True)
            found = []
            for _ in range(args.runs):
                text = subprocess.run([args.bin / "pp-run", program, "--device=null", f"--steps={args.steps}"],
                                      check=True, capture_output=True, text=True).stdout
                found.append([float(figure) for figure in FIGURES.search(text).groups()])
            step, instructions, each = (statistics.median(column) for column in zip(*found))
            print(f"| {partition} | {instructions / args.steps:.0f} | {step:.2f} | {each:.2f} |")


if __name__ == "__main__":
    main()
