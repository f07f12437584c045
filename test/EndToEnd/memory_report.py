#!/usr/bin/env python3
"""Adds up memory reports: they must give the predicted peaks to the byte.

SPDX-License-Identifier: Apache-2.0

Over models and plans, the values that a report lists at the peak are added up,
by class, layer and op, and compared with `pp-run --report`. Places and types of
the same slots, read from the program's text, must leave as many bytes unused as
the report says. Each listed value has a reason, and the text and the drawing
show the same peak.

  memory_report.py --bin=build/bin
"""
import argparse
import collections
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from program_text import read_programs

MODELS = {
    "gpt": "gpt --layers=2 --hidden=60 --heads=6 --seq=24 --batch=8 --vocab=50",
    "moe": "moe --layers=2 --hidden=32 --heads=4 --seq=16 --batch=8 --vocab=64 --experts=4",
    "resnet": "resnet --depth=18 --image=32 --batch=4",
    "unet": "unet --batch=4",
}
# A model, the keys of its plan, options of pp-run, and a reason that some value has.
CASES = [
    ("gpt", "", "", "read by backward of h.1.attn"),
    ("gpt", "dp=2 remat=none", "", "state of the optimizer"),
    ("gpt", "dp=2 zero=1 remat=full", "", "parameter"),
    ("gpt", "dp=2 zero=3 microbatches=2 remat=cheap", "", "sum of gradients until"),
    ("gpt", "tp=2 sequence=true remat=selective", "", "workspace of a product"),
    ("gpt", "dp=2 tp=2 pp=2 microbatches=4", "", "received from stage 0"),
    ("gpt", "dp=2 precision=bf16 remat=selective", "", "read by backward of"),
    ("gpt", "pp=2 microbatches=2", "--launcher=mpi", "parameter"),
    ("moe", "dp=2 ep=2 microbatches=2", "", "sum of gradients until"),
    ("moe", "dp=2 zero=3 precision=bf16 remat=full", "", "parameter"),
    ("resnet", "dp=2 optimizer=sgd lr=0.1", "", "gradient until the update"),
    ("resnet", "dp=2 precision=bf16 optimizer=sgd lr=0.1", "", "state of the model"),
    ("unet", "dp=2 zero=1", "", "read by backward of"),
    ("unet", "pp=2 microbatches=2 optimizer=sgd lr=0.1", "", "parameter"),
]
# Classes of slots, as the keys of a run's report.
KEYS = {"parameter": "parameters", "optimizer": "optimizer", "gradient": "gradients",
        "activation": "activations", "input": "activations", "gathered": "gathered",
        "workspace": "workspace", "communication": "communication"}
WIDTHS = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "bf16": 2, "i1": 1}
ALIGNMENT = 64


def bytes_of(text):
    *sizes, element = text.split("x")
    return math.prod(int(size) for size in sizes) * WIDTHS[element]


def slots_of(level4):
    """{program: [(offset, bytes)]} from the text of a module."""
    return {name: [(offset, bytes_of(text)) for _, offset, text in program.slots]
            for name, program in read_programs(level4).items()}


def check_sums(program, expected):
    """One program of a report against an entry of the run's report."""
    memory, values = program["memory"], program["values"]
    live = sum(value["bytes"] for value in values)
    total = (live + memory["alignment"] + memory["fragmentation"] + memory["staging"]
             - memory["shared"])
    if total != memory["predicted_peak_bytes"]:
        yield f"values add up to {total}, the peak is {memory['predicted_peak_bytes']}"
    for key in (*KEYS.values(), "predicted_peak_bytes", "staging"):
        if memory[key] != expected[key]:
            yield f"{key}: expects {expected[key]}, as --report says, got {memory[key]}"
    by_class = collections.Counter()
    for value in values:
        by_class[KEYS[value["class"]]] += value["bytes"]
    for key in set(KEYS.values()):
        if by_class[key] != memory[key]:
            yield f"{key}: values add up to {by_class[key]}, got {memory[key]}"
    for part in "layers", "ops":
        if (got := sum(share["bytes"] for share in program[part])) != memory["activations"]:
            yield f"{part} add up to {got}, activations are {memory['activations']}"
    curve = [sum(column) for column in zip(*program["curve"].values())]
    if max(curve) != live or curve.index(live) != program["peak"]["instruction"]:
        yield f"the curve has its peak at {curve.index(max(curve))}, with {max(curve)} bytes"
    ends = [part["end"] for part in program["actions"]]
    if [part["first"] for part in program["actions"]] != [0, *ends[:-1]] or ends[-1] != len(curve):
        yield "actions do not cover the instructions"
    parts = sum(memory[f"fragmentation_for_{what}"] for what in ("messages", "workspaces"))
    if parts > memory["fragmentation"]:
        yield f"parts of the fragmentation are {parts}, all of it {memory['fragmentation']}"


