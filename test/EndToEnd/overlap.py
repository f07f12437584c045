#!/usr/bin/env python3
"""Counts what collectives issued early hold and hide.

SPDX-License-Identifier: Apache-2.0

- Under zero=3 with `ahead` of N, the parameters of N + 1 layers and no more are
  whole at once: counted over the list of level 4, beside the model's shapes.
- `ahead` moves calls: their number, bytes and the losses of a run stay, to the
  bit, whatever it is.
- What a report counts as exposed and hidden is what the predicted timeline
  shows. Without `ahead` a step is not shorter, and hides less.

  overlap.py --bin=build/bin
"""
import collections
import json
import math
import re

import scratch
from program_text import read_programs

MLP = "mlp --layers=6 --input=64 --hidden=64 --classes=64 --batch=16"
GPT = "gpt --layers=3 --hidden=32 --heads=4 --seq=16 --batch=8 --vocab=64 --tied=false"
# What the instructions of forward read first together, then of backward, which
# reads no biases; nor does it read what only inputs are multiplied with.
MLP_GROUPS = [[f"layers.{i}.weight", f"layers.{i}.bias"] for i in range(6)]
GPT_GROUPS = [["wte.weight", "wpe.weight", "h.0.ln_1."]]
for i in range(3):
    GPT_GROUPS += [[f"h.{i}.attn.c_attn."], [f"h.{i}.attn.c_proj.", f"h.{i}.ln_2."],
                   [f"h.{i}.mlp.c_fc."],
                   [f"h.{i}.mlp.c_proj.", f"h.{i + 1}.ln_1." if i < 2 else "ln_f."]]
GPT_GROUPS.append(["lm_head.weight"])
BYTES = 4


def parameter_bytes(text):
    """The bytes of every parameter of a module, by name."""
    signature = next(line for line in text.splitlines() if "func.func @main" in line)
    return {argument.split('pp.name = "')[1].split('"')[0]: BYTES * math.prod(
        int(n) for n in argument[argument.index("tensor<") + 7:argument.index("xf32>")].split("x"))
            for argument in signature.split("%")[1:] if "#pp.role<param>" in argument}


def most_gathered(level4):
    """The most bytes of gathered parameters that live at one instruction."""
    program, = read_programs(level4).values()
    sizes = {slot: BYTES * math.prod(int(n) for n in shape.split("x")[:-1])
             for slot, (kind, _, shape) in enumerate(program.slots) if kind == "gathered"}
    lives = []  # slot, first and last instruction of one gathered parameter
    current = {}
    for index, (text, slots) in enumerate(program.instructions):
        for slot in slots:
            if slot not in sizes:
                continue
            if text.startswith("pp.collective all_gather") or slot not in current:
                current[slot] = [slot, index, index]
                lives.append(current[slot])
            current[slot][2] = index
    return max(sum(sizes[slot] for slot, first, last in lives if first <= i <= last)
               for i in {first for _, first, _ in lives})


def memory_errors(place):
    for model, groups in ((MLP, MLP_GROUPS), (GPT, GPT_GROUPS)):
        text = place.make("pp-model", *model.split())
        (place.folder / "model.mlir").write_text(text)
        sizes = parameter_bytes(text)
        wholes = [sum(size for name, size in sizes.items() if name.startswith(tuple(group)))
                  for group in groups]
        for ahead in (0, 1, 2, 99):
            window = min(ahead + 1, len(wholes))
            expected = max(sum(wholes[i:i + window]) for i in range(len(wholes) - window + 1))
            for m in (1, 2):
                level4 = place.make("pp-opt", "model.mlir",
                                    f"--pp-parallelize=dp=2 microbatches={m} zero=3 ahead={ahead}")
                if (got := most_gathered(level4)) != expected:
                    yield f"{model} microbatches={m} ahead={ahead}: expects {expected} bytes " \
                          f"gathered, got {got}"


def times_of(trace):
    """Milliseconds of messages beside no kernel and beside one, the mean of all ranks."""
    spans = collections.defaultdict(lambda: ([], []))
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event["cat"] != "host":
            side = spans[event["pid"]][event["cat"] == "communication"]
            side.append((event["ts"], event["ts"] + event["dur"]))
    exposed = hidden = 0
    for kernels, messages in spans.values():
        edges = sorted({edge for span in kernels + messages for edge in span})
        for begin, end in zip(edges, edges[1:]):
            covers = lambda side: any(b <= begin and end <= e for b, e in side)
            if covers(messages):
                hidden += (end - begin) * covers(kernels)
                exposed += (end - begin) * (not covers(kernels))
    return exposed / len(spans) / 1e3, hidden / len(spans) / 1e3


def time_errors(place):
    place.make("pp-model", *GPT.split(), "-o", "model.mlir")
    for goal in ("dp=2 zero=3", "dp=2 zero=3 microbatches=2", "dp=2 zero=2 microbatches=2"):
        reports, losses = [], []
        for ahead in (0, 1, 2):
            keys = f"--parallelize={goal} ahead={ahead}"
            place.make("pp-run", "model.mlir", keys, "--dry-run", "--report=report.json",
                       "--trace=trace.json")
            report = json.loads((place.folder / "report.json").read_text())
            told = report["communication_ms"]["predicted"]
            shown = times_of(json.loads((place.folder / "trace.json").read_text()))
            if not all(math.isclose(*pair, abs_tol=1e-4) for pair in zip(told.values(), shown)):
                yield f"{keys}: expects {told} in the trace, got {shown}"
            reports.append(report)
            place.make("pp-run", "model.mlir", keys, "--steps=3", "--report=run.json", "--verify")
            run = json.loads((place.folder / "run.json").read_text())
            losses.append([step["loss"] for step in run["steps"]])
            measured = run["communication_ms"]["measured"]
            if not measured["exposed"] + measured["hidden"] > 0:
                yield f"{keys}: expects messages that take time, got {measured}"
        none, *others = reports
        for report in others:
            if report["communication"] != none["communication"]:
                yield f"{goal}: expects {none['communication']}, got {report['communication']}"
            if not report["communication_ms"]["predicted"]["hidden"] > \
                    none["communication_ms"]["predicted"]["hidden"]:
                yield f"{goal}: expects more than {none['communication_ms']} hidden, " \
                      f"got {report['communication_ms']}"
            if report["predicted_step_ms"] > none["predicted_step_ms"]:
                yield f"{goal}: expects at most {none['predicted_step_ms']} ms, " \
                      f"got {report['predicted_step_ms']}"
        if any(each != losses[0] for each in losses):
            yield f"{goal}: expects equal bits, got losses {losses}"


def main():
    with scratch.from_command_line(__doc__) as place:
        errors = [*memory_errors(place), *time_errors(place)]
    print("\n".join(errors) or "held and hidden as said")
    return 1 if errors else 0


if __name__ == "__main__":
    raise SystemExit(main())
