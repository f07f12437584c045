#!/usr/bin/env python3
# torch_schedules.py - the orders of torch.distributed.pipelining, as it prints them.
#
# SPDX-License-Identifier: Apache-2.0
#
# Every multi-stage schedule of PyTorch writes its order of actions; a GPT runs in
# that order and is verified, whether communication is written, too, or actions are
# joined. Where pp has a rule of that name, its table is the same. Needs torch.
"""Runs PyTorch's tables of actions."""
import argparse
import os
import subprocess
import sys
import tempfile
import types

import peers

peers.need("torch")
from torch.distributed.pipelining import schedules  # noqa: E402 (found through the line above)

MODEL = ["gpt", "--layers=8", "--hidden=32", "--heads=2", "--seq=8", "--vocab=16", "--batch=8", "--dtype=f64"]
# PyTorch's name, stages of a position, and the keys of our rule that makes the same order.
TABLES = [
    ("ScheduleInterleaved1F1B", 2, "schedule=interleaved-1f1b chunks=2"),
    ("ScheduleInterleavedZeroBubble", 1, "schedule=zb-h1"),
    ("ScheduleInterleavedZeroBubble", 2, None),
    ("ScheduleZBVZeroBubble", 2, "schedule=zb-v"),
    ("ScheduleLoopedBFS", 2, None),
]
SIZES = [(2, 4), (4, 4), (4, 8)]  # positions and micro-batches


def write_order(name, chunks, positions, microbatches, path, form="compute_only"):
    """Writes what the schedule prints, without processes: it asks its stages only for sizes."""
    stages = [types.SimpleNamespace(num_stages=positions * chunks, group_size=positions, group_rank=0, submod=None)
              for _ in range(chunks)]
    schedule = getattr(schedules, name)(stages, microbatches, loss_fn=lambda output, target: output)
    schedule._dump_csv(path, format=form)


def actions(text):
    """The rows of a table without its empty cells."""
    return [[cell for cell in line.split(",") if cell] for line in text.split()]


class Tools:
    def __init__(self, folder, model):
        self.folder, self.model = folder, model

    def call(self, tool, *arguments):
        """Returns the exit code, the output and the errors."""
        process = subprocess.run([os.path.join(self.folder, tool), self.model, *arguments], capture_output=True,
                                 text=True, timeout=300)
        return process.returncode, process.stdout, process.stderr

    def verify(self, keys):
        return self.call("pp-run", f"--parallelize={keys}", "--steps=1", "--verify", "--quiet")

    def own_order(self, keys):
        return actions(self.call("pp-opt", f"--pp-parallelize={keys}", "--emit=schedule")[1])


def check_table(tools, name, chunks, rule, sizes, path, form="compute_only"):
    """Returns what is wrong, or nothing."""
    write_order(name, chunks, *sizes, path, form)
    keys = "pp={} microbatches={} ".format(*sizes)
    code, _, error = tools.verify(keys + f"schedule={path}")
    if code:
        return f"expects to run and to be verified, got exit code {code}: {error}"
    with open(path) as file:
        theirs = actions(file.read())
    if rule and theirs != (ours := tools.own_order(keys + rule)):
        return f"expects {rule} to be {theirs}, got {ours}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of pp's tools")
    args = parser.parse_args()
    failed = 0

    def judge(what, problem):
        nonlocal failed
        failed += problem is not None
        print(f"{what}: {problem or 'ok'}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        model, path = os.path.join(folder, "gpt.mlir"), os.path.join(folder, "order.csv")
        subprocess.run([os.path.join(args.bin, "pp-model"), *MODEL, "-o", model], check=True)
        tools = Tools(args.bin, model)
        for name, chunks, rule in TABLES:
            for sizes in SIZES:
                judge(f"{name} x{chunks}, {sizes[0]} positions, {sizes[1]} micro-batches",
                      check_table(tools, name, chunks, rule, sizes, path))
        for name, form in (("ScheduleZBVZeroBubble", "compute_comms"), ("ScheduleDualPipeV", "compute_only")):
            judge(f"{name}, {form}", check_table(tools, name, 2, None, (2, 4), path, form))
    print(f"{failed} differ" if failed else "all orders as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
