#!/usr/bin/env python3
# launchers.py - a step on threads of one process beside one on processes.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: a build of pp (release preset), and Open MPI. Out: a table on stdout.
# Threads and `mpirun -n 2` run the same artifact of the main job's GPT in turns,
# round by round; a figure is the median over rounds of the median step. Both end
# at the same loss, to the bit. It wants an idle machine: two processes have two
# threads that MPI needs beside those that compute.
"""Compares a training step on threads with one on processes of MPI."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODEL = ["gpt", "--layers=4", "--hidden=256", "--heads=8", "--seq=128", "--batch=16",
         "--vocab=256"]
DATA = os.path.join(ROOT, "examples/data/kjv.txt")
PLANS = ["dp=2", "tp=2", "pp=2 microbatches=8 schedule=1f1b"]
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
          "--host", "localhost:2", "-n", "2"]
SIDES = {"threads": ([], []), "mpi": (MPIRUN, ["--launcher=mpi"])}


def run(args, folder, plan, side):
    """The median step in ms, and the last loss."""
    before, behind = SIDES[side]
    path = os.path.join(folder, "report.json")
    subprocess.run([*before, os.path.join(args.build, "bin/pp-run"),
                    os.path.join(folder, f"{plan}.ppx"), f"--data=text:{DATA}",
                    f"--steps={args.warmup + args.steps}", f"--report={path}", "--quiet",
                    *behind], check=True, timeout=900)
    with open(path) as file:
        steps = json.load(file)["steps"][args.warmup:]
    return statistics.median(step["ms"] for step in steps), steps[-1]["loss"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--plans", nargs="+", default=PLANS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    print(f"load before: {os.getloadavg()[0]:.1f}\n\n"
          "| plan | threads ms | mpi ms | ratio |\n|---|---|---|---|", flush=True)
    tool = os.path.join(args.build, "bin")
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "gpt.mlir")
        subprocess.run([f"{tool}/pp-model", *MODEL, "-o", model], check=True)
        for plan in args.plans:
            subprocess.run([f"{tool}/pp-opt", model, "--emit=ppx",
                            f"--pp-parallelize={plan} threads=1 optimizer=adamw lr=1e-3",
                            "-o", os.path.join(folder, f"{plan}.ppx")], check=True)
            times = {side: [] for side in SIDES}
            losses = set()
            for turn in range(args.rounds):
                for side in list(SIDES)[::1 if turn % 2 else -1]:
                    time, loss = run(args, folder, plan, side)
                    times[side].append(time)
                    losses.add(loss)
            threads, mpi = (statistics.median(times[side]) for side in SIDES)
            print(f"| {plan} | {threads:.1f} | {mpi:.1f} | {mpi / threads:.3f} |", flush=True)
            if len(losses) > 1:
                sys.exit("error: expects the same loss on threads and on processes")


if __name__ == "__main__":
    main()
