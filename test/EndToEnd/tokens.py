#!/usr/bin/env python3
"""Trains on files of tokens, in every way that they are given.

SPDX-License-Identifier: Apache-2.0

The same tokens in one file, in several and in a text have the same losses; so
has every mesh and number of processes, shuffled or not, and a run that resumes.
What does not fit is refused with a line that names both sides.

  tokens.py --bin=build/bin
"""
import json
import math
import os
import shutil
import subprocess
import sys
from array import array
from pathlib import Path

import scratch

TEXT = Path(__file__).resolve().parents[2] / "examples/data/kjv.txt"
STEPS = 6
MPI = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--host", "localhost:2", "-n", "2"]
GOAL = "optimizer=sgd lr=0.5 "


def main():
    errors = []
    with scratch.from_command_line(__doc__) as tools:
        folder = tools.folder

        def call(*words, environment=None):
            return subprocess.run([str(word) for word in words], cwd=folder, timeout=120, capture_output=True,
                                  text=True, check=False, env={**os.environ, **(environment or {})})

        def run(data, goal="", *more, launch=(), model="gpt.mlir", told=None):
            """The losses, by step."""
            ran = call(*launch, tools.tools / "pp-run", model, f"--data={data}", f"--parallelize={GOAL}{goal}",
                       *[f"--steps={STEPS}"] * (not any(word.startswith("--steps") for word in more)),
                       "--report=report.json", *more)
            what = f"{data} {goal} {' '.join(more)}"
            if ran.returncode:
                errors.append(f"expects {what} to end well, got {ran.returncode}: {ran.stderr}")
                return {}
            if told and told not in ran.stdout:
                errors.append(f"expects {what} to tell '{told}', got {ran.stdout}")
            return {its["step"]: its["loss"] for its in json.loads((folder / "report.json").read_text())["steps"]}

        def expect(what, wanted, losses):
            if not losses or any(not math.isclose(wanted[step], loss, rel_tol=1e-9) for step, loss in losses.items()):
                errors.append(f"{what}: expects losses {wanted}, got {losses}")

        def refuse(what, code, message, *words, environment=None):
            ran = call(*words, environment=environment)
            lines = ran.stderr.splitlines()
            if ran.returncode != code or len(lines) != 1 or any(part not in lines[0] for part in message.split("|")):
                errors.append(f"{what}: expects one line with {message} and exit code {code}, got {ran.returncode}: "
                              f"{ran.stderr}{ran.stdout}")

        text = TEXT.read_bytes()[:8000]
        (folder / "text").write_bytes(text)
        tools.make("pp-model", "gpt", "--layers=2", "--hidden=16", "--heads=2", "--seq=16", "--batch=8",
                   "--dtype=f64", "-o", "gpt.mlir")
        # The same tokens, in files of four kinds.
        made = tools.make("pp-tokenize", "text", "-o", "all.bin")
        if made != "all.bin: 8000 tokens of u16, vocabulary 256\n":
            errors.append(f"expects pp-tokenize to count the tokens, got {made}")
        tools.make("pp-tokenize", "text", "-o", "all.u32.bin", "--quiet")
        (folder / "parts").mkdir()
        header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1000,), }"
        (folder / "parts/b.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
                                             + text[3001:4001])
        (folder / "parts/a.bin").write_bytes(array("H", list(text[:3001])).tobytes())
        (folder / "parts/c.u32").write_bytes(array("I", list(text[4001:])).tobytes())
        (folder / "parts/meta.pkl").write_bytes(b"no tokens")

        ordered = run("text:text")
        shuffled = run("tokens:all.bin", told="all.bin holds 8000 tokens: 499 blocks of 16, shuffled; 6 steps of 8 are "
                                              "0.0962 epochs\n")
        if any(math.isclose(ordered[step], shuffled[step]) for step in range(1, STEPS + 1)):
            errors.append(f"expects an order of its own, got {shuffled} for both")
        expect("in order", ordered, run("tokens:all.bin", "", "--shuffle=off"))
        for data in ("tokens:all.u32.bin", "tokens:parts"):
            expect(data, shuffled, run(data))
        expect("a shuffled text", shuffled, run("text:text", "", "--shuffle=on"))
        other = run("tokens:all.bin", "", "--seed=4")
        expect("with a seed", other, run("tokens:parts", "dp=2", "--seed=4"))
        # Every mesh, as threads and as processes.
        for goal in ("dp=2", "dp=4 microbatches=2", "pp=2 microbatches=4", "dp=2 tp=2", "dp=2 zero=3"):
            for launch in [()] + [MPI] * bool(shutil.which("mpirun")):
                expect(f"{goal} {'mpirun' if launch else ''}", shuffled, run("tokens:parts", goal, launch=launch))
        # A run that goes on reads what the other would have.
        for first in (1, 4):
            run("tokens:all.bin", "dp=2", f"--steps={first}", "--checkpoint=saved")
            expect(f"from step {first}", shuffled, run("tokens:parts", "pp=2 microbatches=2", "--resume=saved"))
            shutil.rmtree(folder / "saved")
        run("tokens:all.bin", "", "--steps=2", "--checkpoint=saved")
        for change in ("--shuffle=off", "--hold-out=10%"):
            ran = call(tools.tools / "pp-run", "gpt.mlir", "--data=tokens:all.bin", f"--parallelize={GOAL}",
                       "--steps=3", "--resume=saved", change)
            if "the data differ from those of the checkpoint" not in ran.stderr:
                errors.append(f"expects a note that {change} is new, got {ran.stderr}")
        # A part at the end that training does not read.
        head = folder / "head.bin"
        head.write_bytes(array("H", list(text[:6000])).tobytes())
        expect("held out", run("tokens:head.bin"),
               run("tokens:all.bin", "", "--hold-out=25%", told=", of which the last 2000 are held out: 374 blocks"))
        run("tokens:all.bin", "", "--hold-out=0.25", "--quiet")

        run_it = [tools.tools / "pp-run", "gpt.mlir", "--steps=1"]
        (folder / "odd.bin").write_bytes(b"123")
        (folder / "short.bin").write_bytes(b"12345678")
        (folder / "large.bin").write_bytes(array("H", [256] * 100).tobytes())
        (folder / "none").mkdir()
        for what, code, message, *words in (
                ("an odd file", 14, "odd.bin|2 bytes|got 3|not whole", "--data=tokens:odd.bin"),
                ("too few tokens", 14, "short.bin|16 + 1|got 4", "--data=tokens:short.bin"),
                ("a large token", 14, "large.bin|0 to 255|got 256|token|vocabulary", "--data=tokens:large.bin"),
                ("no folder of tokens", 14, "none|.u32.bin|got none", "--data=tokens:none"),
                ("an unknown type", 14, "text|.u32.bin", "--data=tokens:text"),
                ("no part", 14, "--hold-out|got", "--data=tokens:all.bin", "--hold-out=0.9995"),
                ("all held out", 2, "--hold-out|0.05 or 5%|got '1'", "--data=tokens:all.bin", "--hold-out=1"),
                ("no share", 2, "--hold-out|5%|got 'x'", "--data=tokens:all.bin", "--hold-out=x"),
                ("shuffled random data", 2, "--shuffle|random", "--shuffle=on"),
                ("neither", 2, "--shuffle|on or off", "--data=tokens:all.bin", "--shuffle=yes"),
                ("held out random data", 2, "--hold-out|random", "--hold-out=5%"),
                ("tokens of tokens", 2, "--tokenizer|text:FILE|tokens:all.bin", "--data=tokens:all.bin",
                 "--tokenizer=t.json"),
                ("a result over tokens", 2, "--save|all.bin", "--data=tokens:all.bin", "--report=all.bin"),
                ("a result over a part", 2, "--report|parts/c.u32|--data", "--data=tokens:parts",
                 "--report=parts/c.u32")):
            refuse(what, code, message.replace("--save", "--report"), *run_it, *words)
        # A Python without the package, or none.
        (folder / "lacking").mkdir()
        (folder / "lacking/tokenizers.py").write_text("raise ImportError('none')\n")
        (folder / "t.json").write_text("{}")
        lacks = {"PYTHONPATH": str(folder / "lacking"), "XDG_CACHE_HOME": str(folder / "cache")}
        tokenized = [*run_it, "--data=text:text", "--tokenizer=t.json"]
        refuse("no package", 2, "pip install tokenizers", *tokenized, environment=lacks)
        refuse("no Python", 2, "pip install tokenizers|python3", *tokenized, environment={**lacks, "PATH": ""})
        refuse("no tokenizer", 14, "gone.json|No such file", *tokenized[:-1], "--tokenizer=gone.json",
               environment=lacks)
        refuse("no text", 14, "gone|No such file", *run_it, "--data=text:gone", "--tokenizer=t.json",
               environment=lacks)
        refuse("a text that comes once", 14, "regular file", "bash", "-c",
               "exec \"$0\" gpt.mlir --data=text:<(cat text) --tokenizer=t.json", tools.tools / "pp-run",
               environment=lacks)
    print("\n".join(errors) or "tokens are the same everywhere")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
