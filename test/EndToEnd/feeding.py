#!/usr/bin/env python3
"""Feeds a run in all the ways there are, and follows what it tells.

SPDX-License-Identifier: Apache-2.0

Arrays are gone through again and again, a pipe is as good as a file, an input
that nothing reads needs neither, and metrics come out as the loss does.

  feeding.py --bin=build/bin
"""
import array
import json
import subprocess
import sys

import scratch

# The mean of squares, with two metrics; `unused` is no part of it.
MODEL = """
func.func @main(%x: tensor<8x4xf64> {pp.name = "x", pp.role = #pp.role<input>},
                %unused: tensor<8xi32> {pp.name = "unused", pp.role = #pp.role<input>},
                %w: tensor<4x3xf64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 1.0>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>},
        tensor<f64> {pp.name = "sum", pp.role = #pp.role<metric>},
        tensor<f64> {pp.name = "norm", pp.role = #pp.role<metric>}) {
  %y = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf64>, tensor<4x3xf64> -> tensor<8x3xf64>
  %z = pp.mul %y, %y : tensor<8x3xf64>
  %l = pp.reduce sum %z dims [0, 1] : tensor<8x3xf64> -> tensor<f64>
  %s = pp.reduce sum %x dims [0, 1] : tensor<8x4xf64> -> tensor<f64>
  %v = pp.mul %w, %w : tensor<4x3xf64>
  %n = pp.reduce sum %v dims [0, 1] : tensor<4x3xf64> -> tensor<f64>
  return %l, %s, %n : tensor<f64>, tensor<f64>, tensor<f64>
}
"""
ROWS, BATCH, WIDTH, STEPS = 19, 8, 4, 5


def write_npy(path, rows, width):
    """Row i holds i + j / 100."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {width}), }}"
    header += " " * (117 - len(header)) + "\n"
    values = array.array("d", [i + j / 100 for i in range(rows) for j in range(width)])
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
                     + values.tobytes())


def expected_sum(step):
    first = (step - 1) % (ROWS // BATCH) * BATCH
    return sum(i + j / 100 for i in range(first, first + BATCH) for j in range(WIDTH))


def check_metrics(report, lines, screen):
    steps = report["steps"]
    told = [{key: step[key] for key in step if key != "data_ms"} for step in steps]
    if [json.loads(line) for line in lines] != told:
        yield f"expects --metrics to have the report's {told}, got {lines}"
    for step in steps:
        if abs(step["metrics"]["sum"] - expected_sum(step["step"])) > 1e-9:
            yield f"expects a sum of {expected_sum(step['step'])}, got {step}"
    for text in ("metrics ", "x.npy holds 19 rows: 2 steps of 8, 3 left over; an epoch ends every "
                 "2 steps, 2 in all", f"| sum {expected_sum(1):.4g}", "| norm "):
        if text not in screen:
            yield f"expects '{text}' on the screen, got {screen}"
    if not report["verify"]["ok"] or report["verify"]["metrics"] > 1e-10:
        yield f"expects metrics that agree, got {report['verify']}"


def main():
    errors = []
    with scratch.from_command_line(__doc__) as tools:
        folder = tools.folder

        def shell(command):
            return subprocess.run(["bash", "-c", f"set -e; PATH={tools.tools}:$PATH; {command}"],
                                  cwd=folder, check=True, timeout=60, stdout=subprocess.PIPE,
                                  text=True).stdout

        def report():
            return json.loads((folder / "report.json").read_text())

        (folder / "model.mlir").write_text(MODEL)
        (folder / "npy").mkdir()
        write_npy(folder / "npy/x.npy", ROWS, WIDTH)
        run = f"pp-run model.mlir --data=npy:npy --steps={STEPS} --report=report.json"
        for goal in ("", "dp=2 microbatches=2", "dp=4 microbatches=2"):
            screen = shell(f"{run} --verify --metrics=metrics.jsonl "
                           f"--parallelize='{goal} optimizer=sgd lr=0.001'")
            lines = (folder / "metrics.jsonl").read_text().splitlines()
            errors += [f"{goal}: {error}" for error in check_metrics(report(), lines, screen)]

        # The same losses, whether files or pipes were read.
        shell("pp-run model.mlir --steps=0 --seed=3 --quiet --save=w.safetensors")
        shell(f"{run} --quiet --parameters=w.safetensors")
        steps = [step["loss"] for step in report()["steps"]]
        shell(f"{run.replace('model.mlir', '<(cat model.mlir)')} --quiet --verify "
              "--parameters=<(cat w.safetensors)")
        if [step["loss"] for step in report()["steps"]] != steps:
            errors.append(f"expects losses {steps} through pipes, got {report()['steps']}")
        shell("pp-model gpt --layers=1 --hidden=16 --heads=2 --seq=8 --batch=4 -o gpt.mlir; "
              "seq 1000 > text; pp-run gpt.mlir --quiet --data=text:text --report=report.json")
        steps = [step["loss"] for step in report()["steps"]]
        shell("pp-run gpt.mlir --quiet --data=text:<(seq 1000) --report=report.json")
        if [step["loss"] for step in report()["steps"]] != steps:
            errors.append(f"expects losses {steps} of a piped text, got {report()['steps']}")
    print("\n".join(errors) or "all ways lead to the same")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
