#!/usr/bin/env python3
"""What importing a model costs, and whether an imported model trains as fast as pp-model's.

SPDX-License-Identifier: Apache-2.0

Import: seconds of PyTorch's or JAX's own tracing and of ours behind it, and the
memory that the process takes besides the model's (goals: 3 s of ours for 24
layers, no second copy of the parameters). Steps: the exported model and its twin
of pp-model in turns, round by round; a figure is the median over rounds of the
median step (goal: 1.03 of the twin's). In: a build of pp and the environment of
scripts/install-frameworks.

  benchmarks/importing.py [--bin=build/bin] [--rounds=5] [--steps=6]
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "test/Python")]
import peers  # noqa: E402

peers.need("torch", "transformers", "jax")
import torch  # noqa: E402
import torch.nn.functional as F
import transformers

import pp


def gpt2(layers, width, heads, sequence, vocabulary):
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_layer=layers, n_embd=width, n_head=heads, n_positions=sequence, vocab_size=vocabulary, attn_pdrop=0,
        embd_pdrop=0, resid_pdrop=0, use_cache=False, bos_token_id=0, eos_token_id=0)).train()


def next_token(output, labels):
    return F.cross_entropy(output.logits.flatten(0, 1), labels.flatten())


def export_gpt2(module, batch, sequence):
    tokens = torch.zeros(batch, sequence, dtype=torch.long)
    return pp.torch.export(module, next_token, {"input_ids": tokens, "labels": tokens})


def export_resnet():
    module = transformers.ResNetForImageClassification(transformers.ResNetConfig(
        embedding_size=64, hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2], layer_type="basic",
        num_labels=10)).train()
    return pp.torch.export(module, lambda output, labels: F.cross_entropy(output.logits, labels),
                           {"pixel_values": torch.zeros(16, 3, 64, 64), "labels": torch.zeros(16, dtype=torch.long)})


def peak_gigabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


class Timed:
    """Replaces a function of a module by one that adds up its time."""

    def __init__(self, module, name):
        self.seconds, self.function = 0.0, getattr(module, name)
        setattr(module, name, self)

    def __call__(self, *args, **kwargs):
        begin = time.time()
        try:
            return self.function(*args, **kwargs)
        finally:
            self.seconds += time.time() - begin


def measure_import(folder):
    print("| imported, 24 layers | parameters | the framework's time | ours | memory besides |\n|---|---|---|---|---|")
    module = gpt2(24, 1792, 28, 1024, 50257)
    gigabytes, before = sum(p.numel() for p in module.parameters()) * 4e-9, peak_gigabytes()
    tracing, begin = Timed(pp.torch, "_trace"), time.time()
    model = export_gpt2(module, 4, 1024)
    ours = time.time() - begin - tracing.seconds
    model.save(folder / "large.mlir")
    print(f"| GPT-2 of PyTorch | {gigabytes:.1f} GB | {tracing.seconds:.1f} s | {ours:.2f} s | "
          f"{max(0, peak_gigabytes() - before):.1f} GB |", flush=True)
    (folder / "large.safetensors").unlink()
    import jax
    import jax_losses
    jax.config.update("jax_enable_x64", False)
    jax_losses.HIDDEN, jax_losses.HEADS, jax_losses.LAYERS = 512, 8, 24
    for build in jax_losses.gpt, jax_losses.scan:
        case = build()
        lowering, begin = Timed(pp.jax, "_lower"), time.time()
        pp.jax.export(case.loss, case.params, tuple(case.batch.values()))
        ours = time.time() - begin - lowering.seconds
        pp.jax._lower = lowering.function
        size = sum(leaf.size for leaf in jax.tree.leaves(case.params)) * 4e-9
        print(f"| GPT of JAX, {build.__name__} | {size:.1f} GB | {lowering.seconds:.1f} s | {ours:.2f} s | |", flush=True)


def run(tools, model, plan, args, report):
    subprocess.run([tools / "pp-run", model, f"--parallelize={plan}", f"--steps={args.steps}", f"--report={report}",
                    "--quiet"], check=True, timeout=900)
    return statistics.median(step["ms"] for step in json.loads(report.read_text())["steps"][2:])


def measure_steps(args, folder):
    print("\n| steps of | plan | exported | twin | of the twin's |\n|---|---|---|---|---|")
    cases = [("GPT-2, 4 x 256", lambda: export_gpt2(gpt2(4, 256, 8, 128, 256), 16, 128),
              "gpt --layers=4 --hidden=256 --heads=8 --seq=128 --batch=16 --vocab=256", ("dp=2", "tp=2")),
             ("ResNet-18", export_resnet, "resnet --depth=18 --image=64 --batch=16 --classes=10", ("dp=2",))]
    for what, export, options, plans in cases:
        ours, twin = folder / "ours.mlir", folder / "twin.mlir"
        export().save(ours)
        subprocess.run([args.bin / "pp-model", *options.split(), "-o", twin], check=True)
        for plan in plans:
            times = {ours: [], twin: []}
            for _ in range(args.rounds):
                for model, rounds in times.items():
                    rounds.append(run(args.bin, model, plan, args, folder / "report.json"))
            mine, theirs = (statistics.median(rounds) for rounds in times.values())
            print(f"| {what} | {plan} | {mine:.1f} ms | {theirs:.1f} ms | {mine / theirs:.3f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=6)
    args = parser.parse_args()
    os.environ["PP_BIN"] = str(args.bin.resolve())
    with tempfile.TemporaryDirectory() as folder:
        measure_import(pathlib.Path(folder))
        measure_steps(args, pathlib.Path(folder))


if __name__ == "__main__":
    main()
