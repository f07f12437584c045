#!/usr/bin/env python3
"""Checks what the tools hand to one another.

SPDX-License-Identifier: Apache-2.0

A module may rest between any two levels: printed, parsed and printed again it is
the same text, and going on from it gives the same program. An artifact computes,
bit by bit, what pp-run computes from the module. With images for several
processors, it takes the best.

  artifacts.py --bin=build/bin
"""
import json
import os
import platform
import random
import re
import subprocess
import sys

import scratch

MODELS = {"mlp": "mlp --layers=4",
          "gpt": "gpt --layers=2 --hidden=32 --heads=4 --seq=16 --batch=8 --vocab=64"}
PARTITIONS = ["", "dp=2", "tp=2", "pp=2 microbatches=2 schedule=gpipe",
              "dp=2 tp=2 pp=2 microbatches=4 clip=1"]
LEVELS = ["graph", "spmd", "pipeline", "program"]
STEPS = "--steps=4"
LEVELS_OF_PROCESSORS = ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"]


class Tools(scratch.Scratch):
    def __init__(self, place, errors):
        super().__init__(place.folder, place.tools)
        self.errors = errors

    def run(self, tool, *arguments):
        done = self.call(tool, *arguments)
        if done.returncode:
            self.errors.append(f"{tool} {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
        return done.stdout

    def text(self, name):
        return (self.folder / name).read_text()

    def losses(self, *arguments):
        self.run("pp-run", *arguments, STEPS, "--quiet", f"--report={arguments[0]}.json")
        report = self.folder / f"{arguments[0]}.json"
        if not report.exists():
            return None
        return [step["loss"] for step in json.loads(report.read_text())["steps"]]


def check_levels(tools, model, partition):
    """Every level as text; the last one is left in program.mlir."""
    source = f"{model}.mlir"
    for level in LEVELS:
        tools.run("pp-opt", f"{model}.mlir", "-o", "direct.mlir", "--mlir-print-debuginfo",
                  f"--pp-parallelize={partition} optimizer=sgd stop-after={level}")
        goal = "" if source != f"{model}.mlir" else f"{partition} optimizer=sgd "
        tools.run("pp-opt", source, "-o", f"{level}.mlir", "--mlir-print-debuginfo",
                  f"--pp-parallelize={goal}stop-after={level}")
        tools.run("pp-opt", f"{level}.mlir", "-o", "again.mlir", "--mlir-print-debuginfo")
        if tools.text(f"{level}.mlir") != tools.text("again.mlir"):
            tools.errors.append(f"{model} [{partition}] {level}: prints otherwise than it parses")
        if tools.text(f"{level}.mlir") != tools.text("direct.mlir"):
            tools.errors.append(f"{model} [{partition}] {level}: going on from a file gives "
                                "another module than going on in memory")
        source = f"{level}.mlir"


def check_artifact(tools, model, partition):
    for old in tools.folder.glob("*.json"):
        old.unlink()
    expected = tools.losses(f"{model}.mlir", f"--parallelize={partition} optimizer=sgd")
    tools.run("pp-opt", f"{model}.mlir", f"--pp-parallelize={partition} optimizer=sgd",
              "--emit=ppx", "-o", "model.ppx")
    tools.run("pp-opt", "program.mlir", "--emit=ppx", "-o", "program.ppx")
    for name in ("program.mlir", "model.ppx", "program.ppx"):
        losses = tools.losses(name)
        if losses != expected:
            tools.errors.append(f"{model} [{partition}]: expects {expected} from {name}, "
                                f"got {losses}")
    if platform.machine() == "x86_64" and \
            b"x86-64" not in (tools.folder / "model.ppx").read_bytes():
        tools.errors.append(f"{model} [{partition}]: expects the artifact to name a processor level")
    print(f"{model} [{partition}]: losses {expected}")


def check_images(tools):
    """Images of several levels compute the same but for rounding; the best one runs."""
    own = re.findall(rb"x86-64(?:-v[234])?", (tools.folder / "model.ppx").read_bytes())
    if not own:
        return
    levels = LEVELS_OF_PROCESSORS[:LEVELS_OF_PROCESSORS.index(own[0].decode()) + 1]
    partition = "dp=2 pp=2 microbatches=2 optimizer=sgd"
    expected = tools.losses("gpt.mlir", f"--parallelize={partition}")
    for targets, emitted in ((levels, "images.ppx"), (levels[:1], "lowest.ppx")):
        tools.run("pp-opt", "gpt.mlir", f"--pp-parallelize={partition}", "--emit=ppx",
                  f"--targets={','.join(targets)}", "-o", emitted)
    for level in levels:
        losses = tools.losses("images.ppx", f"--target={level}")
        if not losses or max(abs(a - b) for a, b in zip(losses, expected)) > 1e-5:
            tools.errors.append(f"expects {expected} from the image for {level}, got {losses}")
    for arguments, same in ((("images.ppx",), ("gpt.mlir", f"--parallelize={partition}")),
                            (("lowest.ppx",), ("images.ppx", f"--target={levels[0]}"))):
        if tools.losses(*arguments) != tools.losses(*same):
            tools.errors.append(f"expects the bits of {same} from {arguments}")
    told = tools.run("pp-run", "images.ppx", "--dry-run", f"--target={levels[0]}").splitlines()
    listed = [line.split() for line in told[1:len(levels) + 1]]
    if [row[0] for row in listed] != levels or "this one" not in told[1]:
        tools.errors.append(f"expects a dry run to list the images, got {told[:len(levels) + 1]}")
    # Of a dry run nothing is for this machine. A compiler may be without GPUs.
    made = subprocess.run([tools.tools / "pp-opt", "gpt.mlir", "--pp-parallelize=", "--emit=ppx",
                           "--targets=sm_80", "-o", "gpu.ppx"], cwd=tools.folder,
                          capture_output=True, text=True)
    if made.returncode == 0:
        told = tools.run("pp-run", "gpu.ppx", "--dry-run")
        if "sm_80" not in told or "this one" not in told:
            tools.errors.append(f"expects a dry run of a GPU's image, got {told}")
    elif "libdevice" not in made.stderr:
        tools.errors.append(f"expects an image for sm_80, got {made.stderr}")
    head = (tools.folder / "lowest.ppx").read_bytes()
    if any(level.encode() in head for level in levels[1:]):
        tools.errors.append("expects an artifact for the lowest level, got one that names another")
    for arguments, code, expected in (
            (["pp-run", "images.ppx", "--target=sm_1"], 2, f"({', '.join(levels)}), got 'sm_1'"),
            (["pp-run", "gpt.mlir", "--target=sm_1"], 2, "got 'sm_1'"),
            (["pp-opt", "gpt.mlir", "--pp-parallelize=", "--targets=cpu"], 2, "--emit=ppx"),
            (["pp-opt", "gpt.mlir", "--pp-parallelize=", "--emit=ppx", "-o", "x.ppx",
              "--targets=sm_1"], 2, "got 'sm_1'"),
            (["pp-opt", "gpt.mlir", "--pp-parallelize=", "--emit=ppx", "-o", "x.ppx",
              "--targets=sm_86"], 2, "got 'sm_86'; for this GPU pass sm_80, which later GPUs run"),
            (["pp-opt", "gpt.mlir", "--pp-parallelize=", "--emit=ppx", "-o", "x.ppx",
              f"--targets=cpu,{levels[-1]}"], 2, "each target once"),
            (["pp-opt", "program.mlir", "--emit=ppx", "-o", "x.ppx", "--targets=cpu"], 2,
             "expects a module of level pipeline or before"),
            (["pp-opt", "gpt.mlir", "--pp-parallelize=", "--emit=ppx", "-o", "x.ppx",
              f"--targets={levels[0]}", "--pp-predict"], 2,
             "or use pp-run FILE.ppx --target=NAME --dry-run")):
        done = tools.call(*arguments)
        if done.returncode != code or expected not in done.stderr:
            tools.errors.append(f"{' '.join(arguments)}: expects exit {code} and '{expected}', "
                                f"got {done.returncode}: {done.stderr}")
    print(f"images for {', '.join(levels)}: losses {losses}")


def check_threads(tools):
    """A rank has the threads it was planned with; a run on more cores says so, unless all are used."""
    cores = sorted(os.sched_getaffinity(0))
    for threads, count in ((1, 1), (1, 2), (2, 2)):
        if count > len(cores):
            continue
        tools.run("pp-opt", "mlp.mlir", f"--pp-parallelize=threads={threads}", "--emit=ppx", "-o",
                  "threads.ppx")
        told = tools.run("pp-run", "threads.ppx", "--dry-run")
        if f": 1 rank of {threads} thread" not in told:
            tools.errors.append(f"expects a dry run to tell of {threads} threads, got {told}")
        os.sched_setaffinity(0, cores[:count])
        done = tools.call("pp-run", "threads.ppx", "--steps=1", "--report=threads.json")
        os.sched_setaffinity(0, cores)
        notes = done.stderr.count(f"note: uses 1 of {count} cores")
        if done.returncode or notes != (threads < count):
            tools.errors.append(f"{threads} threads on {count} cores: expects a note only of idle "
                                f"ones, got {done}")
        report = json.loads((tools.folder / "threads.json").read_text())
        if report["threads_per_rank"] != threads:
            tools.errors.append(f"expects {threads} threads in the report, got {report}")


def check_damage(tools):
    """Of a whole artifact every flipped bit is refused, whatever it stands for."""
    whole = (tools.folder / "model.ppx").read_bytes()
    for place in random.Random(5).sample(range(8 * len(whole)), 25):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        (tools.folder / "damaged.ppx").write_bytes(damaged)
        done = tools.call("pp-run", "damaged.ppx", "--steps=1", "--quiet")
        if done.returncode != 3 or "damaged.ppx: expects" not in done.stderr:
            tools.errors.append(f"bit {place} flipped: expects exit 3, got {done.returncode}: "
                                f"{done.stderr}")
    (tools.folder / "damaged.ppx").unlink()


def check_refusals(tools):
    """Only level program becomes an artifact; a refused one leaves no file."""
    before = sorted(os.listdir(tools.folder))
    for arguments, expected in (
            (["mlp.mlir", "-o", "bad.ppx"], "expects a module of level program"),
            (["mlp.mlir", "-o", "missing/bad.ppx", "--pp-parallelize="], "missing/bad.ppx"),
            (["program.mlir"], "-o FILE.ppx")):
        done = tools.call("pp-opt", "--emit=ppx", *arguments)
        if done.returncode not in (2, 14) or expected not in done.stderr:
            tools.errors.append(f"pp-opt --emit=ppx {' '.join(arguments)}: expects '{expected}', "
                                f"got exit {done.returncode}: {done.stderr}")
    # What a dry run writes is neither what it reads nor written twice.
    whole = (tools.folder / "images.ppx").read_bytes()
    for options in (["--code=images.ppx"], ["--code=x", "--report=x"], ["--trace=x", "--code=./x"]):
        done = tools.call("pp-run", "images.ppx", "--dry-run", *options)
        if done.returncode != 2 or "expects another file, got '" not in done.stderr:
            tools.errors.append(f"pp-run --dry-run {' '.join(options)}: expects a refusal, got "
                                f"exit {done.returncode}: {done.stderr}")
    if (tools.folder / "images.ppx").read_bytes() != whole:
        tools.errors.append("expects an artifact not to be written over by its code")
    if sorted(os.listdir(tools.folder)) != before:
        tools.errors.append(f"expects no new files after refusals, got {os.listdir(tools.folder)}")


def main():
    errors = []
    with scratch.from_command_line(__doc__) as place:
        tools = Tools(place, errors)
        for model, sizes in MODELS.items():
            tools.run("pp-model", *sizes.split(), "-o", f"{model}.mlir")
            for partition in PARTITIONS:
                check_levels(tools, model, partition)
                check_artifact(tools, model, partition)
        check_images(tools)
        check_threads(tools)
        check_damage(tools)
        check_refusals(tools)
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
