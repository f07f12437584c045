#!/usr/bin/env python3
"""Breaks runs of several processes, at a time that a seed chooses.

SPDX-License-Identifier: Apache-2.0

A process is killed, or stopped as by SIGSTOP, is refused memory, or the disk is full. Each time all
processes end with a code that is not 0, within ten seconds (of a stopped process:
of --hang-timeout), the cause is told once, nothing is left running, and under the
name of a result is a whole file or none.

  faults.py --bin=build/bin                         # the test: a few of each
  faults.py --bin=build/bin --all                   # 50 of each
"""
import json
import math
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
import uuid

import scratch

LIMIT = 10  # seconds
HANG = 4  # beside other tests a process may well get no core for two
GPT = "gpt --layers=2 --hidden=32 --heads=4 --seq=16 --batch=12 --vocab=64"
STRATEGIES = ["dp=3", "pp=3 microbatches=3", "dp=3 zero=3", "dp=3 tp=2"]
PROCESSES = 3


def processes(mark):
    """By rank, those that were started with `mark` in their environment.

    A process may have others for a moment, which come after it.
    """
    found = {}
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                environment = file.read().split(b"\0")
        except OSError:
            continue
        if f"PP_TEST_MARK={mark}".encode() in environment:
            for word in environment:
                if word.startswith(b"OMPI_COMM_WORLD_RANK="):
                    rank = int(word.split(b"=")[1])
                    found[rank] = min(int(entry), found.get(rank, int(entry)))
    return found


def states(mark):
    """A line for each of those: what the system says that it does."""
    for rank, pid in processes(mark).items():
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        words = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        yield f"rank {rank} ({words['Name']}, {words['State'].strip()}, {words['Threads']} threads)"


