"""Writes an acceptance file: the runtime, artifacts for GPUs, and what they must compute.

SPDX-License-Identifier: Apache-2.0

Needs a build with the compiler. What is expected of a plan is what the unpartitioned
model computes on this processor in f64, by the C interface that judges it there. The
file is a zip that Python runs: it holds the programs of scripts/acceptance/carried.
"""
import concurrent.futures
import dataclasses
import itertools
import json
import pathlib
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import zipfile

import cases

sys.path.insert(0, str(cases.ROOT / "scripts/acceptance/carried"))

import runtime  # noqa: E402
import speed  # noqa: E402

MOST_BYTES = 60 << 20
REFUSED = "to be padded at its end"  # a strategy that no program can have
COUNT = 96  # strategies that are drawn
# What the runtime's programs link that is not everywhere.
OTHERS = ("libdnnl", "libgomp", "libOpenCL", "libz", "libstdc++", "libgcc_s")
TESTS = ["PPDeviceTest", "PPCudaMovesTest"]


class NotPacked(Exception):
    pass


def call(*words, cwd=None):
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True,
                          timeout=1800)
    if done.returncode:
        raise NotPacked(f"{' '.join(map(str, words))}: exit {done.returncode}\n"
                        f"{done.stderr[-2000:]}")
    return done.stdout


def revision():
    """Of this clone; None where git cannot tell, or is not there."""
    try:
        return call("git", "--git-dir", cases.ROOT / ".git", "rev-parse", "HEAD").strip()
    except (OSError, NotPacked):
        return None


class Once:
    """What is made by the first who wants it, while others wait."""

    def __init__(self, make):
        self.make, self.lock, self.made = make, threading.Lock(), {}

    def __call__(self, *key):
        with self.lock:
            lock, made = self.made.setdefault(key, (threading.Lock(), []))
        with lock:
            if not made:
                made.append(self.make(*key))
            return made[0]


class Packer:
    def __init__(self, tools, folder, arch):
        self.tools, self.folder, self.arch = tools, folder, arch
        self.pack = folder / "files/pack"
        self.pack.mkdir(parents=True)
        self.model, self.expected = Once(self.make_model), Once(self.make_expected)
        self.numbers = itertools.count()
        self.library = runtime.Runtime(tools.parent / "lib/libpprt.so")

    def make_model(self, flags, dtype):
        path = self.folder / f"model-{next(self.numbers)}.mlir"
        call(self.tools / "pp-model", *flags.split(), f"--dtype={dtype}", "-o", path)
        return path

    def compile(self, model, plan, path, target=None):
        call(self.tools / "pp-opt", model, f"--pp-parallelize={plan}", "--emit=ppx",
             f"--targets={target or self.arch}", "-o", path)

    def make_expected(self, model, optimizer):
        """The name of what two steps of the whole model give."""
        name = f"expected-{next(self.numbers):03}"
        artifact = self.folder / f"{name}.ppx"
        self.compile(self.model(model, "f64"), optimizer, artifact, "cpu")
        losses, values = self.library.train(artifact, cases.STEPS, "cpu")
        (self.pack / f"{name}.json").write_text(json.dumps(losses))
        write_tensors(self.pack / f"{name}.safetensors", values)
        return name

    def judge(self, number, case):
        """The entry of a program to judge; None if it is refused."""
        name = f"judged-{number:03}"
        try:
            self.compile(self.model(case.model, case.dtype), case.plan, self.pack / f"{name}.ppx")
        except NotPacked as error:
            if REFUSED in str(error):
                return None
            raise
        optimizer = case.plan[case.plan.index("optimizer="):]
        return {**dataclasses.asdict(case), "program": name, "ranks": cases.ranks(case.plan),
                "expected": self.expected(case.model, optimizer)}

    def program(self, its):
        """Its entry."""
        self.compile(self.model(its.model, its.dtype), f"{its.plan} {cases.OPTIMIZER}",
                     self.pack / f"{its.name}.ppx")
        flags = cases.words_of(its.model.replace("--", "").split(" ", 1)[1])
        return {**dataclasses.asdict(its), "ranks": cases.ranks(its.plan),
                "tokens": int(flags["batch"]) * int(flags["seq"])}

    def time(self, kind, shape):
        """The entry of a program to time, with the launches that a dry run has."""
        dtype, plan = cases.TIMED[kind]
        entry = self.program(cases.Program(f"gpt-{kind}", cases.model_flags(shape), plan, dtype))
        trace = self.folder / f"{kind}.json"
        call(self.tools / "pp-run", self.pack / f"{entry['name']}.ppx", f"--target={self.arch}",
             "--dry-run", "--quiet", f"--trace={trace}")
        return {**entry, "kind": kind, "flops": cases.flops(shape),
                "launches": speed.count_launches(json.loads(trace.read_text())["traceEvents"])}

    def train(self, size):
        """The entry of the first training, with the curve of this processor."""
        its = cases.Program("train", size.train, "")
        entry, metrics = self.program(its), self.folder / "train.jsonl"
        call(self.tools / "pp-run", self.model(its.model, its.dtype),
             f"--parallelize={cases.OPTIMIZER}", f"--steps={size.train_steps}", "--quiet",
             f"--data=text:{self.pack / 'text.txt'}", f"--metrics={metrics}")
        return {**entry, "losses": [json.loads(line)["loss"] for line in metrics.open()]}

    def carry(self):
        """The programs and libraries."""
        files, build = self.pack.parent, self.tools.parent
        for name in "bin", "lib", "others":
            (files / name).mkdir()
        plain = build / "test/pp-run-plain"
        plain = plain if plain.exists() else self.tools / "pp-run"
        programs = {files / "bin/pp-run": plain}
        programs.update((files / "bin" / name, build / "test" / name) for name in TESTS)
        programs.update((files / "lib" / name, build / "lib" / name)
                        for name in ("libpprt.so", "libpprt_cuda.so", "libpprt_mpi.so"))
        for target, source in programs.items():
            if source.exists():
                call("strip", "-o", target, source)
            elif target.parent.name == "lib" and "mpi" not in source.name or source == plain:
                raise NotPacked(f"expects {source}, got none; build it")
        for library, path in links([*(files / "bin").iterdir(), *(files / "lib").iterdir()]):
            if library.split(".so")[0] in OTHERS:
                shutil.copy(path, files / "others" / library)
        for path in (cases.ROOT / "scripts/acceptance/carried").glob("*.py"):
            shutil.copy(path, files)
        shutil.copy(cases.ROOT / "benchmarks/peers/gpt.py", files)


