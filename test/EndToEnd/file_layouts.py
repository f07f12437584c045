#!/usr/bin/env python3
"""Runs one model in two spellings, whose files hold the same data otherwise.

SPDX-License-Identifier: Apache-2.0

One is batch-major, with parameters as checkpoints have them. The other is
time-major, and its parameters are split and transposed beside the same file.
Losses are the same in every partition and whatever the files' layout, as are
the files that are saved; class weights and positions, inputs without a batch,
are whole on every rank and in every micro-batch.

  file_layouts.py --bin=build/bin
"""
import array
import json
import math
import random
import shutil
import struct
import subprocess
import sys

import scratch

SEQ, BATCH, VOCAB, HEADS, SIZE, STEPS = 4, 8, 6, 4, 2, 3
WIDTH = HEADS * SIZE

MODEL = """
func.func @main(
    %tokens: tensor<{rows}xi32> {{pp.name = "tokens", pp.role = #pp.role<input>, pp.bound = {VOCAB}, pp.dims = [{dims}]}},
    %labels: tensor<{rows}xi32> {{pp.name = "labels", pp.role = #pp.role<label>, pp.bound = {VOCAB}, pp.dims = [{dims}]}},
    %weights: tensor<{VOCAB}xf64> {{pp.name = "weights", pp.role = #pp.role<input>, pp.dims = ["class"]}},
    %positions: tensor<{SEQ}xi32> {{pp.name = "positions", pp.role = #pp.role<input>, pp.bound = {SEQ}, pp.dims = ["sequence"]}},
    %scale: tensor<f64> {{pp.name = "scale", pp.role = #pp.role<input>}},
    %wte: tensor<{VOCAB}x{WIDTH}xf64> {{pp.name = "wte", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>}},
    %wpe: tensor<{SEQ}x{WIDTH}xf64> {{pp.name = "wpe", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>}},
    %q: tensor<{q}xf64> {{pp.name = "q", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>{stored}}},
    %head: tensor<{WIDTH}x{VOCAB}xf64> {{pp.name = "head", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>}})
    -> (tensor<f64> {{pp.name = "loss", pp.role = #pp.role<loss>}}) {{
  %e = pp.gather %wte[%tokens] batch 0 : tensor<{VOCAB}x{WIDTH}xf64>, tensor<{rows}xi32> -> tensor<{rows}x{WIDTH}xf64>
  %p = pp.gather %wpe[%positions] batch 0 : tensor<{SEQ}x{WIDTH}xf64>, tensor<{SEQ}xi32> -> tensor<{SEQ}x{WIDTH}xf64>
  %ps = pp.broadcast %p dims [{sequence}, 2] : tensor<{SEQ}x{WIDTH}xf64> -> tensor<{rows}x{WIDTH}xf64>
  %x = pp.add %e, %ps : tensor<{rows}x{WIDTH}xf64>
{project}
  %t = pp.tanh %h : tensor<{rows}x{WIDTH}xf64>
  %logits = pp.dot_general %t, %head batch [] x [] contract [2] x [0] : tensor<{rows}x{WIDTH}xf64>, tensor<{WIDTH}x{VOCAB}xf64> -> tensor<{rows}x{VOCAB}xf64>
  %exp = pp.exp %logits : tensor<{rows}x{VOCAB}xf64>
  %z = pp.reduce sum %exp dims [2] : tensor<{rows}x{VOCAB}xf64> -> tensor<{rows}xf64>
  %logz = pp.log %z : tensor<{rows}xf64>
  %picked = pp.gather %logits[%labels] batch 2 : tensor<{rows}x{VOCAB}xf64>, tensor<{rows}xi32> -> tensor<{rows}xf64>
  %each = pp.sub %logz, %picked : tensor<{rows}xf64>
  %w = pp.gather %weights[%labels] batch 0 : tensor<{VOCAB}xf64>, tensor<{rows}xi32> -> tensor<{rows}xf64>
  %weighted = pp.mul %each, %w : tensor<{rows}xf64>
  %sum = pp.reduce sum %weighted dims [0, 1] : tensor<{rows}xf64> -> tensor<f64>
  %loss = pp.mul %sum, %scale : tensor<f64>
  return %loss : tensor<f64>
}}
"""
PLAIN = """  %h = pp.dot_general %x, %q batch [] x [] contract [2] x [1] : tensor<{rows}x{WIDTH}xf64>, tensor<{WIDTH}x{WIDTH}xf64> -> tensor<{rows}x{WIDTH}xf64>"""
SPLIT = """  %s = pp.dot_general %x, %q batch [] x [] contract [2] x [0] : tensor<{rows}x{WIDTH}xf64>, tensor<{WIDTH}x{HEADS}x{SIZE}xf64> -> tensor<{rows}x{HEADS}x{SIZE}xf64>
  %h = pp.reshape %s : tensor<{rows}x{HEADS}x{SIZE}xf64> -> tensor<{rows}x{WIDTH}xf64>"""


def spell(is_time_major):
    names = {"rows": f"{SEQ}x{BATCH}" if is_time_major else f"{BATCH}x{SEQ}",
             "dims": '"sequence", "batch"' if is_time_major else '"batch", "sequence"',
             "sequence": 0 if is_time_major else 1,
             "q": f"{WIDTH}x{HEADS}x{SIZE}" if is_time_major else f"{WIDTH}x{WIDTH}",
             "stored": f", pp.stored_order = array<i64: 1, 2, 0>, pp.stored_shape = array<i64: {WIDTH}, {WIDTH}>"
                       if is_time_major else "", **globals()}
    names["project"] = (SPLIT if is_time_major else PLAIN).format(**names)
    return MODEL.format(**names)


