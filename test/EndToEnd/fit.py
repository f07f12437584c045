#!/usr/bin/env python3
"""Tries what pp-run says where a program does not fit its memory limit.

SPDX-License-Identifier: Apache-2.0

A program that is too large, up to fourfold, is refused with code 4. Each plan of
the table needs the memory and the time that the table says, as a dry run of its
own, and the command below it, pasted, trains. What --fit applies fits, is the
command that it prints, and computes the same as the model on one device. Where
nothing fits, it says so.

  fit.py --bin=build/bin
"""
import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

MODEL = "gpt --layers=2 --hidden=64 --heads=4 --seq=32 --batch=16 --vocab=64"
# Of few sequences, so that micro-batches help little; for GPUs, whose workspaces are of some MiB.
SHORT = "gpt --layers=2 --hidden=64 --heads=4 --seq=32 --batch=2 --vocab=64"
WIDE = "gpt --layers=4 --hidden=256 --heads=4 --seq=128 --batch=32 --vocab=512"
# Keys; a limit as a share of what they need; what --fit may apply, or None if
# nothing fits.
CASES = [
    ("", 0.8, "remat|microbatches"),
    ("dp=2", 0.7, "zero|remat|microbatches"),
    ("dp=2 keep='h.0.attn exp'", 0.7, "zero|remat|microbatches"),
    ("dp=4 zero=1", 0.6, "microbatches=4 "),
    ("dp=2 tp=2 microbatches=2", 0.75, "zero|sequence|remat|microbatches"),
    ("remat=none", 0.25, "microbatches"),
    ("dp=2 remat=none", 0.25, "microbatches"),
    ("tp=2", 0.02, None),
    ("pp=2 microbatches=2 optimizer=sgd lr=0.1", 0.7, "remat|microbatches"),
    # An order that keeps the limit changes nothing else.
    ("pp=2 chunks=1 microbatches=4 schedule=auto optimizer=sgd lr=0.1", 0.8, "memory-limit=[0-9]+$"),
]
ROW = re.compile(r'^--parallelize="(.*)" +(\S+ \S+) +(\S+ \S+) +(\S+ \S+) +(\d+) +(yes|no)$', re.M)


class Model:
    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder

    def run(self, *options, source="m.mlir"):
        return subprocess.run([self.tools / "pp-run", source, *options], cwd=self.folder,
                              capture_output=True, text=True, timeout=100)

    def predict(self, keys):
        """Arena of the largest rank, and the printed time of a step."""
        done = self.run(f"--parallelize={keys}", "--dry-run", "--report=report.json")
        report = json.load(open(f"{self.folder}/report.json"))
        step = re.search(r"^step (\S+ \S+),", done.stdout, re.M)[1]
        return max(rank["predicted_peak_bytes"] for rank in report["memory"]), step


def print_bytes(count):
    """As pprt::printBytes() does."""
    if count < 1024:
        return f"{count} B"
    for unit in "KiB", "MiB":
        count /= 1024
        if count < 999.5:
            break
    return f"{count:.{2 if count < 9.995 else 1 if count < 99.95 else 0}f} {unit}"


def check_table(model, keys, peak, limit):
    done = model.run(f"--parallelize={keys}", f"--memory-limit={limit}", "--steps=1")
    if done.returncode != 4 or "within the memory limit" not in done.stderr:
        yield f"expects a refusal, got {done.returncode} and {done.stderr}"
    rows = ROW.findall(done.stdout)
    if not rows:
        yield f"expects a table, got {done.stdout}"
    fitting = [row[5] == "yes" for row in rows]
    if fitting != sorted(fitting, reverse=True):
        yield f"expects what fits first, got {rows}"
    for changed, saves, arena, step, devices, fits in rows:
        bytes_, seconds = model.predict(changed)
        expected = (print_bytes(peak - bytes_), print_bytes(bytes_), seconds,
                    "yes" if bytes_ <= limit else "no")
        if (saves, arena, step, fits) != expected:
            yield f"'{changed}': expects {expected}, got {(saves, arena, step, fits)}"
    if not fitting[0]:
        if done.stdout.splitlines()[-1] != "none of these fits, nor do the strongest of them together":
            yield f"expects that nothing fits, got {done.stdout}"
        return
    command = shlex.split(done.stdout.splitlines()[-1])
    if command[0] != "pp-run" or f"--parallelize={rows[0][0]}" not in command:
        yield f"expects the first plan as a command, got {command}"
    if model.run(*command[2:]).returncode:
        yield f"expects a command that does what the table says, got {command}"


def check_fit(model, keys, limit, applied):
    options = [f"--memory-limit={limit}", "--steps=1", "--verify"]
    done = model.run(f"--parallelize={keys}", *options, "--fit")
    if not applied:
        if done.returncode != 4 or "--fit finds no keys" not in done.stderr:
            yield f"expects that nothing fits, got {done.returncode}, {done.stderr}"
        if "add --fit" in done.stdout:
            yield f"expects no advice to add --fit, got {done.stdout}"
        return
    told = re.search(r"^--fit applies (.*): .* as predicted\n  (.*)$", done.stdout, re.M)
    if done.returncode or not told or not re.search(applied, told[1]):
        yield f"expects {applied}, got {done.returncode}, {done.stdout}, {done.stderr}"
        return
    command = shlex.split(told[2])
    if command != ["pp-run", "m.mlir", *options, command[-1]]:
        yield f"expects the command that was given, got {command}"
    if (bytes_ := model.predict(command[-1].split("=", 1)[1])[0]) > limit:
        yield f"--fit applied {told[1]}, which needs {bytes_} bytes of {limit}"


