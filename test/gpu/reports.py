#!/usr/bin/env python3
"""Asks reports and traces of emulated GPUs for what a GPU's have to say.

SPDX-License-Identifier: Apache-2.0

On one core, which says nothing about GPUs: times are those of the GPUs' events, and what
nobody measured is null.

  reports.py --bin=build/bin --emulators=build/test/gpu/lib
"""
import os
import re
import sys

import commands

MODEL = "gpt --layers=2 --hidden=16 --heads=2 --seq=8 --batch=4 --vocab=32"
PIPELINE = "--parallelize=dp=2 pp=2 microbatches=2"


class Reports(commands.Runs):
    def train_on(self, cores, *words, emulated):
        few = sorted(os.sched_getaffinity(0))[:cores]
        return self.call("pp-run", *words, emulated=f"{emulated}\n",
                         preexec_fn=lambda: os.sched_setaffinity(0, few))

    def train(self, *options, emulated="seed 1", file="gpt.mlir", cores=1):
        """What was told, and the report."""
        done = self.train_on(cores, file, "--device=cuda", "--data=random", "--steps=2",
                             "--report=report.json", *options, emulated=emulated)
        if done.returncode:
            sys.exit(f"{options}: code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr, self.load("report.json")

    def check_times(self, devices):
        """Bubble and communication of events; of what is played from a recording none."""
        what = f"{devices} GPUs"
        _, report = self.train(PIPELINE, emulated=f"devices {devices}")
        travel = report["communication_ms"]["measured"]
        self.expect(f"{what}: a bubble", report["bubble"]["measured"] > 0, True)
        self.expect(f"{what}: messages that travel", travel["exposed"] + travel["hidden"] > 0, True)
        self.expect(f"{what}: threads", (report["oversubscribed"], report["threads_per_rank"]),
                    (False, None))
        self.expect(f"{what}: ranks of each", [gpu["ranks"] for gpu in report["device_memory"]],
                    [[0, 1, 2, 3]] if devices == 1 else [[0], [1], [2], [3]])
        self.expect(f"{what}: peaks", {rank["measured_peak_bytes"] for rank in report["memory"]},
                    {None})
        _, report = self.train(PIPELINE, "--graph=on", emulated=f"devices {devices}")
        self.expect(f"{what}: of a recording",
                    (report["bubble"]["measured"], report["communication_ms"]["measured"]),
                    (None, None))

    def check_clocks(self):
        """No arrow leads backwards by more than the clocks' error: of one GPU there is none."""
        for devices in 1, 4:
            for steps in 1, 2:
                _, report = self.train(PIPELINE, "--trace=trace.json", f"--trace-steps={steps}",
                                       emulated=f"devices {devices}")
                error = report["clock_error_ms"]
                ends = {phase: {event["id"]: event["ts"] * 1e-3
                                for event in self.load("trace.json")["traceEvents"]
                                if event["ph"] == phase} for phase in "sf"}
                late = max(ends["s"][arrow] - ends["f"][arrow] for arrow in ends["s"])
                self.expect(f"{devices} GPUs: an error of clocks, got {error} ms",
                            0 < error < 1e3 if devices > 1 else error == 0, True)
                self.expect(f"{devices} GPUs: arrows within {error} ms, got {late} ms",
                            late <= error, True)

    def check_metrics(self):
        """A step that is under way when metrics cannot be written any more says it no second time."""
        done = self.call("pp-run", "gpt.mlir", "--device=cuda", "--data=random",
                         "--steps=5", "--quiet", "--metrics=/dev/full")
        self.expect("a disk that is full", (done.returncode, done.stderr.count("/dev/full")),
                    (14, 1))

    def check_names(self):
        """That a GPU is only emulated stands in the report, the trace and the log; a GPU, in a trace."""
        played = "cuda (emulated)"
        for steps in 1, 2:
            told, report = self.train("--parallelize=dp=2", "--trace=trace.json",
                                      f"--trace-steps={steps}", emulated="devices 2")
            trace = self.load("trace.json")
            names = {event["args"]["name"] for event in trace["traceEvents"]
                     if event["name"] == "process_name"}
            self.expect("the report's device", report["device"], played)
            self.expect("the trace's device", trace["otherData"].get("device"), played)
            self.expect("the trace's processes", names - {"steps"},
                        {f"rank {rank} on {played}" for rank in range(2)})
            self.expect("lines that name it", told.count(played), 1)
        told, _ = self.train("--quiet")
        self.expect("a quiet run", told, "")
        for target, place in ("sm_90", "rank 0 on cuda"), ("cpu", "rank 0"):
            self.call("pp-run", "gpt.mlir", f"--target={target}", "--dry-run",
                      "--trace=trace.json")
            names = [event["args"]["name"] for event in self.load("trace.json")["traceEvents"]
                     if event["name"] == "process_name"]
            self.expect(f"the process of a dry run for {target}", names, [place])

    def check_cores(self):
        """Of an artifact nobody is told to give it more threads."""
        self.call("pp-opt", "gpt.mlir", "--pp-parallelize=", "--emit=ppx",
                  "--targets=sm_80", "-o", "gpt.ppx")
        told, _ = self.train(file="gpt.ppx", cores=2)
        self.expect("an artifact", re.findall("cores|threads", told), [])

    def check_dry_runs(self):
        """A dry run is for what its program is for, whatever is here."""
        for target in "sm_80", "cpu":
            self.call("pp-opt", "gpt.mlir", "--pp-parallelize=", "--emit=ppx",
                      f"--targets={target}", "-o", f"{target}.ppx")
        for command, device in (("gpt.mlir --target=sm_90", "cuda"), ("gpt.mlir", "cpu"),
                                ("sm_80.ppx", "cuda"), ("cpu.ppx", "cpu")):
            done = self.call("pp-run", *command.split(), "--dry-run",
                             "--report=dry.json")
            self.expect(f"{command} --dry-run", done.returncode, 0)
            report = self.load("dry.json")
            self.expect(f"{command} --dry-run", (report["device"], "device_memory" in report,
                                                 "memory of the GPU of rank 0 " in done.stdout),
                        (device, device == "cuda", device == "cuda"))
            self.expect(f"{command} --dry-run: threads", ("thread" in done.stdout,
                                                          report["threads_per_rank"] is None),
                        (device == "cpu", device == "cuda"))
            self.expect(f"{command} --dry-run: a GPU", "1 rank, a GPU each\n" in done.stdout,
                        device == "cuda")
            self.expect(f"{command} --dry-run: ranks of GPUs",
                        [gpu["ranks"] for gpu in report.get("device_memory", [])],
                        [[0]] if device == "cuda" else [])
        for command, code, words in (
                ("gpt.mlir --target=sm_90 --device=cpu", 2, "expects '--device=cuda'"),
                ("gpt.mlir --target=sm_90 --parallelize=threads=8", 2, "--parallelize: 'threads' "
                 "is for processors; leave it out for GPUs"),
                ("sm_80.ppx --device=cpu", 15, "or give --device=cuda"),
                ("cpu.ppx --device=cuda", 15, "or give --device=cpu")):
            done = self.call("pp-run", *command.split(), "--dry-run")
            self.expect(f"{command} --dry-run", (done.returncode, words in done.stderr),
                        (code, True))


def check(runs):
    runs.make("pp-model", *MODEL.split(), "-o", "gpt.mlir")
    for devices in 1, 4:
        runs.check_times(devices)
    runs.check_clocks()
    runs.check_metrics()
    runs.check_names()
    runs.check_cores()
    runs.check_dry_runs()


if __name__ == "__main__":
    sys.exit(commands.main(Reports, check))
