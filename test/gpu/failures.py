#!/usr/bin/env python3
"""Has each call of NVIDIA's libraries fail, one at a time, in a training on a played GPU.

SPDX-License-Identifier: Apache-2.0

The run ends with one line that names the call and saves nothing; or, if the call was not made so
often, or only frees what nobody needs any more, with the bits of a run without failures. An emulated library
ends the process of whoever frees too early, or leaves a capture open.

  failures.py --bin=build/bin --emulators=build/test/gpu/lib --calls=runtime/backends/cuda
"""
import pathlib
import re
import sys

import commands

MODEL = "mlp --layers=2 --hidden=8 --input=4 --batch=4 --dtype=f64".split()
# Ranks that meet, values that are looked at, and a gate.
PLAN = "dp=2 pp=2 microbatches=2 clip=1.0"
# All ranks on one GPU, and each on its own, whose streams wait for each other.
GPUS = (1, 4)
NUMBERS = {1: (1, 2, 7), 4: (1, 6)}
# An error of each library that it may return from any call, none of which is a lack of memory, and
# who calls it with how many GPUs.
LISTS = {"DriverCalls.def": (719, GPUS), "BlasCalls.def": (14, (1,)), "NcclCalls.def": (2, (4,))}
# What succeeds and fails in its stream, with 1 GPU and with several.
LATE = {"cuLaunchKernel": (719, GPUS), "cublasLtMatmul": (14, GPUS), "cuGraphLaunch": (719, GPUS),
        "ncclAllReduce": (2, (4,)), "ncclSend": (2, (4,))}
# What ends with the run's bits although it fails the first time: these free, or tell names.
HARMLESS = re.compile(r"Free|Destroy|Unload|Release|GetError|GetLastError|GetStatusString|"
                      r"cublasLtGetVersion|CommFinalize|CommAbort")
# What a training does not call, this one at least, or only if something else has failed.
UNUSED = {"cuCtxSynchronize", "cuEventElapsedTime", "cuMemcpy3DAsync", "ncclGetVersion"}
# By which call the engine has come to one, where it did not make that itself.
CALLER = {"cuMemAlloc": {4: "ncclMemAlloc"}}
# What only one of the two does: other comm ops of this program are messages.
UNUSED_BY = {1: set(), 4: {"cuMemcpyDtoDAsync", "ncclAllGather", "ncclReduceScatter"}}


def calls(folder, gpus):
    """The calls and an error of each, from the lists that the plugin has."""
    for name, (code, callers) in LISTS.items():
        for call in re.findall(r"^PP_CALL(?:_AS)?\((\w+)", (folder / name).read_text(), re.M):
            if gpus in callers:
                yield call, code


class Failures(commands.Runs):
    def train(self, gpus, graph, emulated=""):
        """The code, what was said, and the bytes of what was saved, if anything."""
        saved = self.folder / "saved.st"
        saved.unlink(missing_ok=True)
        done = self.call("pp-run", "model.ppx", "--device=cuda", f"--graph={graph}", "--steps=2",
                         "--data=random", "--quiet", f"--save={saved}",
                         emulated=f"seed 1\ndevices {gpus}\n{emulated}")
        return done.returncode, done.stderr, saved.read_bytes() if saved.exists() else None


def judge(call, number, unused, outcome, right, teller):
    """Nothing, or what is wrong; `teller` is the call that the line has to name."""
    code, text, saved = outcome
    base = re.sub(r"_v\d+$", "", call)
    if code == 0:
        if saved != right:
            return "saved other bits than a run without failures"
        if number == 1 and base not in unused and not HARMLESS.search(call):
            return "was not noticed"
        return None
    if code != 15:
        return f"expects the code 15, got {code}: {text}"
    if len(text.splitlines()) != 1:
        return f"expects one line, got: {text}"
    if not re.search(rf"\b(?:{teller})\b", text):
        return f"expects a line that names the call, got: {text}"
    if saved is not None:
        return "saved something"
    return None


def check(runs):
    runs.make("pp-model", *MODEL, "-o", "model.mlir")
    runs.make("pp-opt", "model.mlir", f"--pp-parallelize={PLAN}", "--emit=ppx", "--targets=sm_90",
              "-o", "model.ppx")
    failed = 0
    for gpus in GPUS:
        _, text, right = runs.train(gpus, "on")
        if right is None:
            sys.exit(text)
        for call, code in calls(pathlib.Path(runs.arguments["calls"]), gpus):
            for number in NUMBERS[gpus]:
                graph = "off" if number == 2 else "on"
                outcome = runs.train(gpus, graph, f"fail {call} {number} {code}\n")
                failed += outcome[0] != 0
                base = re.sub(r"_v\d+$", "", call)
                teller = f"{base}|{CALLER.get(base, {}).get(gpus, base)}"
                wrong = judge(call, number, UNUSED | UNUSED_BY[gpus], outcome, right, teller)
                if wrong:
                    runs.errors.append(f"{call}, call {number}, {gpus} GPUs, --graph={graph}: "
                                  f"{wrong}")
        for call, (code, callers) in LATE.items():
            for graph in ("on", "off") if gpus in callers else ():
                if (call, graph) == ("cuGraphLaunch", "off"):
                    continue
                outcome = runs.train(gpus, graph, f"fault {call} 2 {code}\n")
                failed += outcome[0] != 0
                # Whichever comes next tells of it.
                wrong = judge(call, 1, set(), outcome, right, r"(?:cu|cublas|nccl)[A-Z]\w+")
                if wrong:
                    runs.errors.append(f"{call} in its stream, {gpus} GPUs, --graph={graph}: "
                                  f"{wrong}")
    # Two sessions on the same GPUs, of which either may fail while the other has steps there.
    for number in (20, 40, 60, 80, 100, 120):
        done = runs.call("pp-run", "model.mlir", f"--parallelize={PLAN}", "--device=cuda",
                         "--data=random", "--verify", "--steps=1",
                         emulated=f"seed 1\ndevices 4\nfail cuLaunchKernel {number} 700\n")
        wrong = judge("cuLaunchKernel", number, set(), (done.returncode, done.stderr, None),
                      None, "cuLaunchKernel")
        if wrong:
            runs.errors.append(f"cuLaunchKernel, call {number}, of two sessions: {wrong}")
    runs.expect("failures that end a run", failed >= 80, True)


if __name__ == "__main__":
    sys.exit(commands.main(Failures, check))
