#!/usr/bin/env python3
"""Compares what a run takes of a GPU with what was predicted, line by line.

SPDX-License-Identifier: Apache-2.0

On the emulated library of libcuda, whose figure is exact: a context of 300 MiB, what was allocated, and
nothing else. So what the engine allocates is predicted to the byte; what only a driver knows, code
and graphs, takes nothing there.

  memory.py --bin=build/bin --emulators=build/test/gpu/lib
"""
import math
import re
import sys

import commands

MODEL = "gpt --layers=2 --hidden=16 --heads=2 --seq=8 --batch=4 --vocab=33".split()
PLANS = ["optimizer=adamw", "dp=2 zero=3 clip=1.0", "tp=2 pp=2 sequence=true microbatches=2"]
CONTEXT = 300 << 20
# What of the lines is on the device and known before.
ENGINE = ("arenas", "rows of scalars", "tables of comm ops", "tables of products")
UNKNOWN = {"modules", "context", "graphs"}


class Memory(commands.Runs):
    def train(self, *arguments, emulated=""):
        return self.call("pp-run", "gpt.mlir", "--device=cuda", *arguments,
                         emulated=f"seed 1\n{emulated}\n")

    def report(self, *arguments, emulated=""):
        """By name, the lines of each device."""
        done = self.train("--report=report.json", *arguments, emulated=emulated)
        if done.returncode:
            sys.exit(f"{arguments}: {done.stdout}{done.stderr}")
        report = self.load("report.json")
        return done.stdout, [{line["name"]: line for line in device["lines"]}
                             for device in report["device_memory"]]

    def check(self, plan):
        run = [f"--parallelize={plan}", "--steps=3", "--data=random", "--quiet", "--graph=on"]
        _, (lines,) = self.report(*run)
        predicted = {name: line["predicted_bytes"] for name, line in lines.items()}
        measured = {name: line["measured_bytes"] for name, line in lines.items()}
        for name in ENGINE + ("allocated", "pinned memory of the host"):
            if predicted[name] is None:
                self.errors.append(f"{plan}: expects a prediction of {name}, got none")
        total = sum(predicted[name] for name in ENGINE)
        self.expect(f"{plan}: predicted of all lines", predicted["allocated"], total)
        self.expect(f"{plan}: allocated", measured["allocated"], total)
        self.expect(f"{plan}: context", measured["context"], CONTEXT)
        self.expect(f"{plan}: in use", measured["in use"], CONTEXT + total)
        self.expect(f"{plan}: what only a driver knows",
                    {name for name in predicted if predicted[name] is None},
                    UNKNOWN | {"in use"})
        # CommOps of ranks that share a GPU are kernels of moves.
        self.expect(f"{plan}: has tables", predicted["tables of comm ops"] > 0, "=2" in plan)

        # Heads lie between positions, unless a rank has one alone.
        self.expect(f"{plan}: has tables of products", predicted["tables of products"] > 0,
                    "tp=" not in plan)

        self.check_dry_run(plan, run)

        # Of the pinned memory each of two steps under way has half.
        done = self.train(*run, emulated="fail cuMemHostAlloc 1 2")
        half = re.search(r"expects (\d+) bytes of the host's memory", done.stderr)
        self.expect(f"{plan}: pinned", (done.returncode, half and 2 * int(half[1])),
                    (4, predicted["pinned memory of the host"]))

        # It fits exactly, and not into a byte less.
        done = self.train(*run, emulated=f"memory {CONTEXT + total}")
        self.expect(f"{plan}: memory of what is predicted", done.returncode, 0)
        done = self.train(*run, emulated=f"memory {CONTEXT + total - 1}")
        self.expect(f"{plan}: a byte less", (done.returncode, *re.findall(
            r"\((\d+) bytes\)", done.stderr)), (4, str(total), str(total - 1)))

    def check_dry_run(self, plan, run):
        """It knows of the GPU that takes most what a run does in which each rank has its own."""
        text, (dry,) = self.report(f"--parallelize={plan}", "--dry-run", "--target=sm_90")
        ranks = math.prod(int(size) for size in re.findall(r"\b[dtp]p=(\d+)", plan))
        _, devices = self.report(*run, emulated=f"devices {ranks}")
        self.expect(f"{plan}: GPUs", len(devices), ranks)
        most = max(devices, key=lambda lines: lines["arenas"]["predicted_bytes"])
        self.expect(f"{plan}: dry run",
                    {name: line["predicted_bytes"] for name, line in dry.items()},
                    {name: line["predicted_bytes"] for name, line in most.items()
                     if name != "in use"})
        # Of a module nothing is compiled, and of an artifact all is.
        self.expect(f"{plan}: PTX", dry["modules"]["origin"],
                    "code that the driver compiles from PTX, not compiled yet")
        self.expect(f"{plan}: PTX of a run", bool(re.match(
            "code that the driver compiles from [0-9.]+ KiB of PTX, ", most["modules"]["origin"])), True)
        # As the table of ranks has it.
        self.expect(f"{plan}: workspaces", dry["arenas"]["origin"],
                    "of 1 rank, with library workspaces of at most 4.00 MiB")
        for name in dry:
            if not re.search(f"^{name} ", text, re.M):
                self.errors.append(f"{plan}: expects a line of {name} in the dry run, got\n{text}")

    def check_limit(self):
        """All that the engine allocates of a GPU counts, for all ranks that share it."""
        plan = "--parallelize=tp=2 sequence=true"
        run = [plan, "--steps=1", "--data=random", "--quiet"]
        allocated = {}
        for devices in 1, 2:
            _, lines = self.report(*run, emulated=f"devices {devices}")
            allocated[devices] = max(its["allocated"]["predicted_bytes"] for its in lines)
        self.expect("both ranks on one GPU", allocated[1] > allocated[2], True)
        # A dry run is of a GPU for each.
        for devices, command in (1, run), (2, run), (2, [plan, "--dry-run", "--target=sm_80"]):
            for less, code in (0, 0), (1, 4):
                limit = allocated[devices] - less
                done = self.train(*command, f"--memory-limit={limit}",
                                 emulated=f"devices {devices}")
                self.expect(f"{devices} GPUs within {limit} bytes", done.returncode, code)
                if code:
                    self.expect("who needs too much", bool(re.search(
                        rf"memory limit of {limit} bytes \(.*\) on a GPU, got {limit + 1} bytes \(.*\) for "
                        + ("rank [01]\n", "ranks 0-1, which share it\n")[devices == 1],
                        done.stderr)), True)

    def check_several(self):
        """Each rank on a GPU of its own: NCCL's memory is nobody's to predict."""
        _, devices = self.report("--parallelize=dp=2", "--steps=1", "--data=random", "--quiet",
                                 "--graph=on", emulated="devices 2")
        self.expect("GPUs that tell of their memory", len(devices), 2)
        for lines in devices:
            self.expect("what NCCL takes", lines["NCCL"]["predicted_bytes"], None)
            self.expect("tables of comm ops", lines["tables of comm ops"]["predicted_bytes"], 0)
            self.expect("allocated", lines["allocated"]["measured_bytes"],
                        lines["allocated"]["predicted_bytes"])

    def check_unrecorded(self):
        _, (lines,) = self.report("--steps=1", "--data=random", "--quiet", "--graph=off")
        self.expect("graphs of what is not recorded", lines["graphs"]["predicted_bytes"], 0)


def check(runs):
    runs.make("pp-model", *MODEL, "-o", "gpt.mlir")
    for plan in PLANS:
        runs.check(plan)
    runs.check_several()
    runs.check_limit()
    runs.check_unrecorded()


if __name__ == "__main__":
    sys.exit(commands.main(Memory, check))
