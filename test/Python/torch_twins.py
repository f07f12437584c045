#!/usr/bin/env python3
# torch_twins.py - exported models beside pp-model's of the same shape.
#
# SPDX-License-Identifier: Apache-2.0
#
# Under a plan, both have the same collectives, to the byte, and peaks within 3 %:
# an exported model's dimensions are found although nobody names them. Nothing
# runs. Needs torch and transformers.
"""Compares predictions of exported models with those of pp-model's.

  torch_twins.py --bin=build/bin
"""
import argparse
import json
import os
import subprocess
import tempfile

import peers

peers.need("torch", "transformers")
import torch  # noqa: E402 (found through the line above)
import torch.nn.functional as F
import transformers

import pp

PEAK = 0.03


def gpt2(path):
    module = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_layer=2, n_embd=64, n_head=4, n_positions=32, vocab_size=256, attn_pdrop=0, embd_pdrop=0, resid_pdrop=0,
        use_cache=False, bos_token_id=0, eos_token_id=0)).train()
    tokens = torch.zeros(8, 32, dtype=torch.long)
    pp.torch.export(module, lambda output, labels: F.cross_entropy(output.logits.flatten(0, 1), labels.flatten()),
                    {"input_ids": tokens, "labels": tokens}).save(path)


def resnet(path):
    module = transformers.ResNetForImageClassification(transformers.ResNetConfig(
        embedding_size=64, hidden_sizes=[256, 512, 1024, 2048], depths=[3, 4, 6, 3], num_labels=10)).train()
    pp.torch.export(module, lambda output, labels: F.cross_entropy(output.logits, labels),
                    {"pixel_values": torch.zeros(4, 3, 64, 64), "labels": torch.zeros(4, dtype=torch.long)}).save(path)


# (exported model, its twin, plans)
CASES = [
    (gpt2, "gpt --layers=2 --hidden=64 --heads=4 --seq=32 --batch=8 --vocab=256",
     ("dp=2", "tp=2", "tp=4 vocab=true", "tp=2 sequence=true", "tp=2 sequence=true vocab=true", "dp=2 zero=1",
      "dp=2 zero=3", "dp=2 tp=2 zero=2", "pp=2 microbatches=4", "dp=2 tp=2 pp=2 microbatches=2 schedule=gpipe")),
    (resnet, "resnet --depth=50 --image=64 --batch=4 --classes=10", ("dp=2", "tp=2", "tp=4", "dp=4 zero=3")),
]


def predict(tools, model, plan, report):
    """Collectives of all ranks, and the peaks."""
    subprocess.run([os.path.join(tools, "pp-run"), model, f"--parallelize={plan}", "--dry-run", "--quiet",
                    f"--report={report}"], check=True, capture_output=True, timeout=120)
    with open(report) as file:
        report = json.load(file)
    return ([rank["by_axes"] for rank in report["communication"]],
            [rank["predicted_peak_bytes"] for rank in report["memory"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of pp's tools")
    args = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        ours, twin, report = (os.path.join(folder, name) for name in ("ours.mlir", "twin.mlir", "report.json"))
        for export, options, plans in CASES:
            export(ours)
            subprocess.run([os.path.join(args.bin, "pp-model"), *options.split(), "-o", twin], check=True, timeout=60)
            for plan in plans:
                (calls, peaks), (expected, limits) = (predict(args.bin, model, plan, report) for model in (ours, twin))
                worst = max(peak / limit for peak, limit in zip(peaks, limits))
                holds = calls == expected and worst <= 1 + PEAK
                failures += not holds
                print(f"{export.__name__:7} {plan:52} peak {worst:.3f} "
                      f"{'ok' if holds else f'{calls} and not {expected}'}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
