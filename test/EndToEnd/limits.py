#!/usr/bin/env python3
"""Runs artifacts and modules where the system gives less than the machine has.

SPDX-License-Identifier: Apache-2.0

Under any limit of address space a run succeeds or ends soon with code 4 and one
line, and so does the compiler, whose kernels are not in the cache; where threads are
refused it ends with code 15 (needs root, which gives its rights away for that);
without descriptors a run says so. In a control group it has as many threads as
that has cores, and what does not fit the group's memory is refused (needs root).

  limits.py --bin=build/bin
"""
import collections
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import scratch

MODEL = "gpt --layers=1 --hidden=32 --heads=4 --seq=16 --batch=8 --vocab=64"
UNUSED = 54321  # a user
GROUPS = pathlib.Path("/sys/fs/cgroup")


class Judge(scratch.Judge):
    def call(self, tool, *arguments, before):
        """With a cache of compiled kernels that is empty."""
        with tempfile.TemporaryDirectory() as cache:
            os.chmod(cache, 0o777)
            return subprocess.run([self.place.tools / tool, *arguments], cwd=self.place.folder,
                                  timeout=30, capture_output=True, text=True, preexec_fn=before,
                                  env={**os.environ, "XDG_CACHE_HOME": cache})

    def run(self, *arguments, before=None):
        return self.call("pp-run", *arguments, "--data=random", "--steps=2", "--quiet",
                         before=before)

    def expect_code(self, what, codes, call):
        """That a call ends soon, with one of these codes, and one line if it fails."""
        began = time.monotonic()
        done = call()
        seconds = time.monotonic() - began
        self.expect(done.returncode in codes,
                    f"{what}: expects {codes}, got {done.returncode} and {done.stderr}")
        self.expect(done.returncode == 0 or len(done.stderr.splitlines()) == 1,
                    f"{what}: expects a line, got {done.stderr}")
        self.expect(seconds < 10, f"{what}: expects an end soon, got {seconds:.1f} s")
        return done.returncode


def limit(kind, value):
    return lambda: resource.setrlimit(kind, (value, value))


def least_memory(place):
    """In which the system's loader starts the program: what fails before is not ours."""
    for size in range(64 << 20, 2 << 30, 32 << 20):
        done = subprocess.run([place.tools / "pp-run", "--version"], capture_output=True,
                              preexec_fn=limit(resource.RLIMIT_AS, size))
        if done.returncode == 0:
            return size
    sys.exit("expects pp-run to start in 2 GiB")


def check_memory(judge):
    least = least_memory(judge.place)
    for more in 20, 40, 60, 80, 100, 120, 140:
        judge.expect_code(f"pp-opt with {more} MiB", (0, 4), lambda: judge.call(
            "pp-opt", "m.mlir", "--pp-parallelize=dp=2", "--emit=ppx", "-o", "/dev/null",
            before=limit(resource.RLIMIT_AS, least + (more << 20))))
    strategy = "--parallelize=dp=2 threads=1"
    for inputs, sizes in ((["f32.ppx"], (8, 60, 130, 200, 280, 350, 420, 520, 900)),
                          (["f64.ppx"], (8, 60, 130, 200, 280, 350, 420, 520, 900)),
                          (["m.mlir", strategy], (0, 10, 20, 30, 40, 50, 70, 90, 130, 900))):
        codes = collections.Counter()
        for more in sizes:
            codes[judge.expect_code(
                f"{inputs[0]} with {more} MiB", (0, 4),
                lambda: judge.run(*inputs, before=limit(resource.RLIMIT_AS,
                                                        least + (more << 20))))] += 1
        print(f"address space, {inputs[0]}:", ", ".join(f"{count} runs with {code}"
                                                        for code, count in sorted(codes.items())))
        judge.expect(len(codes) == 2,
                     f"expects limits that are enough and some that are not, got {codes}")


