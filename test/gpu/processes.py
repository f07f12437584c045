#!/usr/bin/env python3
"""Trains over several processes, each with a emulated GPU.

SPDX-License-Identifier: Apache-2.0

mpirun starts the processes, the emulated library of NCCL carries between them what it does
between devices of one process, in the same order of additions: so the parameters are
those of one process that has all GPUs, to the bit. What fails in one process ends all,
for one cause.

  processes.py --bin=build/bin --emulators=build/test/gpu/lib
"""
import shutil
import sys
import time

import commands

MODEL = "gpt --layers=2 --hidden=16 --heads=2 --seq=8 --batch=4 --vocab=32 --dtype=f64"
STRATEGIES = ["dp=2", "tp=2 sequence=true", "pp=2 microbatches=2", "dp=2 zero=3 clip=1.0"]
# What fails in process 1, by the setting of its emulated library, with the exit code and the cause.
FAILURES = [("fail cuGraphLaunch 2 719", 15, "cuGraphLaunch: CUDA_ERROR_LAUNCH_FAILED"),
            ("fail cuEventQuery 3 719", 15, "cuEventQuery: CUDA_ERROR_LAUNCH_FAILED"),
            ("fail cuGraphInstantiateWithFlags 1 2", 4, "cuGraphInstantiateWithFlags"),
            ("fail ncclAllReduce 2 5", 15, "ncclAllReduce: NCCL's error 5"),
            ("fail ncclCommSplit 1 3", 15, "ncclCommSplit: NCCL's error 3"),
            ("fail ncclMemAlloc 1 1", 15, "rank 1: ncclMemAlloc: NCCL's error 1"),
            ("fail cuMemAlloc_v2 2 2", 4, "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"),
            ("devices 0", 15, "sees no NVIDIA GPU"),
            ("version 11080", 15, "CUDA 12.0")]
# At most, from mpirun's start to its end.
LIMIT_S = 60


class Processes(commands.Runs):
    def settings(self, name, *lines):
        path = self.folder / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    def train(self, *arguments):
        return [self.tools / "pp-run", "gpt.mlir", "--device=cuda", "--data=random", "--steps=3",
                *arguments]

    def processes(self, commands, own=()):
        """One for each command, on a GPU each; `own` are lines of settings, by process."""
        box = self.folder / "box"
        shutil.rmtree(box, ignore_errors=True)
        box.mkdir()
        words = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
        for index, command in enumerate(commands):
            lines = own[index] if own else []
            path = self.settings(f"settings{index}", f"devices {len(commands)}",
                                 f"processes {box}", *lines)
            words += [":"] * bool(index) + ["-n", "1", "-x", f"PP_EMULATED={path}", *command]
        return self.call(shutil.which("mpirun"), *words, timeout=LIMIT_S)

    def check_strategy(self, number, strategy):
        options = [f"--parallelize={strategy}", "--graph=" + ("off" if number % 2 else "on")]
        done = self.call(*self.train(*options, "--save=one.st"),
                         emulated=f"devices 2\nseed {number + 1}\n")
        self.expect_end(f"{strategy}, one process", done.returncode == 0, done)
        done = self.processes([self.train(*options, "--save=several.st")] * 2,
                              own=[[f"seed {number + 2}"], [f"seed {number + 3}"]])
        self.expect_end(f"{strategy}, two processes", done.returncode == 0, done)
        if not self.errors and ((self.folder / "one.st").read_bytes() !=
                                (self.folder / "several.st").read_bytes()):
            self.errors.append(f"{strategy}: expects the parameters of one process")

    def check_report(self):
        options = ["--parallelize=dp=2 zero=3", "--report=r.json", "--trace=t.json", "--verify"]
        done = self.processes([self.train(*options)] * 2)
        self.expect_end("report and trace", done.returncode == 0, done)
        if done.returncode == 0:
            report = self.load("r.json")
            tracks = {event["pid"] for event in self.load("t.json")["traceEvents"]}
            gpus = {tuple(gpu["ranks"]): {line["name"]: line["measured_bytes"]
                                          for line in gpu["lines"]}
                    for gpu in report["device_memory"]}
            if list(gpus) != [(0,), (1,)] or not all(
                    lines["allocated"] and lines["in use"] for lines in gpus.values()):
                self.errors.append(f"expects the memory of both GPUs, got {gpus}")
            if report["device"] != "cuda (emulated)" or len(tracks) < 2:
                self.errors.append(f"expects both ranks in report and trace, got "
                                   f"{report['device']}, {tracks}")

    def check_memory(self):
        """A dry run knows what a process's GPU is for."""
        plan = "--parallelize=dp=2 zero=3"
        dry = self.call("pp-run", "gpt.mlir", "--device=cuda", "--dry-run", "--launcher=mpi", "--target=sm_90", plan, "--report=dry.json")
        run = self.processes([self.train(plan, "--graph=on", "--report=run.json")] * 2)
        predicted = {}
        for name, done in (("dry", dry), ("run", run)):
            self.expect_end(f"memory, {name}", done.returncode == 0, done)
            if done.returncode:
                return
            report = self.load(f"{name}.json")
            predicted[name] = {line["name"]: line["predicted_bytes"]
                               for line in report["device_memory"][0]["lines"]
                               if line["name"] != "in use"}
        if predicted["run"] != predicted["dry"]:
            self.errors.append(f"expects the memory of the run, got {predicted}")

    def check_failures(self):
        for setting, code, cause in FAILURES:
            saved = self.folder / "failed.st"
            begun = time.monotonic()
            done = self.processes(
                [self.train("--parallelize=dp=2", f"--save={saved}")] * 2, own=[[], [setting]])
            lines = [line for line in done.stderr.splitlines() if line.startswith("pp-run:")]
            self.expect_end(f"{setting} in process 1, after {time.monotonic() - begun:.1f} s",
                        done.returncode == code and len(lines) == 1 and cause in lines[0] and
                        not saved.exists(), done)

    def check_ahead(self):
        """A step is given to the GPU before the one ahead of it is told of: the third one fails
        when the first one's loss is known alone."""
        for graph, told in ("on", 1), ("off", 2):
            losses = self.folder / "losses.jsonl"
            call = "cuGraphLaunch 3" if graph == "on" else "cuMemcpyDtoHAsync_v2 3"
            done = self.processes([self.train("--parallelize=dp=2", f"--graph={graph}",
                                              f"--metrics={losses}")] * 2,
                                  own=[[f"fail {call} 719"], []])
            count = len(losses.read_text().splitlines())
            self.expect_end(f"the third step, --graph={graph}, fails after {told} losses, got {count}",
                        done.returncode == 15 and count == told, done)

    def check_too_few(self):
        done = self.processes([self.train("--parallelize=dp=2")] * 2,
                              own=[["devices 1"], ["devices 1"]])
        self.expect_end("one GPU for two processes", done.returncode == 15 and done.stderr.count(
            "process 1 expects 1 GPU, one for each of its ranks, got 0 GPUs") == 1, done)


def check(runs):
    runs.make("pp-model", *MODEL.split(), "-o", "gpt.mlir")
    for number, strategy in enumerate(STRATEGIES):
        runs.check_strategy(number, strategy)
    runs.check_report()
    runs.check_memory()
    runs.check_failures()
    runs.check_ahead()
    runs.check_too_few()


if __name__ == "__main__":
    if not shutil.which("mpirun"):
        print("skipped: no mpirun")
        sys.exit()
    sys.exit(commands.main(Processes, check))