def write_npy(path, kind, shape, values):
    head = f"{{'descr': '<{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += " " * (117 - len(head)) + "\n"
    data = array.array({"f8": "d", "i4": "i"}[kind], values).tobytes()
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


def write_data(folder, is_time_major, per_step):
    """Three batches, and three samples that are left over."""
    folder.mkdir()
    samples = STEPS * BATCH + 3
    draw = random.Random(7)
    for name in ("tokens", "labels"):
        rows = [[draw.randrange(VOCAB) for _ in range(SEQ)] for _ in range(samples)]
        if is_time_major:
            write_npy(folder / f"{name}.npy", "i4", (SEQ, samples), [x for column in zip(*rows) for x in column])
        else:
            write_npy(folder / f"{name}.npy", "i4", (samples, SEQ), [x for row in rows for x in row])
    front, times = ((STEPS,), STEPS) if per_step else ((), 1)
    write_npy(folder / "weights.npy", "f8", front + (VOCAB,), [0.5 + i / 4 for i in range(VOCAB)] * times)
    write_npy(folder / "positions.npy", "i4", front + (SEQ,), [2, 0, 3, 1] * times)
    write_npy(folder / "scale.npy", "f8", front, [1 / 32] * times)


def main():
    errors = []
    with scratch.from_command_line(__doc__) as tools:
        folder = tools.folder

        def run(model, data, goal, *more, launch=(), steps=STEPS):
            command = [*launch, str(tools.tools / "pp-run"), f"{model}.mlir", f"--steps={steps}", "--quiet",
                       *["--verify"] * (steps > 0), f"--data={data}", "--report=report.json",
                       f"--parallelize=optimizer=sgd lr=0.1 {goal}", *more]
            ran = subprocess.run(command, cwd=folder, timeout=120, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, check=False)
            if ran.returncode:
                errors.append(f"expects {' '.join(command)} to end well, got {ran.returncode}: {ran.stdout}")
                return []
            return [step["loss"] for step in json.loads((folder / "report.json").read_text())["steps"]]

        def saved(name):
            """What a file has, by name: shapes and numbers."""
            path = folder / name
            data = path.read_bytes() if path.exists() else bytes(8)
            length = struct.unpack("<Q", data[:8])[0]
            head = json.loads(data[8:8 + length] or "{}")
            return {key: (its["shape"], array.array("d", data[8 + length:][slice(*its["data_offsets"])]))
                    for key, its in head.items() if key != "__metadata__"}

        def expect_saved(what):
            wanted, found = saved("end.safetensors"), saved("other.safetensors")
            for name in wanted.keys() | found.keys():
                (shape, values), (its, got) = (files.get(name, ([], [])) for files in (wanted, found))
                if shape != its or not all(math.isclose(a, b, abs_tol=1e-9) for a, b in zip(values, got)):
                    errors.append(f"{what}: expects '{name}' of {shape} to be saved as {values}, got {got} of {its}")
            (folder / "other.safetensors").unlink(missing_ok=True)

        def expect(what, wanted, losses):
            if len(losses) != STEPS or not all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(wanted, losses)):
                errors.append(f"{what}: expects losses {wanted}, got {losses}")

        for name, is_time_major in (("plain", False), ("other", True)):
            (folder / f"{name}.mlir").write_text(spell(is_time_major))
            write_data(folder / name, is_time_major, per_step=is_time_major)
        (folder / "text").write_bytes(bytes(random.Random(3).randrange(VOCAB) for _ in range(1000)))
        run("plain", "npy:plain", "", "--save=w.safetensors", steps=0)
        start = "--parameters=w.safetensors"
        arrays = run("plain", "npy:plain", "", start, "--save=end.safetensors")
        mpi = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--host", "localhost:2", "-n", "2"]
        launches = [()] + [mpi] * bool(shutil.which("mpirun"))
        for goal in ("", "dp=2", "dp=3", "dp=2 microbatches=2", "dp=2 microbatches=2 sp=2", "dp=2 zero=3", "tp=2"):
            for launch in launches if goal else launches[:1]:
                what = f"{goal} {'mpirun' if launch else ''}"
                expect(what, arrays, run("other", "npy:other", goal, start, "--save=other.safetensors", launch=launch))
                expect_saved(what)
        # Tokens of text alone: the other inputs are constant in a model of that kind.
        for name in ("plain", "other"):
            text = spell(name == "other")
            for argument, value in (("weights", f"dense<1.0> : tensor<{VOCAB}xf64>"),
                                    ("positions", f"dense<[0, 1, 2, 3]> : tensor<{SEQ}xi32>"),
                                    ("scale", "dense<0.03125> : tensor<f64>")):
                lines = [line for line in text.splitlines() if not line.startswith(f"    %{argument}:")]
                at = next(i for i, line in enumerate(lines) if line.startswith("  %e ="))
                text = "\n".join(lines[:at] + [f"  %{argument} = pp.constant {value}"] + lines[at:])
            (folder / f"{name}-text.mlir").write_text(text + "\n")
        texts = run("plain-text", "text:text", "", start)
        for goal in ("", "dp=2 microbatches=2"):
            for launch in launches if goal else launches[:1]:
                expect(f"text {goal}", texts, run("other-text", "text:text", goal, start, launch=launch))
        # Numbers that are drawn depend on an element's place, not on who has it.
        drawn = run("other", "random", "", start)
        expect("random", drawn, run("other", "random", "dp=2 microbatches=2", start, launch=launches[-1]))
    print("\n".join(errors) or "all layouts lead to the same")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
