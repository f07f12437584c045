#!/usr/bin/env python3
# overlap.py - a step with collectives issued early beside one without.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: a build of pp (release preset). Out: a table on stdout. `ahead=0` and the
# others take turns, round by round; a figure is the median over rounds of the
# median step, or of what the rounds' reports say. All end at the same loss, to
# the bit. It wants an idle machine: a rank that waits for a core overlaps
# nothing.
"""Compares a training step under several values of `ahead` on this machine."""

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


def run(args, folder, ahead):
    path = os.path.join(folder, "report.json")
    subprocess.run([
        os.path.join(args.build, "bin/pp-run"), os.path.join(folder, "gpt.mlir"),
        f"--parallelize={args.plan} ahead={ahead} threads=1 optimizer=adamw lr=1e-3",
        f"--data=text:{DATA}", f"--steps={args.warmup + args.steps}", f"--report={path}",
        "--quiet"], check=True, timeout=900)
    with open(path) as file:
        return json.load(file)


def figures(report, warmup):
    times = report["communication_ms"]
    return [statistics.median(step["ms"] for step in report["steps"][warmup:]),
            times["measured"]["exposed"], times["measured"]["hidden"],
            report["predicted_step_ms"], times["predicted"]["exposed"],
            times["predicted"]["hidden"],
            max(rank["predicted_peak_bytes"] for rank in report["memory"]) / 2**20]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--plan", default="dp=2 zero=3")
    parser.add_argument("--ahead", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    print(f"{args.plan}; load before: {os.getloadavg()[0]:.1f}\n")
    runs = {ahead: [] for ahead in args.ahead}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(args.build, "bin/pp-model"), *MODEL, "-o",
                        os.path.join(folder, "gpt.mlir")], check=True)
        for _ in range(args.rounds):
            for ahead, reports in runs.items():
                reports.append(run(args, folder, ahead))
    print("| ahead | ms a step | exposed | hidden | predicted | exposed | hidden | MiB a rank |\n"
          "|---|---|---|---|---|---|---|---|")
    for ahead, reports in runs.items():
        columns = zip(*(figures(report, args.warmup) for report in reports))
        print(f"| {ahead} | " + " | ".join(f"{statistics.median(column):.1f}"
                                           for column in columns) + " |")
    if len({report["steps"][-1]["loss"] for reports in runs.values() for report in reports}) > 1:
        sys.exit("error: expects the same loss whatever is issued early")


if __name__ == "__main__":
    main()
