#!/usr/bin/env python3
# train.py - the library as a C program sees it.
#
# SPDX-License-Identifier: Apache-2.0
#
# Builds examples/c/train.c with a plain C compiler and runs it: losses like
# those of pp-run, messages and codes of bad inputs, and no names in the library
# but those of its headers.
"""Tests libpp.so from C.

  train.py --bin=build/bin --library=build/lib/libpp.so
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
INCLUDES = [os.path.join(ROOT, "include"), os.path.join(ROOT, "runtime/include")]
PLAN = "dp=2 tp=2 optimizer=adamw lr=1e-2"
PROBLEMS = []
BAD = [
    # model, plan, code, text
    ("mlp.mlir", "dq=2", 2, "unknown key 'dq'; did you mean 'dp'?"),
    ("mlp.mlir", "dp=32", 1, "mlp.mlir: error: argument \"x\""),
    ("none.mlir", "dp=2", 14, "none.mlir"),
    ("empty.mlir", "dp=2", 1, "expects an MLIR module"),
    ("wrong.mlir", "dp=2", 1, "wrong.mlir:2:"),
]


def expect(holds, what):
    print(f"{'ok' if holds else 'FAILS'}: {what}", flush=True)
    if not holds:
        PROBLEMS.append(what)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--library", required=True)
    args = parser.parse_args()
    binaries, library = os.path.abspath(args.bin), os.path.abspath(args.library)
    with tempfile.TemporaryDirectory() as folder:
        def run(*words):
            return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=100)
        built = run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", *(f"-I{i}" for i in INCLUDES),
                    os.path.join(ROOT, "examples/c/train.c"), library, f"-Wl,-rpath,{os.path.dirname(library)}",
                    "-o", "train")
        if built.returncode:
            sys.exit(f"the example does not build:\n{built.stderr}")
        run(os.path.join(binaries, "pp-model"), "mlp", "-o", "mlp.mlir")
        for name, text in (("empty.mlir", ""), ("wrong.mlir", "module {\n  func.func @main( {}\n}\n")):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        done = run("./train", "mlp.mlir", PLAN)
        losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", done.stdout)]
        expect(done.returncode == 0 and len(losses) == 5 and losses[-1] < losses[0], f"trains {done.stderr}")
        # What it has saved is what pp-run takes.
        again = run(os.path.join(binaries, "pp-run"), "mlp.mlir", f"--parallelize={PLAN}", "--steps=1", "--quiet",
                    "--parameters=trained.safetensors", "--report=report.json")
        expect(again.returncode == 0, f"pp-run goes on from it {again.stderr}")
        if again.returncode == 0:
            with open(os.path.join(folder, "report.json")) as file:
                expect(json.load(file)["steps"][0]["loss"] > 0, "with a loss")
        for model, plan, code, text in BAD:
            done = run("./train", model, plan)
            expect(done.returncode == code and text in done.stderr and done.stderr.startswith("train: error: "),
                   f"{model} {plan}: {code}, {done.stderr.strip()}")
    nm = shutil.which("nm") or shutil.which("llvm-nm-22")
    if nm:
        symbols = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True).stdout.split("\n")
        headers = ""
        for folder, path in zip(INCLUDES, ("pp-c/pp.h", "pprt/pprt.h")):
            with open(os.path.join(folder, path)) as file:
                headers += file.read()
        exported = {line.split()[-1] for line in symbols if line}
        declared = set(re.findall(r"\b(pp(?:rt)?_\w+)\(", re.sub(r"/\*.*?\*/", "", headers, flags=re.S)))
        expect(exported == declared, f"exports what its headers declare: {sorted(exported ^ declared)}")
    print("\n".join(f"problem: {problem}" for problem in PROBLEMS) or "ok")
    return bool(PROBLEMS)


sys.exit(main())
