"""Writes an acceptance pack: artifacts for GPUs, and what they must compute.

SPDX-License-Identifier: Apache-2.0

Needs a build with the compiler. What is expected is computed by the same plan on
the processor in f64, which `--verify` holds against the unpartitioned model
first; programs in f32 and bf16 are held against that of f64.
"""
import concurrent.futures
import dataclasses
import functools
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

import cases

VERSION = 2
REFUSED = "to be padded at its end"  # a strategy that no program can have


class NoPack(Exception):
    pass


class NotPacked(Exception):
    pass


def revision():
    """Of this clone; None where git cannot tell, or is not there."""
    try:
        done = subprocess.run(["git", "--git-dir", cases.ROOT / ".git", "rev-parse", "HEAD"],
                              capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() or None


class Packer:
    def __init__(self, tools, folder, targets):
        self.tools, self.folder, self.targets = tools, folder, targets

    def call(self, tool, *arguments):
        done = subprocess.run([self.tools / tool, *arguments], cwd=self.folder,
                              capture_output=True, text=True, timeout=1800)
        if done.returncode:
            raise NotPacked(f"{tool} {' '.join(map(str, arguments))}: exit {done.returncode}\n"
                               f"{done.stderr[-2000:]}")
        return done

    @functools.cache
    def model(self, flags, dtype):
        name = f"{abs(hash((flags, dtype))):x}.mlir"
        self.call("pp-model", *flags.split(), f"--dtype={dtype}", "-o", name)
        return name

    def compile(self, model, plan, name):
        self.call("pp-opt", model, f"--pp-parallelize={plan}", "--emit=ppx",
                  f"--targets={self.targets}", "-o", f"pack/{name}.ppx")

    def judge(self, number, case):
        """The entry of a program to judge; None if it is refused."""
        name = f"judged-{number:03}"
        try:
            self.compile(self.model(case.model, case.dtype), case.plan, name)
        except NotPacked as error:
            if REFUSED in str(error):
                return None
            raise
        if case.dtype == "f64":
            self.call("pp-run", self.model(case.model, "f64"), f"--parallelize={case.plan}",
                      "--verify", f"--steps={cases.STEPS}", "--data=random", "--quiet",
                      f"--save=pack/{name}.safetensors", f"--metrics={name}.jsonl")
            lines = (self.folder / f"{name}.jsonl").read_text().splitlines()
            losses = [json.loads(line)["loss"] for line in lines]
        else:
            losses = None
        return {**dataclasses.asdict(case), "name": name, "losses": losses}

    def time(self, shape):
        for timed in cases.TIMED:
            plan = f"{timed.plan} {cases.OPTIMIZER}".strip()
            self.compile(self.model(cases.model_flags(shape), timed.dtype), plan, timed.name)
            yield dataclasses.asdict(timed)


def expect_alike(entries):
    """What has no values of its own takes those of the same program in f64."""
    exact = {(e["model"], e["plan"]): e for e in entries if e["dtype"] == "f64"}
    for entry in entries:
        source = exact[entry["model"], entry["plan"]]
        entry["losses"], entry["parameters"] = source["losses"], f"{source['name']}.safetensors"


def write(path, tools, size_name, jobs, targets):
    size = cases.SIZES[size_name]
    with tempfile.TemporaryDirectory() as folder:
        packer = Packer(tools.resolve(), pathlib.Path(folder), targets)
        (packer.folder / "pack").mkdir()
        judged = cases.judged(size)
        for case in judged:  # one at a time: they are remembered
            packer.model(case.model, case.dtype)
        for dtype in {timed.dtype for timed in cases.TIMED}:
            packer.model(cases.model_flags(size.shape), dtype)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            entries = [e for e in pool.map(packer.judge, range(len(judged)), judged) if e]
        expect_alike(entries)
        release = packer.call("pp-run", "--version").stdout.strip()
        manifest = {"version": VERSION, "size": size_name, "pp": release,
                    "revision": revision(), "steps": cases.STEPS,
                    "judged": entries, "refused": len(judged) - len(entries),
                    "timed": list(packer.time(size.shape)), "shape": size.shape,
                    "targets": targets}
        (packer.folder / "pack/manifest.json").write_text(json.dumps(manifest, indent=1))
        shutil.copy(cases.ROOT / "examples/data/kjv.txt", packer.folder / "pack/text.txt")
        try:
            with tarfile.open(path, "w:gz" if path.suffix in (".gz", ".tgz") else "w") as tar:
                tar.add(packer.folder / "pack", "pack")
        except OSError as error:
            raise NotPacked(f"{path}: expects a file that takes the pack, got: {error}") from None
    print(f"{path}: for {targets}, {len(entries)} programs to judge, {len(manifest['timed'])} to time, "
          f"{path.stat().st_size >> 20} MiB")


def read(path, folder):
    """The manifest; the pack's folder is beside it."""
    try:
        with tarfile.open(path) as tar:
            tar.extractall(folder, filter="data")
        manifest = json.loads((folder / "pack/manifest.json").read_text())
    except (OSError, ValueError, tarfile.TarError) as error:
        got = str(error).split("\n")[0]
        raise NoPack(f"{path}: expects a pack that gpu-acceptance --pack wrote, got: {got}") from None
    if manifest.get("version") != VERSION:
        raise NoPack(f"{path}: expects a pack of version {VERSION}, got "
                     f"{manifest.get('version')}; write it anew by --pack")
    packed, here = manifest["revision"], revision()
    if not (packed and here):
        print(f"{path}: git did not tell the revision of the {'clone' if packed else 'pack'}; "
              "expects both to have the same", file=sys.stderr)
    if packed and here and packed != here:
        raise NoPack(f"{path}: expects a clone of its revision {packed}, got {here}; git checkout "
                     "that one, or write the pack anew by --pack")
    return manifest