def check_words(model):
    """Without a table: an artifact, plans without keys, --quiet; and wrong words."""
    for options, code, word, *source in (
            (["--fit"], 2, "'--fit' needs '--memory-limit'"),
            (["--memory-limit=1K", "--quiet"], 4, ""),
            (["--memory-limit=1K", "--parallelize=plan=p.plan"], 4, ""),
            (["--memory-limit=1G", "--fit", "--parallelize=plan=p.plan"], 2, "got plan=p.plan: give keys"),
            (["--memory-limit=1G", "--fit"], 2, "got a module with a plan of its own", "planned.mlir"),
            (["--memory-limit=1G", "--fit"], 2, "got the artifact p.ppx", "p.ppx"),
            (["--memory-limit=9K", "--fit", "--parallelize=remat=auto memory-limit=9K"], 4,
             "in the leanest.*; --fit finds no keys")):
        done = model.run(*options, source=source[0] if source else "m.mlir")
        if done.returncode != code or not re.search(word, done.stderr) or done.stdout:
            yield f"{options}: expects {code} and '{word}', got {done}"


def check_own_limit(model):
    """Where the limit of remat=auto is met by no choice, --fit changes other keys."""
    least, _ = model.predict("dp=2 threads=1 remat=full")
    limit = int(0.8 * least)
    yield from check_fit(model, f"dp=2 threads=1 remat=auto memory-limit={limit}", limit, "zero|microbatches")


def check_devices(model):
    """What fits on more devices only is no promise of --fit, which tells also with --quiet."""
    keys = "remat=full precision=bf16 threads=1"
    options = [f"--parallelize={keys}", f"--memory-limit={model.predict(keys + ' tp=2')[0]}", "--dry-run"]
    for more in ([], ["--fit"]):
        done = model.run(*options, *more)
        if "as a command:" not in done.stdout or "tp=2" not in done.stdout.splitlines()[-1]:
            yield f"{more}: expects tp=2 as a command and no word of --fit, got {done.stdout}"
    done = model.run("--parallelize=dp=2 threads=1", f"--memory-limit={int(0.7 * model.predict('dp=2 threads=1')[0])}",
                     "--steps=1", "--fit", "--quiet")
    if done.returncode or not done.stderr.startswith("--fit applies") or done.stdout:
        yield f"expects --quiet to tell the plan on stderr, got {done}"


def check_gpus(model):
    """What --fit applies fits with what a GPU holds beside the arena, messages in transit among it."""
    for keys, saved in (("dp=4", 0.1), ("dp=4 precision=bf16", 0.1), ("dp=4", 0.3)):
        options = [f"--parallelize={keys}", "--target=sm_90", "--dry-run"]
        found = re.search(r"^allocated .* (\S+) (KiB|MiB)$", model.run(*options).stdout, re.M)
        bytes_ = float(found[1]) * {"KiB": 1 << 10, "MiB": 1 << 20}[found[2]]
        done = model.run(*options, f"--memory-limit={int((1 - saved) * bytes_)}", "--fit")
        if done.returncode or "--fit applies" not in done.stdout:
            yield f"[{keys}] on GPUs in {1 - saved} of {bytes_}: expects a plan that fits, got {done}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    tools = parser.parse_args().bin.resolve()
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        model = Model(tools, folder)
        subprocess.run([tools / "pp-model", *MODEL.split(), "-o", f"{folder}/m.mlir"], check=True)
        subprocess.run([tools / "pp-opt", f"{folder}/m.mlir", "--pp-parallelize=dp=2",
                        "--emit=plan", "-o", f"{folder}/p.plan"], check=True)
        for words in (["--pp-make-plan=dp=2", "-o", "planned.mlir"], ["--pp-parallelize=", "--emit=ppx", "-o", "p.ppx"]):
            subprocess.run([tools / "pp-opt", "m.mlir", *words], cwd=folder, check=True)
        errors += check_words(model)
        for keys, share, applied in CASES:
            keys = f"{keys} threads=1".strip()
            peak, _ = model.predict(keys)
            limit = int(peak * share)
            for error in (*check_table(model, keys, peak, limit),
                          *check_fit(model, keys, limit, applied)):
                errors.append(f"[{keys}] in {limit} bytes: {error}")
        errors += check_own_limit(model)
        for name, text, check in (("short", SHORT, check_devices), ("wide", WIDE, check_gpus)):
            other = Model(tools, pathlib.Path(folder) / name)
            other.folder.mkdir()
            subprocess.run([tools / "pp-model", *text.split(), "-o", other.folder / "m.mlir"], check=True)
            errors += check(other)
    print(f"{len(CASES)} limits")
    print("\n".join(errors[:20]))
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
