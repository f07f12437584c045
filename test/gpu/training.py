#!/usr/bin/env python3
"""Trains on an emulated GPU.

SPDX-License-Identifier: Apache-2.0

The library that uses GPUs, unmodified, calls the emulated library of NVIDIA's driver,
which runs the artifact's own PTX: losses and parameters are the processor's but for
rounding, and the same bits in whatever order CUDA may do things.

  training.py --bin=build/bin --emulators=build/test/gpu/lib
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/acceptance/carried"))

import tensors  # noqa: E402

import commands  # noqa: E402

MODELS = pathlib.Path(__file__).resolve().parent / "Inputs"
SEEDS = 8
# Of every family, as small as it gets; of the vocabulary, whole and split, rows are padded.
FAMILIES = ["mlp --layers=2 --hidden=8 --input=4 --batch=4",
            "gpt --layers=2 --hidden=16 --heads=2 --seq=8 --batch=4 --vocab=33",
            "moe --layers=2 --hidden=16 --heads=2 --seq=8 --batch=2 --vocab=32",
            "resnet --norm=group --groups=2 --width=4 --batch=1 --image=8 --classes=3",
            "resnet --width=8 --batch=2 --image=16 --classes=3",  # by products of copies
            "unet --groups=1 --width=2 --batch=1 --image=4 --depth=1"]
# Of all kinds of comm ops, of a model with four heads.
STRATEGIES = ["dp=2", "tp=2 sequence=true", "pp=2 microbatches=2", "dp=2 zero=3 clip=1.0",
              "dp=2 tp=2 pp=2 microbatches=2",
              "pp=2 chunks=2 microbatches=4 schedule=interleaved-1f1b",
              "pp=2 microbatches=4 schedule=zb-h1", "pp=2 microbatches=4 schedule=zb-v"]
# GELU and biases are within a stage, and across ranks; their gradients are added up.
EPILOGUES = [("f32", "optimizer=adamw"), ("bf16", "optimizer=adamw"), ("f16", "optimizer=adamw"),
             ("f32", "dp=2 tp=2 pp=2 microbatches=2 optimizer=momentum lr=0.1"),
             ("bf16", "microbatches=4 optimizer=sgd lr=0.1"),
             ("f32", "numerics=tf32 optimizer=sgd lr=0.1"),
             ("f32", "precision=bf16 remat=full optimizer=adamw"),
             ("f32", "dp=2 zero=3 precision=f16 remat=selective optimizer=adamw"),
             ("f32", "tp=2 pp=2 microbatches=2 precision=bf16 precision.gradients=low "
                     "optimizer=sgd lr=0.1")]
PLAN = "optimizer=momentum lr=0.1"
FEW = ["--steps=4", "--data=random"]


class Training(commands.Runs):
    def train(self, name, model, *arguments, emulated="seed 0\n"):
        """The losses, and the saved parameters' bytes and values."""
        saved, metrics = self.folder / f"{name}.st", self.folder / f"{name}.jsonl"
        done = self.call("pp-run", model, "--quiet", f"--save={saved}", f"--metrics={metrics}",
                         *arguments, emulated=emulated)
        if done.returncode:
            self.expect_end(name, False, done)
            return None
        losses = [json.loads(line)["loss"] for line in metrics.read_text().splitlines()]
        return losses, saved.read_bytes(), tensors.read(saved)

    def compile(self, model, plan):
        """The artifact's name: what many runs take is compiled once."""
        done = self.call("pp-opt", model, f"--pp-parallelize={plan}", "--emit=ppx",
                         "--targets=sm_90", "-o", "compiled.ppx")
        self.expect_end(f"{model} {plan}", done.returncode == 0, done)
        return "compiled.ppx"

    def check_families(self):
        for family in FAMILIES:
            name = family.split()[0] + ".mlir"
            done = self.call("pp-model", *family.split(), "--dtype=f64", "-o", name)
            self.expect_end(family, done.returncode == 0, done)
            done = self.call("pp-run", name, "--device=cuda", "--steps=1", "--data=random",
                             "--verify")
            self.expect_end(f"{family} --verify", done.returncode == 0, done)

    def check_epilogues(self):
        """What cublasLt does beside products in f32, bf16 and f16, not in f64; and TF32."""
        for element, plan in EPILOGUES:
            name = f"{element}.mlir"
            self.call("pp-model", *FAMILIES[1].split(), f"--dtype={element}", "-o", name)
            done = self.call("pp-run", name, "--device=cuda", "--steps=2", "--data=random",
                             "--verify", f"--parallelize={plan}")
            self.expect_end(f"{element} {plan} --verify", done.returncode == 0, done)
        # As cublasLtEpilogue_t numbers them: with biases, GELU and its gradient, sums. What is
        # refused when it is asked for, or when it is first tried, is done by other kernels.
        for refused, count in ((4, 3), (164, 1), (192, 1), (256, 4), (65535, 9), (None, 1)):
            setting = f"refuse {refused}" if refused else "fail cublasLtMatmul 1 15"
            for graph in "on", "off":
                done = self.call("pp-run", "f32.mlir", "--device=cuda", "--steps=2", "--data=random",
                                 f"--graph={graph}", "--report=r.json",
                                 *(["--verify"] if refused else []),
                                 emulated=f"seed 1\n{setting}\n")
                told = [words.split() for line, _, words in
                        (line.partition(" compute them: ") for line in done.stdout.splitlines())
                        if line.startswith("cublasLt refuses")]
                report = self.load("r.json")
                reported = report.get("unfused_products", [])
                self.expect_end(f"{setting} --graph={graph}", done.returncode == 0 and
                            told == [[product["kernel"] for product in reported]] and
                            len(reported) == count and
                            all(product["reason"] for product in reported), done)
        done = self.call("pp-run", "f32.mlir", "--device=cuda", "--data=random",
                         emulated="seed 1\nrefuse 1\n")
        self.expect_end("a product that is refused alone", done.returncode == 15 and
                    done.stderr.count("epilogue DEFAULT") == 1, done)
        losses = {}
        for device in "cuda", "cpu":
            for numerics in "f32", "tf32":
                self.call("pp-run", "f32.mlir", f"--device={device}", "--steps=2",
                          "--data=random", "--metrics=losses.jsonl",
                          f"--parallelize=numerics={numerics}")
                lines = (self.folder / "losses.jsonl").read_text().splitlines()
                losses[device, numerics] = [json.loads(line)["loss"] for line in lines]
        if losses["cuda", "f32"] == losses["cuda", "tf32"]:
            self.errors.append("expects other losses with numerics=tf32, got the same")
        if losses["cpu", "f32"] != losses["cpu", "tf32"]:
            self.errors.append("expects numerics=tf32 to change nothing on a processor")

    def check_training(self, path):
        model = pathlib.Path(path).name
        plan = f"--parallelize={PLAN}"
        cpu = self.train("cpu", path, "--device=cpu", plan, *FEW)
        traced = ["--report=cuda.json", "--trace=cuda.trace.json"]  # so that nothing is recorded
        first = self.train("cuda", path, "--device=cuda", plan, *traced, *FEW)
        if not cpu or not first:
            return
        worst = max(abs(a - b) for name in cpu[2] for a, b in zip(cpu[2][name], first[2][name]))
        worst = max(worst, *(abs(a - b) for a, b in zip(cpu[0], first[0])))
        if worst > 1e-12:
            self.errors.append(f"{model}: expects the processor's values, got {worst} beside them")
        device = self.load("cuda.json")["device"]
        if device != "cuda (emulated)":
            self.errors.append(f"{model}: expects a emulated GPU, got '{device}'")
        artifact = self.compile(path, PLAN)
        for seed in range(1, SEEDS):
            graph = "on" if seed % 2 else "off"
            other = self.train("other", artifact, "--device=cuda", f"--graph={graph}", *FEW,
                               emulated=f"seed {seed}\n")
            if other and other[:2] != first[:2]:
                self.errors.append(f"{model}: expects the bits of seed 0 from seed {seed}, "
                                   f"--graph={graph}")
        self.check_trace(model)
        done = self.call("pp-run", path, "--device=cuda", "--verify", plan, *FEW)
        self.expect_end(f"{model} --verify", done.returncode == 0, done)

    def check_shared(self, path):
        """Many ranks on one GPU: the processor's values, whatever the strategy."""
        for strategy in STRATEGIES:
            options = ["--steps=2", "--data=random"]
            done = self.call("pp-run", path, "--device=cuda", "--verify",
                             f"--parallelize={strategy}", *options)
            self.expect_end(f"{strategy} --verify", done.returncode == 0, done)
            artifact, first = self.compile(path, strategy), None
            for seed, graph in (1, "on"), (2, "off"), (3, "on"):
                got = self.train("shared", artifact, "--device=cuda", f"--graph={graph}", *options,
                                 emulated=f"seed {seed}\n")
                first = first or got
                if got and got[:2] != first[:2]:
                    self.errors.append(f"{strategy}: expects the bits of seed 1 from seed {seed}")

    def check_several(self, path):
        """A GPU for each rank: what NCCL adds it adds in an order of its own."""
        for number, strategy in enumerate(STRATEGIES):
            options = ["--steps=2", "--data=random"]
            devices = 8 if "tp=2 pp=2" in strategy else 2
            cpu = self.train("cpu", path, "--device=cpu", f"--parallelize={strategy}", *options)
            artifact = self.compile(path, strategy)
            for seed, graph in (number, "on"), (number + 5, "off"):
                got = self.train("several", artifact, "--device=cuda", f"--graph={graph}", *options,
                                 emulated=f"seed {seed}\ndevices {devices}\nerrors {seed}\n")
                if cpu and got:
                    worst = max(abs(a - b) for name in cpu[2]
                                for a, b in zip(cpu[2][name], got[2][name]))
                    if worst > 1e-12:
                        self.errors.append(f"{strategy} on {devices} GPUs, seed {seed}: expects "
                                           f"the processor's values, got {worst} beside them")

    def check_trace(self, model):
        """What runs in one stream does not overlap, and the step has what its kernels took."""
        events = self.load("cuda.trace.json")["traceEvents"]
        tracks = {}
        for event in events:
            if event["ph"] == "X":
                tracks.setdefault((event["pid"], event["tid"]), []).append(
                    (event["ts"], event["ts"] + event["dur"]))
        if not any(end > begin for spans in tracks.values() for begin, end in spans):
            self.errors.append(f"{model}: expects times in the trace, got none")
        for track, spans in tracks.items():
            spans.sort()
            if any(one[1] > other[0] + 0.01 for one, other in zip(spans, spans[1:])):
                self.errors.append(f"{model}: expects a stream's commands one after the other in "
                                   f"the trace, got others in {track}")


def check(runs):
    runs.check_families()
    runs.check_epilogues()
    for model in MODELS / "table.mlir", pathlib.Path("gpt.mlir"):
        runs.check_training(str(model))
    runs.check_shared("gpt.mlir")
    runs.check_several("gpt.mlir")


if __name__ == "__main__":
    sys.exit(commands.main(Training, check))
