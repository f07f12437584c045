#!/usr/bin/env python3
"""Overflows one gradient element of a step in f16, for each rank in turn.

SPDX-License-Identifier: Apache-2.0

An input that is 0 but for one element is multiplied by a parameter, so that the
element becomes the gradient of that place. Where it overflows, all ranks skip
the step: the scale of the loss is halved once, and the run goes on as one that
never saw the batch, bit for bit, for scales are powers of two. Where it stays,
the run ends with exit code 12.

  loss_scale.py --bin=build/bin [--cuda]
"""
import array
import json
import shutil
import subprocess
import sys

import scratch

BATCH, WIDTH, HIDDEN, STEPS, BAD = 8, 6, 12, 4, 1  # steps from 0 on
MODEL = """
func.func @main(%x: tensor<8x6xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %p: tensor<8x6x12xf32> {pp.name = "p", pp.role = #pp.role<input>},
                %q: tensor<8x12x6xf32> {pp.name = "q", pp.role = #pp.role<input>},
                %v: tensor<6x12xf32> {pp.name = "v", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.3>},
                %w: tensor<12x6xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.3>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %h = pp.dot_general %x, %v batch [] x [] contract [1] x [0] : tensor<8x6xf32>, tensor<6x12xf32> -> tensor<8x12xf32>
  %t = pp.tanh %h : tensor<8x12xf32>
  %y = pp.dot_general %t, %w batch [] x [] contract [1] x [0] : tensor<8x12xf32>, tensor<12x6xf32> -> tensor<8x6xf32>
  %z = pp.mul %y, %y : tensor<8x6xf32>
  %zz = pp.reduce sum %z dims [0, 1] : tensor<8x6xf32> -> tensor<f32>
  %o = pp.constant dense<0.02> : tensor<f32>
  %a = pp.mul %zz, %o : tensor<f32>
  %vs = pp.broadcast %v dims [1, 2] : tensor<6x12xf32> -> tensor<8x6x12xf32>
  %pv = pp.mul %p, %vs : tensor<8x6x12xf32>
  %b = pp.reduce sum %pv dims [0, 1, 2] : tensor<8x6x12xf32> -> tensor<f32>
  %ws = pp.broadcast %w dims [1, 2] : tensor<12x6xf32> -> tensor<8x12x6xf32>
  %qw = pp.mul %q, %ws : tensor<8x12x6xf32>
  %c = pp.reduce sum %qw dims [0, 1, 2] : tensor<8x12x6xf32> -> tensor<f32>
  %ab = pp.add %a, %b : tensor<f32>
  %l = pp.add %ab, %c : tensor<f32>
  return %l : tensor<f32>
}
"""
# Plans, and how many rows and columns of the parameters different ranks hold.
PLANS = ["", "dp=2", "tp=2", "pp=2 microbatches=2", "dp=2 zero=1", "dp=2 zero=2 microbatches=2",
         "dp=2 zero=3", "dp=2 tp=2 pp=2 clip=0.5", "dp=4 zero=3 precision.gradients=low"]
MPIRUN = "mpirun --allow-run-as-root --oversubscribe --bind-to none --host localhost:4 -n".split()
OPTIMIZER = "optimizer=adamw lr=0.01 warmup=3"
# Row of the batch, and place in v or w: of each rank in turn.
PLACES = [("p", 0, 0), ("p", 7, WIDTH * HIDDEN - 1), ("q", 3, 7), ("q", 5, WIDTH * HIDDEN - 1)]


def write_npy(path, shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (117 - len(header)) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
                     + array.array("f", values).tobytes())


def write_data(folder, steps, spoilt=None, value=1e38):
    """Batches for these numbers of steps; `spoilt`: (input, row, place) of step BAD."""
    folder.mkdir(exist_ok=True)
    write_npy(folder / "x.npy", (len(steps) * BATCH, WIDTH),
              [((13 * step + 7 * i) % 29 - 14) / 14 for step in steps for i in range(BATCH * WIDTH)])
    for name, shape in (("p", (WIDTH, HIDDEN)), ("q", (HIDDEN, WIDTH))):
        values = [0.0] * (len(steps) * BATCH * WIDTH * HIDDEN)
        if spoilt and spoilt[0] == name:
            row = steps.index(BAD) * BATCH + spoilt[1]
            values[row * WIDTH * HIDDEN + spoilt[2]] = value
        write_npy(folder / f"{name}.npy", (len(steps) * BATCH, *shape), values)


