#!/usr/bin/env python3
# check.py - runs pp on the recorded cases and compares with PyTorch's numbers.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: the folder of pp's tools, a file of cases, an element type and a partition.
# Out: one line per case; exit code 1 if one differs. Losses and, in f64, metrics
# and, where a case has them, the final parameters are compared; README.md gives
# the bounds. Standard library only.
"""Compares pp with the numbers that PyTorch produced."""

import argparse
import array
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BOUNDS = {"f64": 1e-9, "f32": 1e-5}  # relative


def read_safetensors(path):
    """Name -> (shape, values) of a file of f64 tensors and i64 counters."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        payload = file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        if entry["dtype"] not in ("F64", "I64"):
            raise ValueError(f"{path}: expects F64 or I64 for {name}, "
                             f"got {entry['dtype']}")
        begin, end = entry["data_offsets"]
        values = array.array("d" if entry["dtype"] == "F64" else "q")
        values.frombytes(payload[begin:end])
        tensors[name] = entry["shape"], values
    return tensors


def relative_difference(ours, theirs):
    """|ours - theirs| / |theirs| in Euclidean norms, not a number included."""
    difference = sum((a - b)**2 for a, b in zip(ours, theirs))**0.5
    return difference / max(sum(b * b for b in theirs)**0.5, 1e-300)


def parameter_difference(ours, theirs):
    """The largest over tensors, and the name of that tensor."""
    if ours.keys() != theirs.keys():
        raise ValueError(f"expects the parameters {sorted(theirs)}, "
                         f"got {sorted(ours)}")
    worst = 0.0, "none"
    for name, (shape, values) in theirs.items():
        if ours[name][0] != shape:
            raise ValueError(f"expects {name} of shape {shape}, "
                             f"got {ours[name][0]}")
        difference = relative_difference(ours[name][1], values)
        if not difference <= worst[0]:
            worst = difference, name
    return worst


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=120)
    if done.returncode != 0:
        raise ValueError(f"exit code {done.returncode} of "
                         f"{' '.join(command)}\n{done.stdout}")


def check(args, goldens, case, scratch):
    """The lines that say what differs; empty if nothing does."""
    model = os.path.join(scratch, "model.mlir")
    final = os.path.join(scratch, "final.safetensors")
    report = os.path.join(scratch, "report.json")
    options = " ".join(f"{k}={v}" for k, v in case["options"].items())
    sizes = goldens.get("model", {}) | case["model"]
    run([os.path.join(args.bin, "pp-model"),
         case.get("family") or goldens["family"],
         f"--dtype={args.dtype}", "-o", model,
         *(f"--{k}={v if isinstance(v, str) else json.dumps(v)}"
           for k, v in sizes.items())])
    run([os.path.join(args.bin, "pp-run"), model,
         "--parallelize=" + f"{args.partition} {options}".strip(),
         f"--data=npy:{os.path.join(HERE, case.get('data', 'data'))}",
         f"--steps={goldens['steps']}", "--quiet", f"--report={report}",
         f"--parameters={os.path.join(HERE, case['initial'])}",
         f"--save={final}"])
    bound = BOUNDS[args.dtype]
    with open(report) as file:
        steps = json.load(file)["steps"]
    ours = [step["loss"] for step in steps]
    theirs = case[f"losses_{args.dtype}"]
    if len(ours) != len(theirs):
        return [f"expects {len(theirs)} losses, got {len(ours)}"]
    problems = [f"loss of step {i + 1}: expects {b!r}, got {a!r}"
                for i, (a, b) in enumerate(zip(ours, theirs))
                if not abs(a - b) <= bound * abs(b)]
    if args.dtype == "f64":
        for name, values in case.get("metrics", {}).items():
            problems += [f"{name} of step {i + 1}: expects {value!r}, got {step}"
                         for i, (step, value) in enumerate(zip(steps, values))
                         if not abs(step["metrics"][name] - value) <=
                         bound * abs(value)]
        if "final" in case:
            difference, name = parameter_difference(
                read_safetensors(final),
                read_safetensors(os.path.join(HERE, case["final"])))
            if not difference <= bound:
                problems.append(f"final {name}: differs by {difference:.1e}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of pp's tools")
    parser.add_argument("--dtype", choices=BOUNDS, default="f64")
    parser.add_argument("--partition", default="",
                        help='for --parallelize, such as "dp=2 tp=2"')
    parser.add_argument("--goldens", default="goldens.json",
                        help="the cases, in this script's folder")
    parser.add_argument("--case", help="run this case only")
    args = parser.parse_args()
    with open(os.path.join(HERE, args.goldens)) as file:
        goldens = json.load(file)
    cases = [case for case in goldens["cases"]
             if args.case in (None, case["name"])]
    if not cases:
        parser.error(f"expects a case of {args.goldens}, got '{args.case}'")
    failed = False
    for case in cases:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                problems = check(args, goldens, case, scratch)
            except ValueError as error:
                problems = [str(error)]
        print(f"{case['name']}: {'; '.join(problems) or 'agrees'}")
        failed |= bool(problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
