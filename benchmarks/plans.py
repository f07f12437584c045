#!/usr/bin/env python3
"""Steps of one model under two plans that should cost alike, or of which one should be cheaper.

SPDX-License-Identifier: Apache-2.0

Both plans run in turns, round by round; a figure is the median over rounds of the
median step, beside what is predicted. Losses of the two differ by rounding alone.

  benchmarks/plans.py [--bin=build/bin] [--rounds=5] [--steps=6]
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
HEADS = HERE / "plans/grouped-heads.mlir"


def plan_of_heads(mesh, axes):
    """16 heads and 64 queries a group, the layer's width and the vocabulary over `axes`."""
    return (f"#pp.plan<mesh = <[{mesh}]>, seeds = [#pp.seed<\"l.*.q\", [{{?}}, {{{axes}}}, {{?}}], 1>, "
            f"#pp.seed<\"l.*.up\", [{{?}}, {{{axes}}}], 1>, #pp.seed<\"E\", [{{{axes}}}, {{?}}], 1>]>")


# The comparison, the model, and the two plans by name.
PAIRS = [
    ("16 heads in 4 groups over 8 devices", HEADS,
     {"tp=8": plan_of_heads('"tp"=8', '"tp"'), "ta=4 tb=2": plan_of_heads('"ta"=4, "tb"=2', '"ta", "tb"')}),
]


def predict(tool, module):
    text = subprocess.run([tool / "pp-run", module, "--dry-run"], check=True, capture_output=True, text=True).stdout
    return re.search(r"^step ([\d.]+ \w+)", text, re.M)[1]


def run(tool, module, args, folder):
    """The median step in ms, and the last loss."""
    report = folder / "report.json"
    subprocess.run([tool / "pp-run", module, f"--steps={args.steps}", f"--report={report}", "--quiet"],
                   check=True, timeout=900)
    steps = json.loads(report.read_text())["steps"][2:]
    return statistics.median(step["ms"] for step in steps), steps[-1]["loss"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default="build/bin")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=6)
    args = parser.parse_args()
    print("| pair | plan | predicted | ms a step | of the second | loss |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for what, model, plans in PAIRS:
            modules, times, losses = {}, {plan: [] for plan in plans}, {}
            for number, (plan, text) in enumerate(plans.items()):
                file = folder / f"{number}.plan"
                file.write_text(text)
                modules[plan] = folder / f"{number}.ppx"
                subprocess.run([args.bin / "pp-opt", model, f"--pp-parallelize=plan={file}", "--emit=ppx",
                                "-o", modules[plan]], check=True)
            for turn in range(args.rounds):
                for plan in list(plans)[::1 if turn % 2 else -1]:
                    time, losses[plan] = run(args.bin, modules[plan], args, folder)
                    times[plan].append(time)
            medians = {plan: statistics.median(times[plan]) for plan in plans}
            base = list(medians.values())[-1]
            for plan in plans:
                print(f"| {what} | {plan} | {predict(args.bin, modules[plan])} | {medians[plan]:.1f} | "
                      f"{medians[plan] / base:.2f} | {losses[plan]:.6f} |")


if __name__ == "__main__":
    main()