def run(place, plan, data, steps, result, processes=0):
    """In threads, or in processes of MPI."""
    options = [f"--data=npy:{data}", f"--steps={steps}", "--quiet", f"--save={result}.safetensors",
               f"--report={result}.json"]
    keys = f"{plan} {OPTIMIZER} precision=f16"
    if not processes:
        return place.call("pp-run", "m.mlir", f"--parallelize={keys}", *options,
                          *(["--device=cuda"] if place.cuda else []))
    place.make("pp-opt", "m.mlir", f"--pp-parallelize={keys} threads=1", "--emit=ppx", "-o", "m.ppx")
    return subprocess.run([*MPIRUN, str(processes), place.tools / "pp-run", "m.ppx",
                           "--launcher=mpi", *options], cwd=place.folder, timeout=120,
                          capture_output=True, text=True)


def check(judge, plan, processes=0):
    place = judge.place
    clean = run(place, plan, "clean", STEPS - 1, "clean", processes)
    judge.expect(clean.returncode == 0, f"[{plan}]: expects a run, got {clean.stderr}")
    for spoilt in PLACES:
        write_data(place.folder / "spoilt", list(range(STEPS)), spoilt)
        done = run(place, plan, "spoilt", STEPS, "spoilt", processes)
        if done.returncode:
            judge.expect(False, f"[{plan}] {spoilt}: expects a run, got {done.stderr}")
            continue
        steps = json.loads((place.folder / "spoilt.json").read_text())["steps"]
        told = [(s["metrics"]["loss_scale"], s["metrics"]["skipped_steps"]) for s in steps]
        judge.expect(told == [(65536, 0), (65536, 1), (32768, 1), (32768, 1)],
                     f"[{plan}] {spoilt}: expects one skipped step, got {told}")
        equal = ((place.folder / "spoilt.safetensors").read_bytes() ==
                 (place.folder / "clean.safetensors").read_bytes())
        judge.expect(equal, f"[{plan}] {spoilt}: expects what a run without the step yields")


def check_end(judge, plan, processes=0):
    """A loss that no scale makes finite: it is given up, or the run is over before."""
    place = judge.place
    write_data(place.folder / "ever", [BAD], ("p", 0, 0), float("inf"))
    for steps, last in (40, 18), (5, 5):
        done = run(place, plan, "ever", steps, "ever", processes)
        judge.expect(done.returncode == 12 and
                     f"step {last}: expects a finite loss, got" in done.stderr and
                     "as in each step since 1, which were skipped to reduce the scale of the loss"
                     in done.stderr,
                     f"{steps} steps: expects exit 12 and since when, got {done.returncode}, {done.stderr}")


def main():
    with scratch.from_command_line(__doc__, "cuda") as place:
        judge = scratch.Judge(place)
        write_data(place.folder / "clean", [s for s in range(STEPS) if s != BAD])
        for plan in PLANS:
            split = MODEL
            if "tp" in plan:  # both products, which no analysis finds beside the sums
                for name, dims in (("v", '[{}, {"tp"}]'), ("w", '[{"tp"}, {}]')):
                    split = split.replace(f'pp.name = "{name}", ', f'pp.name = "{name}", '
                                          f"pp.sharding = #pp.sharding<@mesh, {dims}>, ")
            (place.folder / "m.mlir").write_text(split)
            check(judge, plan)
        (place.folder / "m.mlir").write_text(MODEL)
        check_end(judge, "dp=2")
        if place.cuda:
            pass  # the emulated GPU is this process's
        elif shutil.which("mpirun") and (place.tools.parent / "lib/libpprt_mpi.so").exists():
            for plan in "dp=2 zero=2", "pp=2 microbatches=2":
                check(judge, plan, processes=2)
                check_end(judge, plan, processes=2)
        else:
            print("processes: skipped, no MPI")
        print(f"{len(PLANS)} plans, {len(PLACES)} places, {judge.failures} failures")
        return judge.failures > 0


sys.exit(main())
