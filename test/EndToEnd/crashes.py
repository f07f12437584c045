#!/usr/bin/env python3
"""Ends runs in the middle of saving, and lets them go on.

SPDX-License-Identifier: Apache-2.0

A run that saves after each step is killed before a change of its files, which is
drawn, or after half of a write; or a change fails, once, or as on a full disk. A
run whose saves fail trains to its end and says so (14) if the last one is not
there. Whatever happened, the folder has a whole checkpoint if one was complete,
and a run that goes on from it ends as one that nobody disturbed, to the bit, and
leaves only the checkpoints that it keeps. The same after a SIGKILL at a time that
is drawn, of one process of several, too.

  crashes.py --bin=build/bin --library=FILE [--all]
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MODEL = "mlp --layers=2 --input=5 --hidden=7 --classes=3 --batch=8"
PLAN = "dp=2 zero=1 optimizer=adamw lr=1e-2"
STEPS, KEEP = 6, 2
FILES = ["", "/index.json", "/metrics.jsonl", "/rank-0.safetensors", "/rank-1.safetensors"]
MPIRUN = "mpirun --allow-run-as-root --oversubscribe --bind-to none --host localhost:2 -n 2".split()


class Place:
    def __init__(self, tools, library, folder):
        self.tools, self.library, self.folder = tools, library, pathlib.Path(folder)
        self.checkpoints = self.folder / "checkpoints"
        model = subprocess.run([tools / "pp-model", *MODEL.split()], check=True, capture_output=True,
                               text=True).stdout
        subprocess.run([tools / "pp-opt", "-", "--emit=ppx", f"--pp-parallelize={PLAN}", "-o",
                        self.folder / "p.ppx"], input=model, text=True, check=True)

    def start(self, *options, fault=None, launcher=(), steps=STEPS):
        environment = dict(os.environ)
        if fault:
            environment |= {"LD_PRELOAD": str(self.library), "PP_FAULT": fault}
        return subprocess.Popen(
            [*launcher, self.tools / "pp-run", "p.ppx", f"--steps={steps}", "--quiet",
             "--metrics=m.jsonl", "--save=p.safetensors", *options],
            cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True)

    def run(self, *options, **how):
        process = self.start(*options, **how)
        _, errors = process.communicate(timeout=60)
        return process.returncode, errors

    def save(self, **how):
        return self.run("--checkpoint=checkpoints", "--save-every=1", f"--keep={KEEP}", "--resume", **how)

    def results(self):
        lines = [json.loads(line) for line in open(self.folder / "m.jsonl")]
        return ([(line["step"], line["loss"]) for line in lines],
                (self.folder / "p.safetensors").read_bytes())

    def whole(self):
        return sorted(int(path.parent.name[5:]) for path in self.checkpoints.glob("step-*/index.json"))

    def check(self, expected):
        """What is wrong with the folder, and with a run that goes on."""
        for step in self.whole():
            code, errors = self.run(f"--resume=checkpoints/step-{step}", steps=STEPS + 1)
            if code:
                yield f"step {step} is not whole: {errors}"
        code, errors = self.save()
        if code:
            return (yield f"cannot go on: {code} {errors}")
        if self.results() != expected:
            yield "goes on to something else"
        names = {str(path.relative_to(self.checkpoints)) for path in self.checkpoints.rglob("*")}
        steps = self.whole()
        wanted = {".lock"} | {f"step-{step}{name}" for step in steps for name in FILES}
        if names != wanted or len(steps) > KEEP or steps[-1:] != [STEPS]:
            yield f"expects at most {KEEP} steps up to the last and nothing else, got {names}"

    def reset(self):
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        (self.folder / "m.jsonl").unlink(missing_ok=True)


def check_fault(place, expected, fault):
    code, errors = place.save(fault=fault)
    kind = fault.split()[0]
    wanted = {"kill": (-signal.SIGKILL,), "half": (-signal.SIGKILL, 0)}.get(kind, (0, 14))
    if code not in wanted:
        yield f"expects code {wanted}, got {code}: {errors}"
    if code == 14 and "checkpoints" not in errors:
        yield f"expects the folder's name, got {errors}"
    # A folder that cannot be made is told before.
    begins = (place.folder / "m.jsonl").exists()
    if (code in (0, 14) and begins and place.results() != expected) or (code == 0 and not begins):
        yield "a failed save disturbs the training"
    if code == 0 and place.whole()[-1:] != [STEPS]:
        yield f"expects the last step, got {place.whole()} and {errors}"
    yield from place.check(expected)


def check_kill(place, expected, launcher, delay):
    process = place.start("--checkpoint=checkpoints", "--save-every=1", f"--keep={KEEP}", "--resume",
                          fault="slow 2", launcher=launcher)
    time.sleep(delay)
    if launcher:  # one of them
        children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
        for child in children[-1:]:
            with contextlib.suppress(ProcessLookupError):  # it may be over
                os.kill(int(child), signal.SIGKILL)
    else:
        process.kill()
    _, errors = process.communicate(timeout=60)
    if process.returncode not in (0, -signal.SIGKILL, 128 + signal.SIGKILL):
        yield f"expects an end by SIGKILL, got {process.returncode}: {errors}"
    yield from place.check(expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    draw, failures = random.Random(3), 0
    with tempfile.TemporaryDirectory() as folder:
        place = Place(args.bin.resolve(), args.library.resolve(), folder)
        place.run()
        expected = place.results()
        _, errors = place.save(fault="count 0")
        changes = int(re.search(r"changes (\d+)", errors)[1])
        cases = [("fault", f"{kind} {n}") for n in range(1, changes + 1) for kind in ("kill", "half", "once", "full")]
        killed = [("kill", draw.choice([(), MPIRUN])) for _ in range(300 if args.all else 8)]
        chosen = cases if args.all else draw.sample(cases, 60)
        for kind, what in chosen + killed:
            place.reset()
            delay = draw.uniform(0, 1.5 if what else 0.5)
            errors = list(check_fault(place, expected, what) if kind == "fault" else
                          check_kill(place, expected, what, delay))
            for error in errors:
                failures += 1
                print(f"{kind} {what or delay}: {error}")
        print(f"{changes} changes of files, {len(chosen)} faults, {len(killed)} kills, {failures} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
