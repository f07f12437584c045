#!/usr/bin/env python3
# wire_bytes.py - what pp and XLA send for the same mesh and seeds.
#
# SPDX-License-Identifier: Apache-2.0
#
# In: a build of pp and the environment of scripts/install-frameworks. Out: a table on stdout, and exit code 1 if pp
# sends more anywhere. Ours is the report of `pp-run --dry-run`, XLA's is counted in the compiled module of the peer.
# Bytes are those of a step, f32, one micro-batch, that the busiest device sends, by ring algorithms. Nothing is timed,
# so other work may run.
"""Compares collectives and bytes of a training step with XLA's."""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile

import run
import table

KINDS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all",
         "collective_permute")


@dataclasses.dataclass
class Case:
    name: str
    parallelize: str
    peer: list
    model: str = "gpt"


CASES = [
    Case("dp=2", "dp=2", ["jax_mesh.py", "--dp=2"]),
    Case("tp=2", "tp=2", ["jax_mesh.py", "--tp=2"]),
    Case("dp=2 tp=2", "dp=2 tp=2", ["jax_mesh.py", "--dp=2", "--tp=2"]),
    Case("tp=2, sequence", "tp=2 sequence=true",
         ["jax_mesh.py", "--tp=2", "--sequence"]),
    Case("tp=2, sequence, kept", "tp=2 sequence=true sequence.gather=keep",
         ["jax_mesh.py", "--tp=2", "--sequence"]),
    Case("dp=2 tp=2, sequence", "dp=2 tp=2 sequence=true",
         ["jax_mesh.py", "--dp=2", "--tp=2", "--sequence"]),
    Case("dp=2, zero 3", "dp=2 zero=3", ["jax_mesh.py", "--dp=2", "--zero3"]),
    Case("dp=2, zero 3, once", "dp=2 zero=3 zero.gather=step",
         ["jax_mesh.py", "--dp=2", "--zero3"]),
    Case("dp=2 tp=2, zero 3", "dp=2 tp=2 zero=3",
         ["jax_mesh.py", "--dp=2", "--tp=2", "--zero3"]),
    Case("experts, ep=2", "ep=2", ["jax_ep.py"], "moe"),
]


def ours(args, case, folder):
    report = os.path.join(folder, "report.json")
    subprocess.run([
        args.tool("pp-run"), os.path.join(folder, case.model + ".mlir"),
        f"--parallelize={case.parallelize} optimizer=adamw", "--dry-run",
        f"--report={report}"], check=True, stdout=subprocess.DEVNULL)
    with open(report) as file:
        ranks = json.load(file)["communication"]
    sent = max(ranks, key=lambda rank: total(calls_and_bytes(rank))[1])
    return calls_and_bytes(sent)


def calls_and_bytes(kinds):
    """(calls, bytes) by kind, whichever side counted them."""
    return {kind: (entry.get("count", entry.get("calls")), entry["wire_bytes"])
            for kind, entry in kinds.items() if kind in KINDS}


def total(sent):
    return (sum(calls for calls, _ in sent.values()),
            sum(size for _, size in sent.values()))


def cells(sent):
    """Calls in all, MB by kind, MB in all."""
    calls, size = total(sent)
    return [str(calls), *(f"{sent[kind][1] / 1e6:.2f}" if kind in sent else "-"
                          for kind in KINDS), f"{size / 1e6:.2f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(run.ROOT, "build"))
    parser.add_argument("--venv", default=os.path.join(run.ROOT, ".venv-peers"))
    args = parser.parse_args()
    args.tool = lambda name: os.path.join(args.build, "bin", name)
    more = []
    print("\n".join(table.lines(
        ("mesh", "by", "calls", *(kind + " MB" for kind in KINDS), "all MB"), ())))
    with tempfile.TemporaryDirectory() as folder:
        run.write_models(args, folder)
        for case in CASES:
            mine = ours(args, case, folder)
            peer = calls_and_bytes(run.last_json(
                [*run.peer_command(args, case.peer[0]), *case.peer[1:],
                 "--collectives"]))
            for row in ([case.name, "pp", *cells(mine)], ["", "XLA", *cells(peer)]):
                print(table.line(row), flush=True)
            if total(mine)[1] > total(peer)[1]:
                more.append(case.name)
    if more:
        sys.exit("error: more bytes than XLA with " + "; ".join(more))


if __name__ == "__main__":
    main()