def few_threads(count):
    """As a user of no other process, for root has as many as it wants."""
    def enter():
        resource.setrlimit(resource.RLIMIT_NPROC, (count, count))
        os.setgroups([])
        os.setuid(UNUSED)
    return enter


def check_threads(judge):
    if os.geteuid() != 0:
        return print("threads: skipped, needs root")
    os.chmod(judge.place.folder, 0o755)
    for count in (1, 2, 3):
        judge.expect_code(f"pp-run with {count} threads", (15,), lambda: judge.run(
            "m.mlir", "--parallelize=dp=2 threads=1", before=few_threads(count)))
    judge.expect_code("pp-opt with 1 thread", (15,), lambda: judge.call(
        "pp-opt", "m.mlir", "--pp-parallelize=dp=2", "--emit=ppx", "-o", "/dev/null",
        before=few_threads(1)))


def check_descriptors(judge):
    """What is open then is the standard streams, the artifact's and the kernels'."""
    codes = set()
    for count in range(3, 12):
        done = judge.run("f64.ppx", before=limit(resource.RLIMIT_NOFILE, count))
        # Below, the system's loader itself finds no library.
        if done.returncode == 127:
            continue
        codes.add(done.returncode)
        judge.expect(done.returncode == 0 or "Too many open files" in done.stderr,
                     f"{count} descriptors: expects that they are told of, got "
                     f"{done.returncode} and {done.stderr}")
    judge.expect(codes == {0, 14}, f"descriptors: expects 0 and 14, got {codes}")


def make_group(controller, files):
    """A group of either version with these limits, or None."""
    for parent, names in ((GROUPS / controller, 1), (GROUPS, 2)):
        folder = parent / f"pp-limits-{os.getpid()}"
        try:
            folder.mkdir()
            for name, value in files[names]:
                (folder / name).write_text(value)
            return folder
        except OSError:
            if folder.exists():
                folder.rmdir()
    return None


def enter(folder):
    return lambda: (folder / "cgroup.procs").write_text(str(os.getpid()))


def check_groups(judge):
    size = 128 << 20
    memory = make_group("memory", {1: [("memory.limit_in_bytes", str(size))],
                                   2: [("memory.max", str(size))]})
    cpu = make_group("cpu", {1: [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "100000")],
                             2: [("cpu.max", "100000 100000")]})
    try:
        if memory:
            done = judge.run("large.ppx", "--device=cpu", before=enter(memory))
            judge.expect(done.returncode == 4 and f"({size} bytes)" in done.stderr and
                         f"control group '/{memory.name}'" in done.stderr,
                         f"memory of a group: expects 4, got {done.returncode} and {done.stderr}")
        if cpu:
            done = judge.run("free.ppx", "--report=r.json", before=enter(cpu))
            told = json.loads((judge.place.folder / "r.json").read_text())
            judge.expect(done.returncode == 0 and told["threads_per_rank"] == 1,
                         f"cores of a group: expects one thread, got {told['threads_per_rank']}")
    finally:
        for folder in filter(None, (memory, cpu)):
            folder.rmdir()
    print("control groups:", ", ".join(name for name, folder in (("memory", memory), ("cpu", cpu))
                                       if folder) or "skipped, none can be made")


def main():
    with scratch.from_command_line(__doc__) as place:
        for name, model, options in (("f32", MODEL, "dp=2 threads=1"),
                                     ("f64", MODEL + " --dtype=f64", "dp=2 threads=1"),
                                     ("free", MODEL, ""), ("large", MODEL.replace("--hidden=32", "--hidden=2048"), "")):
            place.make("pp-model", *model.split(), "-o", "m.mlir")
            place.make("pp-opt", "m.mlir", f"--pp-parallelize={options}", "--emit=ppx",
                       "-o", f"{name}.ppx")
        place.make("pp-model", *MODEL.split(), "-o", "m.mlir")
        judge = Judge(place)
        for check in (check_memory, check_threads, check_descriptors, check_groups):
            check(judge)
    return 1 if judge.failures else 0


if __name__ == "__main__":
    sys.exit(main())
