"""Parts `matrix` and `nccl`: every program against what it must compute.

SPDX-License-Identifier: Apache-2.0

`matrix`: all ranks share one GPU; recorded as a graph and not, which have equal
bits. `nccl`: each rank has a GPU, so that NCCL adds, in an order of its own: in
a process for each rank, if there is an mpirun, then in one process. The second way
comes last, and ends with the first program that hangs: NVIDIA advises the first one
where calls of NCCL are recorded.
"""
import math
import shutil

import cases
import tensors
from bench import FEW_SECONDS, Skipped


def is_close(loss, expected, bound):
    return math.isfinite(loss) and abs(loss - expected) <= bound * max(1.0, abs(expected))


def compare(bench, entry, losses, saved):
    """The largest errors of losses and parameters; in bf16 the losses alone have a bound."""
    bound = cases.BOUNDS[entry["dtype"]]
    expected = entry["losses"]
    close = len(losses) == len(expected) and all(
        is_close(a, b, bound) for a, b in zip(losses, expected))
    far, where = tensors.difference(tensors.read(saved),
                                    tensors.read(bench.pack / entry["parameters"]))
    if entry["dtype"] != "bf16":
        close = close and far <= cases.bound_of_parameters(entry["plan"], entry["dtype"])
    worst = max((abs(a - b) for a, b in zip(losses, expected)), default=math.inf)
    return close and math.isfinite(far), {"loss_error": worst, "parameter_error": far, "worst": where}


def judge(bench, entry, gpus, processes=1):
    """Runs it with and without a graph. Whether it is right; None if it did not end."""
    what = {"program": entry["name"], "plan": entry["plan"], "dtype": entry["dtype"], "gpus": gpus,
            "processes": processes}

    def both():
        bits = []
        for graph in "on", "off":
            saved = bench.folder / f"{graph}.safetensors"
            losses, _ = bench.losses(entry["name"], f"--steps={bench.manifest['steps']}",
                                     "--data=random", f"--graph={graph}", gpus=gpus,
                                     processes=processes, saves=saved)
            bits.append((losses, saved.read_bytes()))
        is_right, errors = compare(bench, entry, losses, saved)
        bench.check("values", is_right, **what, **errors)
        # NCCL may choose another way of adding where it is recorded.
        if gpus == 1:
            bench.check("graph on and off have equal bits", bits[0] == bits[1], **what)
        return is_right

    return bench.attempt(both, **what)


def matrix(bench):
    entries = bench.manifest["judged"]
    right = sum(bool(judge(bench, entry, 1)) for entry in entries)
    return {"programs": len(entries), "right": right, "refused": bench.manifest["refused"]}


def ranks(plan):
    """The mesh's size."""
    words = dict(word.split("=", 1) for word in plan.split())
    return math.prod(int(words.get(axis, 1)) for axis in ("pp", "dp", "ep", "sp", "tp"))


def in_processes(bench, entries):
    if not (shutil.which("mpirun") and (bench.build / "lib/libpprt_mpi.so").exists()):
        return {"processes": "not tried: expects mpirun, and Open MPI's headers for the build"}
    sizes = [ranks(entry["plan"]) for entry in entries]
    return {"right_in_processes": sum(bool(judge(bench, entry, size, size))
                                      for entry, size in zip(entries, sizes))}


def in_one_process(bench, entries):
    right, hangs = 0, bench.hangs
    for tried, entry in enumerate(entries, 1):
        right += bool(judge(bench, entry, ranks(entry["plan"])))
        if bench.hangs > hangs:
            return {"right_in_one_process": right, "one_process":
                    f"given up after {tried} of {len(entries)} programs: {entry['name']} was not "
                    f"over after {FEW_SECONDS} s"}
    return {"right_in_one_process": right}


def nccl(bench):
    if len(bench.gpus) < 2:
        raise Skipped(f"expects 2 GPUs or more, got {len(bench.gpus)}")
    entries = [e for e in bench.manifest["judged"] if 2 <= ranks(e["plan"]) <= len(bench.gpus)]
    if not entries:
        raise Skipped(f"no program of this pack has 2 to {len(bench.gpus)} ranks")
    return {"programs": len(entries), "gpus": len(bench.gpus), **in_processes(bench, entries),
            **in_one_process(bench, entries)}
