#!/usr/bin/env python3
"""Compares the seeds that the planner weighs with what else it could have taken.

SPDX-License-Identifier: Apache-2.0

The planner rehearses shardings; what it chooses must be good for the programs that
come of it. So each of its seeds that it weighed is left out or written for another
dimension, what comes of it is compiled, and its step predicted.

  seeds.py --bin=build/bin
"""
import json
import re
import sys
from pathlib import Path

import scratch

FUSED = Path(__file__).parents[1] / "Transforms/Shard/seeds-fused.mlir"
MOE = "moe --layers=2 --hidden=128 --heads=4 --seq=128 --batch=8 --vocab=64 --experts=8"
ENTRY = '"h.*.moe.dispatched"'

# A model, keys, and what was weighed for the last of them: names, and which of their dimensions.
# The others are those of the input, or the model adds them up.
CASES = [(FUSED, "tp=2", {'"a.qkv"': [1], '"b.qkv"': [1], '"a.o"': [0], '"b.o"': [0]}),
         (FUSED, "dp=2 tp=4", {'"a.qkv"': [1], '"b.qkv"': [1], '"a.o"': [0], '"b.o"': [0]}),
         (MOE, "ep=2 sp=2", {ENTRY: range(4)}),
         (MOE, "dp=2 ep=4 sp=2", {ENTRY: range(4)}),
         ("resnet --depth=18 --image=32 --batch=16", "tp=4", {'"layer2.0.conv2.weight"': [2, 3]})]
TOLERANCE = 0.05  # of the best seeds' time


def predict(tools, goal):
    """The predicted milliseconds of a step; none if the plan is refused."""
    done = tools.call("pp-run", "model.mlir", f"--parallelize={goal}", "--dry-run", "--quiet",
                      "--report=report.json")
    if done.returncode == 1:
        return None
    done.check_returncode()
    return json.loads((tools.folder / "report.json").read_text())["predicted_step_ms"]


def others(line, axis, weighed):
    """The seed of a line with `axis` nowhere, and in each of some dimensions."""
    whole = re.sub(rf', "{axis}"(?=}})|(?<={{)"{axis}"(?=}})', "", line).replace("{}", "{?}")
    yield whole
    dims = re.findall(r"\{[^{}]*\}", whole)
    for index in weighed:
        dim = dims[index]
        mine = f'{{"{axis}"}}' if dim == "{?}" else dim[:-1] + f', "{axis}"}}'
        yield re.sub(r"\[\{.*\}\]", f"[{', '.join([*dims[:index], mine, *dims[index + 1:]])}]", whole)


def main():
    errors = []
    with scratch.from_command_line(__doc__) as tools:
        for model, goal, names in CASES:
            if isinstance(model, Path):
                (tools.folder / "model.mlir").write_text(model.read_text())
            else:
                tools.make("pp-model", *model.split(), "-o", "model.mlir")
            plan = tools.make("pp-opt", "model.mlir", f"--pp-parallelize={goal}", "--emit=plan")
            axis = goal.split()[-1].split("=")[0]
            found = predict(tools, goal)
            times = {}
            for name, weighed in names.items():
                lines = [line for line in plan.splitlines() if name in line]
                if not lines or f'"{axis}"' not in lines[0]:
                    errors.append(f"expects a seed for {name} over {axis}, got {lines}")
                    continue
                for seed in others(lines[0], axis, weighed):
                    (tools.folder / "other.plan").write_text(plan.replace(lines[0], seed))
                    if milliseconds := predict(tools, "plan=other.plan"):
                        times[seed.strip()] = milliseconds
            best = min(times, key=times.get)
            print(f"{goal}: a step takes {found:.4g} ms, and from {times[best]:.4g} to "
                  f"{max(times.values()):.4g} with one of {len(times)} other seeds")
            if found > times[best] * (1 + TOLERANCE):
                errors.append(f"{goal}: expects seeds within {TOLERANCE:.0%} of {best}")
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
