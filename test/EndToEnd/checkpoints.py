#!/usr/bin/env python3
"""Spoils checkpoints, and losses, and looks at what a run makes of it.

SPDX-License-Identifier: Apache-2.0

A run whose loss or parameters stop being finite saves the last state before, and
ends with 12. What lacks, is cut, edited or of another checkpoint is refused with
13, and the newest whole checkpoint found. Files that are not ours stay, and a
file system that hides an index for a moment costs no checkpoint. A signal saves.
The trace shows saves, and the memory limit counts their copies.

  checkpoints.py --bin=build/bin --library=FILE
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import scratch

MPIRUN = "mpirun --allow-run-as-root --oversubscribe --bind-to none --host localhost:2 -n 2".split()
GPT = "gpt --layers=1 --hidden=16 --heads=2 --seq=8 --batch=4 --vocab=32".split()


class Judge(scratch.Judge):
    def run(self, code, words, *options, model="m.mlir", launcher=(), fault=None,
            quiet=("--quiet",)):
        """Runs pp-run; the words, separated by |, are in its errors."""
        environment = dict(os.environ)
        if fault:
            environment |= {"LD_PRELOAD": str(self.place.library), "PP_FAULT": fault}
        done = subprocess.run([*launcher, self.place.tools / "pp-run", model, *quiet, *options],
                              cwd=self.place.folder, env=environment, capture_output=True, text=True, timeout=60)
        self.expect(done.returncode == code and all(word in done.stderr for word in words.split("|")),
                    f"{options}: expects {code} and {words}, got {done.returncode} and {done.stderr}")
        return done.stderr

    def steps(self, folder):
        return sorted(int(path.parent.name[5:]) for path in (self.place.folder / folder).glob("step-*/index.json"))

    def has(self, folder, steps):
        self.expect(self.steps(folder) == steps, f"{folder}: expects {steps}, got {self.steps(folder)}")

    def copy(self, folder, name):
        shutil.copytree(self.place.folder / folder, self.place.folder / name, symlinks=True)
        return self.place.folder / name


def check_losses(judge):
    falls = "--parallelize=dp=2 optimizer=sgd lr=4e2"
    for name, launcher in ("threads", ()), ("mpi", MPIRUN):
        folder = f"checkpoints-{name}"
        judge.run(12, "expects a finite loss, got|go on with --resume=", falls, "--steps=60", f"--checkpoint={folder}",
                  "--save-every=3", model="gpt.mlir", launcher=launcher)
        lines = open(judge.place.folder / folder / f"step-{judge.steps(folder)[-1]}" / "metrics.jsonl").readlines()
        judge.expect(len(lines) == judge.steps(folder)[-1], f"{name}: expects a line of each step, got {lines}")
    judge.expect(judge.steps("checkpoints-mpi") == judge.steps("checkpoints-threads"), "expects the same steps")
    # The loss is finite, what it makes of the parameters is not.
    judge.run(12, "step 1: expects finite parameters|step 0 is saved", "--parallelize=optimizer=sgd lr=1e39",
              "--steps=1", "--checkpoint=checkpoints-1")
    # Steps that are skipped change no parameter.
    judge.run(12, "which were skipped|is saved", "--parallelize=precision=f16 optimizer=sgd lr=1e30",
              "--steps=60", "--checkpoint=checkpoints-f16", "--save-every=2", model="gpt.mlir")
    judge.expect(len(judge.steps("checkpoints-f16")) > 0, "expects a checkpoint of skipped steps")


def check_damage(judge):
    judge.run(0, "", "--steps=4", "--checkpoint=good", "--save-every=1", "--parallelize=dp=2 zero=1")
    resume = ["--steps=6", "--parallelize=dp=2 zero=1"]
    edits = [("lacks", lambda step: (step / "rank-1.safetensors").unlink(), "rank-1|not whole"),
             ("cut", lambda step: os.truncate(step / "rank-0.safetensors", 100), "rank-0|not whole"),
             ("mixed", lambda step: shutil.copy(step.parent / "step-3/rank-0.safetensors", step), "rank-0|expects the file"),
             ("lines", lambda step: (step / "metrics.jsonl").write_text("{}\n"), "metrics.jsonl|expects the lines"),
             ("index", lambda step: edit(step / "index.json"), "index.json|digest")]
    for name, spoil, words in edits:
        folder = judge.copy("good", name)
        spoil(folder / "step-4")
        judge.run(13, words, *resume, f"--resume={name}/step-4")
        # The newest whole one of the folder; the damaged one is kept aside.
        judge.run(0, f"warning: |goes on from {name}/step-3", *resume, f"--checkpoint={name}", "--resume")
        judge.has(name, [3, 6])
        judge.expect((folder / "aside-4").exists(), f"{name}: expects the damaged one aside")
    values = judge.copy("good", "values") / "step-4/rank-0.safetensors"
    data = bytearray(values.read_bytes())
    data[-9] ^= 1
    values.write_bytes(data)
    judge.run(13, "another digest|damaged", *resume, "--resume=values")
    judge.run(13, "expects batches of", *resume, "--resume=good", model="large.mlir")
    judge.run(13, "besides|--resume-parameters-only", "--steps=6", "--parallelize=optimizer=sgd", "--resume=good")
    judge.run(0, "", "--steps=1", "--parallelize=optimizer=sgd", "--resume=good", "--resume-parameters-only")
    judge.run(13, "of another model", "--steps=6", "--resume=good", model="gpt.mlir")
    model = judge.place.folder / "m.mlir"
    (judge.place.folder / "other.mlir").write_text(model.read_text().replace("pp.tanh", "pp.exp", 1))
    judge.run(0, "note: the model computes something else", *resume, "--resume=good", model="other.mlir", quiet=())
    judge.run(0, 'goes on with weight_decay.of = "*.bias:0,*.weight:0" (was absent)\n', "--steps=6", "--resume=good",
              "--parallelize=dp=2 zero=1 weight_decay.of=*.bias:0,*.weight:0", quiet=())
    judge.run(2, "'--seed' expects the seed", *resume, "--resume=good", "--seed=1")
    for folder, file in ("good", "step-4/rank-0.safetensors"), ("good", "step-4/more"), ("good", ".lock"), (
            "good/step-4", "step-4/more"):
        judge.run(2, "--save expects another file|of the checkpoints", *resume, f"--resume={folder}",
                  f"--save=good/{file}")
    judge.run(2, "at least its 4", "--steps=3", "--parallelize=dp=2 zero=1", "--resume=good")
    judge.run(0, "", "--steps=4", "--parallelize=dp=2 zero=1", "--resume=good")


def edit(path):
    path.write_text(path.read_text().replace('"step": 4', '"step": 5'))


def check_folders(judge):
    folder = judge.place.folder
    judge.run(0, "", "--steps=2", "--checkpoint=other")
    judge.run(2, "checkpoints of another run", "--steps=2", "--checkpoint=other")
    judge.run(2, "checkpoints of another run", "--steps=6", "--resume=good", "--parallelize=dp=2 zero=1",
              "--checkpoint=other")
    foreign = folder / "foreign"
    for name in "step-1/model.pt", "step-900/y", "notes":
        (foreign / name).parent.mkdir(parents=True, exist_ok=True)
        (foreign / name).write_text("mine")
    (foreign / "step-5").symlink_to(folder / "other/step-2")
    judge.run(0, "step 1 is not saved", "--steps=8", "--checkpoint=foreign", "--save-every=1", "--keep=1")
    judge.expect(all((foreign / name).exists() for name in ("step-1/model.pt", "step-900/y", "notes", "step-5")),
                 "expects what is not ours to stay")
    judge.has("other", [2])
    hidden = judge.copy("good", "checkpoints-hidden").name
    judge.run(14, "index.json: cannot examine", "--steps=6", "--parallelize=dp=2 zero=1", f"--checkpoint={hidden}",
              "--resume", fault="hide 0")
    judge.has(hidden, [3, 4])
    # Not all disks take large writes past the cache.
    judge.run(0, "", "--steps=1", "--checkpoint=checkpoints-disk", model="wide.mlir", fault="unaligned 0")
    judge.run(0, "", "--steps=2", "--resume=checkpoints-disk", model="wide.mlir")
    # One save fails in both processes, in the second write of each; the others succeed.
    judge.run(0, "is not saved", "--steps=9", "--checkpoint=checkpoints-mpi-full", "--save-every=1", "--keep=9",
              "--parallelize=dp=2", launcher=MPIRUN, fault="once 20")
    judge.expect(0 < 9 - len(judge.steps("checkpoints-mpi-full")) <= 2, "expects a save or two to lack, got "
                 f"{judge.steps('checkpoints-mpi-full')}")


def check_signals(judge):
    def start(*options):
        return subprocess.Popen([judge.place.tools / "pp-run", "m.mlir", "--steps=100000000", "--quiet",
                                 "--checkpoint=signal", *options], cwd=judge.place.folder, stderr=subprocess.PIPE,
                                text=True)
    process = start("--save-every=1s")
    time.sleep(4)
    judge.expect(len(judge.steps("signal")) > 0, "expects a save after a second")
    # A run that dies holds the folder no longer.
    judge.run(2, "a running pp-run holds", "--steps=100000000", "--checkpoint=signal", "--resume")
    process.kill()
    process.communicate(timeout=60)
    before = judge.steps("signal")
    process = start("--keep=1", "--resume")
    time.sleep(2)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    judge.expect(process.returncode == 130 and "go on with --resume=signal" in errors,
                 f"expects a save behind a signal, got {process.returncode} and {errors}")
    after = judge.steps("signal")
    judge.expect(len(after) == 1 and after > before[-1:], f"expects one checkpoint behind {before}, got {after}")


def check_evaluations(judge):
    """A save is whole before an evaluation, however long that takes."""
    process = subprocess.Popen([judge.place.tools / "pp-run", "m.mlir", "--steps=9", "--quiet", "--checkpoint=evaluated",
                                "--save-every=2", "--eval-data=random", "--eval-steps=100000000", "--eval-every=3"],
                               cwd=judge.place.folder)
    time.sleep(3)
    process.kill()
    process.wait()
    judge.has("evaluated", [2])


def check_costs(judge):
    """What a save takes is in the trace, and the memory of its copy in the limit."""
    judge.run(0, "", "--steps=9", "--checkpoint=traced", "--save-every=3", "--trace=trace.json", "--trace-steps=6",
              "--parallelize=dp=2")
    events = json.load(open(judge.place.folder / "trace.json"))["traceEvents"]
    rows = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    saves = {event["name"] for event in events if rows[event["pid"]] == "checkpoints"}
    judge.expect(saves >= {"wait for the copy of step 6", "write step 6"}, f"the trace lacks saves, has {saves}")
    judge.run(0, "", "--steps=5", "--checkpoint=checkpoints-slow", "--save-every=1", "--report=slow.json", fault="slow 30")
    report = json.load(open(judge.place.folder / "slow.json"))
    waits, data = (sum(item[key] for item in report[of])
                   for of, key in (("checkpoints", "wait_ms"), ("steps", "data_ms")))
    judge.expect(waits > 100 > 2 * data, f"expects saves to be no waits for data, got {data} of {waits} ms")
    judge.run(0, "", "--dry-run", "--report=needs.json", "--checkpoint=traced", "--parallelize=dp=2")
    needs = json.load(open(judge.place.folder / "needs.json"))
    copy = needs["checkpoint"]["largest_copy_bytes"]
    arena = int(re.search(r"got (\d+)", judge.run(4, "limit", "--parallelize=dp=2", "--memory-limit=1"))[1])
    for limit, code, options in ((arena, 0, []), (arena + copy, 0, ["--checkpoint=limited"]),
                                 (arena + copy - 1, 4, ["--checkpoint=limited-2"])):
        judge.run(code, "what --checkpoint copies" if code else "", "--parallelize=dp=2", "--steps=1",
                  f"--memory-limit={limit}", *options)


def main():
    with scratch.from_command_line(__doc__, library=pathlib.Path) as place:
        place.make("pp-model", "mlp", "-o", "m.mlir")
        place.make("pp-model", "mlp", "--batch=32", "-o", "large.mlir")
        place.make("pp-model", "mlp", "--hidden=640", "-o", "wide.mlir")
        place.make("pp-model", *GPT, "-o", "gpt.mlir")
        place.library = place.library.resolve()
        judge = Judge(place)
        check_losses(judge)
        check_damage(judge)
        check_folders(judge)
        check_signals(judge)
        check_evaluations(judge)
        check_costs(judge)
        print(f"{judge.failures} failures")
        raise SystemExit(1 if judge.failures else 0)


if __name__ == "__main__":
    main()