def is_whole(path):
    """Whether all tensors of a safetensors file are there."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
    return len(data) == 8 + size + max(ends)


class Fault:
    def __init__(self, place, kind, seed):
        self.place, self.kind, self.seed = place, kind, seed
        self.random = random.Random(f"{kind} {seed}")
        self.strategy = STRATEGIES[seed % len(STRATEGIES)]
        self.name = f"{kind} {seed}, {self.strategy}"
        self.mark = uuid.uuid4().hex

    def start(self, steps, *more):
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
                   "--host", f"localhost:{PROCESSES}", "-n", str(PROCESSES),
                   str(self.place.tools / "pp-run"), f"{self.strategy}.ppx", f"--steps={steps}",
                   "--quiet", "--launcher=mpi", f"--hang-timeout={HANG}", "--save=out/saved.st",
                   *more]
        self.job = subprocess.Popen(command, cwd=self.place.folder, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True,
                                    env={**os.environ, "PP_TEST_MARK": self.mark})

    def end(self, limit, causes):
        """Ends it if need be. What was wrong, or nothing."""
        began = time.time()
        faults = []
        try:
            output = self.job.communicate(timeout=limit + 5)[0]
        except subprocess.TimeoutExpired:
            left = list(states(self.mark))
            # All that it has started is gone, and the launcher waits for nobody.
            if self.kind == "starting" and not left:
                print(f"{self.name}: mpirun itself does not end")
                limit = math.inf
            else:
                faults += [f"not over after {limit + 5} s", *left]
            for pid in (*processes(self.mark).values(), self.job.pid):
                os.kill(pid, signal.SIGKILL)
            output = self.job.communicate()[0]
        seconds = time.time() - began
        if seconds > limit:
            faults.append(f"over after {seconds:.1f} s")
        if self.job.returncode == 0:
            faults.append("code 0")
        told = sum(len(re.findall(cause, output)) for cause in causes)
        if told != 1:
            faults.append(f"the cause was told {told} times")
        time.sleep(0.3)
        left = processes(self.mark)
        for pid in left.values():
            os.kill(pid, signal.SIGKILL)
        if left:
            faults.append(f"{len(left)} processes were left")
        saved = self.place.folder / "out" / "saved.st"
        if saved.exists() and not is_whole(saved):
            faults.append("half a file was left")
        for path in (saved, self.place.folder / "out" / "metrics.jsonl"):
            path.unlink(missing_ok=True)
        self.seconds, self.output = seconds, output
        return f"{self.name}: {'; '.join(faults)}\n{output}" if faults else ""

    def strike(self, signal_number, trains, latest=2.5):
        """Sends the signal to one process, some time after all are there, or train."""
        metrics = self.place.folder / "out" / "metrics.jsonl"
        began = time.time()
        while time.time() < began + 30 and (len(found := processes(self.mark)) < PROCESSES or
                                            (trains and not metrics.exists())):
            time.sleep(0.01)
        time.sleep(self.random.uniform(0, latest))
        # Process 0 prints, so that its end is another.
        victim = self.seed % 2 and self.random.randrange(PROCESSES)
        self.victim = processes(self.mark).get(victim)
        if self.victim is None or self.job.poll() is not None:
            return False
        os.kill(self.victim, signal_number)
        return True

    def killed(self):
        self.start(1_000_000)
        self.strike(signal.SIGKILL, trains=False)
        return self.end(LIMIT, ["exited on signal 9"])

    def starting(self):
        """One stops while MPI starts, when processes do not listen to each other yet."""
        self.start(1_000_000)
        self.strike(signal.SIGSTOP, trains=False, latest=0.3)
        return self.end(LIMIT + HANG, ["pp-run: error: "])

    def stopped(self):
        self.start(1_000_000, "--metrics=out/metrics.jsonl")
        self.strike(signal.SIGSTOP, trains=True)
        return self.end(LIMIT + HANG, ["pp-run: error: "])

    def short(self):
        """One is refused memory while it trains: what it saves at the end needs more.

        It has to end the others itself: not every launcher does.
        """
        self.strategy = "short"
        self.start(1_000_000, "--metrics=out/metrics.jsonl")
        if self.strike(0, trains=True, latest=0.3):
            resource.prlimit(self.victim, resource.RLIMIT_AS, (1, 1))
            os.kill(self.victim, signal.SIGINT)
        failed = self.end(LIMIT, ["pp-run: error: out of memory"])
        # What mpirun says of an abort may be lost, but it says that of other ends.
        aborts = self.job.returncode == 4 and "exited with non-zero" not in self.output
        return failed or ("" if aborts else f"{self.name}: expects MPI_Abort with code 4, got "
                                            f"{self.job.returncode}\n{self.output}")

    def full(self):
        """Of the disk that the results are on. A few blocks are enough for none of them."""
        self.start(3, "--metrics=out/metrics.jsonl", "--trace=out/trace.json")
        return self.end(LIMIT + 20, [r"pp-run: error: .*(No space left|cannot write)"])


def main():
    if not shutil.which("mpirun"):
        print("skipped: no MPI")
        return 0
    with scratch.from_command_line(__doc__, "all") as place:
        if not (place.tools.parent / "lib" / "libpprt_mpi.so").exists():
            print("skipped: no MPI")
            return 0
        place.make("pp-model", *GPT.split(), "-o", "m.mlir")
        for strategy in STRATEGIES:
            place.make("pp-opt", "m.mlir", f"--pp-parallelize={strategy} threads=1", "--emit=ppx",
                       "-o", f"{strategy}.ppx")
        # A part of its first parameter does not fit a heap that is there.
        place.make("pp-model", "mlp", "--layers=2", "--input=600000", "--hidden=96", "--classes=3",
                   "--batch=3", "-o", "m.mlir")
        place.make("pp-opt", "m.mlir", "--pp-parallelize=tp=3 threads=1", "--emit=ppx", "-o",
                   "short.ppx")
        out = place.folder / "out"
        out.mkdir()
        count = 50 if place.all else 2
        failures = 0
        for kind in ("killed", "starting", "stopped", "short", "full"):
            if kind == "full" and subprocess.run(
                    ["mount", "-t", "tmpfs", "-o", "size=16k", "none", out],
                    capture_output=True).returncode:
                print("full: skipped, nothing can be mounted")
                continue
            slowest = 0
            for seed in range(count):
                fault = Fault(place, kind, seed)
                if text := getattr(fault, kind)():
                    failures += 1
                    print(text)
                slowest = max(slowest, fault.seconds)
            if kind == "full":
                subprocess.run(["umount", out], check=True)
            print(f"{kind}: {count} runs, the slowest was over after {slowest:.1f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
