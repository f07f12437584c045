"""Parts `matrix` and `nccl`: small programs of every kind of plan against what they must compute.

SPDX-License-Identifier: Apache-2.0

`matrix`: all ranks of a program share one GPU; recorded as a graph and not, in turns,
which have equal bits. `nccl`: each rank has a GPU, where there are as many, so that NCCL
adds, in an order of its own. Programs are run in batches of one process; after one that hangs
or ends it the next process goes on behind it. NVIDIA advises a process for each GPU
where calls of NCCL are recorded: after two that hang nothing is recorded any more.
"""
import json
import select
import subprocess
import sys

import bench
import calls

BOUNDS = {"f64": 1e-9, "f32": 1e-4, "bf16": 0.05}  # of losses, and of what is trained
# Adam divides a gradient by its size and eps: where it is rounding alone, as of a key's bias, the
# parameter moves by 1e5 (lr over eps) times that rounding.
ADAM_BOUND = 1e-8
PATIENCE = 120  # seconds for a program
HANGS = 2


def job(work, entry, gpus, records):
    dtype, pack = entry["dtype"], work.files / "pack"
    runs = entry["runs"] if gpus == 1 else 2
    bound = max(BOUNDS[dtype], ADAM_BOUND) if "adamw" in entry["plan"] else BOUNDS[dtype]
    return {"program": entry["program"], "artifact": str(pack / f"{entry['program']}.ppx"),
            "steps": work.manifest["steps"],
            "graphs": [records and number % 2 == 1 for number in range(runs)],
            "expected": str(pack / f"{entry['expected']}.safetensors"), "bound": BOUNDS[dtype],
            "parameter_bound": None if dtype == "bf16" else bound}


class Worker:
    """A process of worker.py."""

    def __init__(self, work, gpus):
        self.errors = work.folder / "worker.txt"
        with self.errors.open("w") as stream:
            self.process = calls.start(
                [sys.executable, work.files / "worker.py", work.files / "lib/libpprt.so"],
                work.environment(gpus), work.folder, subprocess.PIPE, stream)

    def do(self, job, seconds):
        """The result. Fails if the process ends."""
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        if not select.select([self.process.stdout], [], [], max(1, seconds))[0]:
            raise calls.TimedOut(f"not over after {seconds:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            raise bench.Failed(f"the process has ended, exit {self.process.wait()}: "
                               f"{self.errors.read_text()[-1000:].strip()}")
        return json.loads(line)

    def end(self):
        calls.end_session(self.process, patience=2)


class Batch:
    def __init__(self, work, gpus):
        self.work, self.gpus = work, gpus
        self.worker, self.hangs, self.processes, self.right = None, 0, 0, 0

    def judge(self, entry):
        what = {"program": entry["program"], "plan": entry["plan"], "dtype": entry["dtype"],
                "gpus": self.gpus}

        def body():
            if not self.worker:
                self.worker = Worker(self.work, self.gpus)
                self.processes += 1
            try:
                return self.worker.do(job(self.work, entry, self.gpus, self.hangs < HANGS),
                                      min(PATIENCE, self.work.left()))
            except (bench.Failed, calls.TimedOut) as failure:
                self.hangs += isinstance(failure, calls.TimedOut)
                self.end()
                raise

        result = self.work.attempt(body, **what)
        if not result:
            return
        if result.get("code") == bench.OUT_OF_MEMORY:
            self.work.skip(result["got"], **what)
            return
        self.right += self.work.check("values", result.pop("ok"), **{**result, **what})
        # NCCL may choose another way of adding where it is recorded.
        if self.gpus == 1 or self.work.emulated:
            self.work.check("all runs have equal bits", len(set(result["digests"])) == 1, **what)

    def end(self):
        if self.worker:
            self.worker.end()
        self.worker = None


def run(work, gpus, entries):
    batch = Batch(work, gpus)
    try:
        for entry in entries:
            batch.judge(entry)
            if work.checks:
                work.figures.update(programs=len(entries), right=batch.right, gpus=gpus,
                                    processes=batch.processes)
    finally:
        batch.end()


def shared(work):
    run(work, 1, work.manifest["judged"])


def nccl(work):
    count = len(work.gpus)
    if count < 2:
        raise bench.Skipped(f"expects 2 GPUs or more, and NCCL, got {count}")
    run(work, count, [e for e in work.manifest["judged"] if 2 <= e["ranks"] <= count])


def tell(of):
    return [("all ranks on one GPU" if of["gpus"] == 1 else "a GPU for each rank",
             f"{of['right']} of {of['programs']} right, in {of['processes']} process(es)")
            ] if of else []
