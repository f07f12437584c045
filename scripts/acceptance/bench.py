"""Runs programs of a pack on GPUs, and keeps what was seen.

SPDX-License-Identifier: Apache-2.0

A part calls run() and check(); what it returns are its figures. Whatever cannot
be done here raises Skipped with the reason.
"""
import json
import os
import subprocess

FEW_SECONDS, MANY_SECONDS = 300, 1200


class Skipped(Exception):
    pass


class Failed(Exception):
    pass


class Bench:
    def __init__(self, tools, build, folder, manifest, gpus, emulated):
        self.tools, self.build, self.folder = tools, build, folder
        self.pack, self.manifest = folder / "pack", manifest
        self.gpus, self.emulated = gpus, emulated
        self.checks = []

    def check(self, name, is_right, **said):
        self.checks.append({"check": name, "ok": bool(is_right), **said})
        return is_right

    def run(self, name, *options, gpus=1, processes=1, seconds=FEW_SECONDS):
        """pp-run of an artifact. `gpus`: how many it sees; one is shared by all ranks."""
        start = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n",
                 str(processes)] if processes > 1 else []
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        seen = visible.split(",") if visible else [str(n) for n in range(len(self.gpus))]
        try:
            done = subprocess.run(
                [*start, self.tools / "pp-run", self.pack / f"{name}.ppx", "--device=cuda", *options],
                cwd=self.folder, capture_output=True, text=True, timeout=seconds,
                env={**os.environ, "CUDA_VISIBLE_DEVICES": ",".join(seen[:gpus])})
        except subprocess.TimeoutExpired:
            raise Failed(f"{name} {' '.join(options)}: not over after {seconds} s") from None
        if done.returncode == 4:
            raise Skipped(done.stderr.strip())
        if done.returncode:
            raise Failed(f"{name} {' '.join(options)}: exit {done.returncode}: "
                         f"{done.stderr.strip()[-1000:]}")
        return done

    def losses(self, name, *options, saves=None, **how):
        """What --metrics says: losses, and milliseconds of the steps."""
        metrics = self.folder / "metrics.jsonl"
        saving = [f"--save={saves}"] if saves else []
        self.run(name, "--quiet", f"--metrics={metrics}", *saving, *options, **how)
        lines = [json.loads(line) for line in metrics.read_text().splitlines()]
        return [line["loss"] for line in lines], [line["ms"] for line in lines]

    def report(self, name, *options, gpus=1):
        path = self.folder / "report.json"
        self.run(name, "--quiet", f"--report={path}", *options, gpus=gpus, seconds=MANY_SECONDS)
        return json.loads(path.read_text())