def check_places(program, slots):
    """Against places and sizes in the module's text."""
    memory, at = program["memory"], 0
    unused = aligned = 0
    for value in sorted(program["values"], key=lambda value: slots[value["slot"]][0]):
        offset, size = slots[value["slot"]]
        if value["bytes"] != size or offset < at:
            yield f"slot {value['slot']}: the text has {size} bytes at {offset}, got {value}"
        unused += offset - at
        at = offset + -(-size // ALIGNMENT) * ALIGNMENT
        aligned += at - offset - size
    unused += memory["predicted_peak_bytes"] - memory["staging"] - at
    if (aligned, unused) != (memory["alignment"], memory["fragmentation"]):
        yield f"the text leaves {aligned} and {unused} bytes unused, got {memory}"


def check(tools, folder, case):
    model, keys, options, reason = case
    keys += " threads=1"
    command = [tools / "pp-run", f"{folder}/{model}.mlir", f"--parallelize={keys}", "--dry-run",
               "--quiet", *options.split()]

    def tell(file):
        done = subprocess.run([*command, f"--memory-report{file and '='}{file}",
                               f"--report={folder}/report.json"],
                              check=True, capture_output=True, text=True)
        return done.stdout

    tell(f"{folder}/memory.json")
    report = json.load(open(f"{folder}/memory.json"))
    expected = json.load(open(f"{folder}/report.json"))["memory"]
    level4 = subprocess.run([tools / "pp-opt", f"{folder}/{model}.mlir",
                             f"--pp-parallelize={keys}",
                             f"--pp-memory-report={folder}/other.json"],
                            check=True, capture_output=True, text=True).stdout
    slots = slots_of(level4)
    ranks = [rank for program in report["programs"] for rank in program["ranks"]]
    if sorted(ranks) != list(range(len(expected))):
        yield f"expects each of {len(expected)} ranks once, got {ranks}"
    for program in report["programs"]:
        for rank in program["ranks"]:
            yield from check_sums(program, expected[rank])
        yield from check_places(program, slots[program["name"]])
        for value in program["values"]:
            if not value["why"] or not (value["name"] or value["class"] == "workspace"):
                yield f"expects a name and a reason, got {value}"
    reasons = {value["why"] for program in report["programs"] for value in program["values"]}
    if not any(reason in its for its in reasons):
        yield f"expects a value that is '{reason}', got {sorted(reasons)}"
    if not options and json.load(open(f"{folder}/other.json")) != report:
        yield "pp-opt reports otherwise"
    tell(f"{folder}/memory.svg")
    drawn = "".join(xml.etree.ElementTree.parse(f"{folder}/memory.svg").getroot().itertext())
    for line in tell("").splitlines():
        if (peak := re.search(r"peak [\d.]+ [KM]?i?B", line)) and peak[0] not in drawn:
            yield f"the drawing lacks '{peak[0]}'"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    tools = parser.parse_args().bin.resolve()
    errors, cases = [], [case for case in CASES if not case[2] or shutil.which("mpirun")]
    with tempfile.TemporaryDirectory() as folder:
        for name, model in MODELS.items():
            subprocess.run([tools / "pp-model", *model.split(), "-o", f"{folder}/{name}.mlir"],
                           check=True)
        for case in cases:
            errors += [f"{case[0]} [{case[1]}]: {error}" for error in check(tools, folder, case)]
    print(f"{len(cases)} plans")
    print("\n".join(errors[:20]))
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
