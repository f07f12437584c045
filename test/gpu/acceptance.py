#!/usr/bin/env python3
"""Runs scripts/gpu-acceptance from its start to its end on two GPUs that are played.

SPDX-License-Identifier: Apache-2.0

All parts end, what is judged is right, in several processes too, what needs
PyTorch says so where there is none, and nothing is called run on a GPU. A program whose expected values
are changed must fail. What cannot begin is told in one line.

  acceptance.py --bin=build/bin --stand-ins=build/test/gpu/lib --pack=PACK.tar
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# In mpirun's place: what the stand-ins carry between processes has a folder for each call.
MPIRUN = """#!/bin/sh
settings=$(mktemp -d -p {folder})
{{ cat "$PP_STANDIN"; mkdir "$settings/box"; echo "processes $settings/box"; }} >"$settings/standin"
PP_STANDIN=$settings/standin exec {mpirun} -x PP_STANDIN "$@"
"""
PYTORCH = "expects PyTorch (pip install torch numpy), got: "


class Acceptance:
    def __init__(self, args, folder):
        self.args, self.folder, self.errors = args, folder, []
        self.path = os.environ["PATH"]
        if mpirun := shutil.which("mpirun"):
            programs = folder / "programs"
            programs.mkdir()
            (programs / "mpirun").write_text(MPIRUN.format(folder=folder, mpirun=mpirun))
            (programs / "mpirun").chmod(0o755)
            self.path = f"{programs}:{self.path}"

    def run(self, pack, *options, devices=2):
        """The call, and the JSON that it wrote, if it did."""
        settings, out = self.folder / "standin", self.folder / "out.json"
        settings.write_text(f"seed 3\ndevices {devices}\n")
        out.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, ROOT / "scripts/gpu-acceptance", pack, f"--bin={self.args.bin}",
             f"--out={out}", *options], capture_output=True, text=True, timeout=500,
            env={**os.environ, "PATH": self.path, "PP_STANDIN": str(settings),
                 "LD_LIBRARY_PATH": str(self.args.stand_ins.resolve())})
        return done, json.loads(out.read_text()) if out.exists() else None

    def expect(self, what, is_right, done):
        if not is_right:
            self.errors.append(f"{what}: exit {done.returncode}\n{done.stdout}{done.stderr}")

    def check_all(self):
        done, result = self.run(self.args.pack)
        print(done.stdout, end="")
        if done.returncode or not result:
            self.expect("all parts", False, done)
            return
        self.expect("a GPU that is played", result["emulated"] and
                    result["device"].startswith("emulated: "), done)
        for name, part in result["parts"].items():
            why = part.get("why", "")
            self.expect(name, why.startswith(PYTORCH) if name == "peers" and why else not why, done)
        parts = result["parts"]
        for name in "matrix", "nccl":
            figures = parts[name]["figures"]
            self.expect(f"every program of {name}", figures["programs"] > 5 and {
                count for key, count in figures.items() if key.startswith("right")} ==
                {figures["programs"]}, done)
        for dtype in "bf16", "f32":
            self.expect(f"kernels of {dtype}", parts["products"]["figures"][dtype]["kernels"], done)
            self.expect(f"launches of {dtype}", parts["launches"]["figures"][dtype]["commands"] > 0,
                        done)

    def check_wrong_values(self):
        """Some parameter elsewhere, by more than its bound."""
        with tarfile.open(self.args.pack) as tar:
            tar.extractall(self.folder, filter="data")
        manifest = self.folder / "pack/manifest.json"
        text = json.loads(manifest.read_text())
        text["judged"] = text["judged"][:1]
        manifest.write_text(json.dumps(text))
        saved = self.folder / "pack" / text["judged"][0]["parameters"]
        values = bytearray(saved.read_bytes())
        values[-2] ^= 1  # of an exponent
        saved.write_bytes(values)
        changed = self.folder / "changed.tar"
        with tarfile.open(changed, "w") as tar:
            tar.add(self.folder / "pack", "pack")
        done, result = self.run(changed, "--parts=matrix")
        self.expect("other parameters", done.returncode == 1 and result and
                    [c["check"] for c in result["parts"]["matrix"]["failed"]] == ["values"], done)

    def check_refusals(self):
        for what, code, says, done_and_result in (
                ("no GPU", 15, "nvidia-smi", self.run(self.args.pack, devices=0)),
                ("an unknown part", 2, "expects some of",
                 self.run(self.args.pack, "--parts=speed")),
                ("an unknown option", 2, "--fast", self.run(self.args.pack, "--fast")),
                ("no pack", 2, "expects a pack", self.run(self.folder / "none.tar")),
                ("no archive", 2, "expects a pack", self.run(pathlib.Path(__file__))),
                ("no pp-run", 2, "expects pp-run", self.run(self.args.pack, "--bin=/")),
                ("nowhere to write", 2, "can be written",
                 self.run(self.args.pack, "--out=/none/out.json"))):
            done, result = done_and_result
            self.expect(what, done.returncode == code and result is None and
                        len(done.stderr.splitlines()) == 1 and says in done.stderr, done)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in "--bin", "--stand-ins", "--pack":
        parser.add_argument(name, type=pathlib.Path, required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        acceptance = Acceptance(args, pathlib.Path(folder))
        acceptance.check_all()
        acceptance.check_wrong_values()
        acceptance.check_refusals()
    for error in acceptance.errors:
        print(error)
    return 1 if acceptance.errors else 0


if __name__ == "__main__":
    sys.exit(main())
