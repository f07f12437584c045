"""Trains many programs in one process, and compares what comes out.

SPDX-License-Identifier: Apache-2.0

  worker.py LIBPPRT <JOBS.jsonl >RESULTS.jsonl

A job is a line, and so is its result, which is written before the next one begins:
if the process ends or hangs, its reader knows at which program. The context of
the GPU is kept from one to the next.
"""
import ctypes
import json
import math
import pathlib
import sys
import time

import runtime
import tensors


def keep_context():
    """Who opens a GPU again finds it open: that takes longer than a small program."""
    try:
        driver, device, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
        if not driver.cuInit(0) and not driver.cuDeviceGet(ctypes.byref(device), 0):
            driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    except (OSError, AttributeError):
        pass  # whoever opens a session is told


def errors(job, losses, values):
    """The largest ones of losses and of what was trained, and whether they are small enough."""
    expected = pathlib.Path(job["expected"])
    of_losses = json.loads(expected.with_suffix(".json").read_text())
    loss_error = max((abs(a - b) / max(1.0, abs(b)) if math.isfinite(a) else math.inf
                      for a, b in zip(losses, of_losses)), default=math.inf)
    found = {name: tensors.values(*value) for name, value in values.items()}
    far, where = tensors.difference(found, tensors.read(expected))
    is_right = (len(losses) == len(of_losses) and loss_error <= job["bound"] and
                far <= (math.inf if job["parameter_bound"] is None else job["parameter_bound"]))
    return {"ok": is_right and math.isfinite(far), "loss_error": loss_error,
            "parameter_error": far, "worst": where}


def do(library, job):
    begun, digests, result = time.monotonic(), [], {}
    try:
        for graph in job["graphs"]:
            losses, values = library.train(job["artifact"], job["steps"], "cuda", graph)
            digests.append(runtime.digest(losses, values))
            if digests[-1] in digests[:-1]:
                continue
            its = errors(job, losses, values)
            if not result or not its["ok"]:
                result = its
    except runtime.Refused as refusal:
        result = {"ok": False, "code": refusal.code, "got": str(refusal)}
        digests.append(None)
    return {"program": job["program"], **result, "digests": digests,
            "seconds": round(time.monotonic() - begun, 3)}


def main():
    library = runtime.Runtime(sys.argv[1])
    keep_context()
    for line in sys.stdin:
        print(json.dumps(do(library, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