def links(programs):
    """What the loader finds for them here: names and paths."""
    for program in programs:
        for line in call("ldd", program).splitlines():
            words = line.split()
            if len(words) > 2 and words[1] == "=>" and words[2].startswith("/"):
                yield words[0], words[2]


def write_tensors(path, values):
    """As safetensors, of which there are types and bytes by name."""
    header, place = {}, 0
    for name, (dtype, data) in values.items():
        header[name] = {"dtype": dtype, "shape": [], "data_offsets": [place, place + len(data)]}
        place += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text +
                     b"".join(data for _, data in values.values()))


def zip_up(files, path):
    """The folder as a program of Python's."""
    with path.open("wb") as file:
        file.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for each in sorted(files.rglob("*")):
                if each.is_file():
                    archive.write(each, each.relative_to(files))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def write(path, tools, size_name, jobs, arch):
    size = cases.SIZES[size_name]
    with tempfile.TemporaryDirectory() as folder:
        packer = Packer(tools.resolve(), pathlib.Path(folder), arch)
        shutil.copy(cases.ROOT / "examples/data/kjv.txt", packer.pack / "text.txt")
        judged = cases.judged(size, COUNT)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            train = pool.submit(packer.train, size)
            timed = pool.map(packer.time, cases.TIMED, [size.shape] * len(cases.TIMED))
            deep = pool.map(packer.program, cases.deep(size))
            several = pool.map(packer.program, cases.several(size))
            entries = [e for e in pool.map(packer.judge, range(len(judged)), judged) if e]
            manifest = {"size": size_name, "arch": arch, "revision": revision(),
                        "pp": call(packer.tools / "pp-run", "--version").strip(),
                        "steps": cases.STEPS, "shape": size.shape, "train": train.result(),
                        "timed": list(timed), "judged": entries,
                        "refused": len(judged) - len(entries), "deep": list(deep),
                        "several": list(several)}
        (packer.pack / "manifest.json").write_text(json.dumps(manifest, indent=1))
        packer.carry()
        try:
            zip_up(packer.pack.parent, path)
        except OSError as error:
            raise NotPacked(f"{path}: expects a file that can be written, got: {error}") from None
    bytes_ = path.stat().st_size
    print(f"{path}: for {arch}, {len(entries)} programs to judge, {bytes_ / (1 << 20):.1f} MiB")
    if bytes_ > MOST_BYTES:
        raise NotPacked(f"{path}: expects at most {MOST_BYTES >> 20} MiB, got {bytes_} bytes")
