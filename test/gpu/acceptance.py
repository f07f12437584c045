#!/usr/bin/env python3
"""Runs scripts/gpu-acceptance from its start to its end on two GPUs that are played.

SPDX-License-Identifier: Apache-2.0

All parts end, what is judged is right, in several processes too, what needs
PyTorch says so where there is none, and nothing is called run on a GPU. A program whose expected values
are changed must fail; one that has no room, or hangs, leaves the others judged. What cannot begin is
told in one line.

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
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/acceptance"))

import bench  # noqa: E402
import judge  # noqa: E402

# In pp-run's place: one program has no room.
NO_ROOM = """#!/bin/sh
case "$1" in
*/{program}.ppx) echo "pp-run: error: expects less" >&2; exit 4 ;;
esac
exec {tools}/pp-run "$@"
"""
# What hangs, and starts others, one of them in a group of its own, as ranks of mpirun are.
HANGING = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setpgid(0, 0)
time.sleep(600)
"""
PYTORCH = "expects PyTorch (pip install torch numpy), got: "


def has(path, word):
    try:
        return word in path.read_bytes()
    except OSError:  # the process has ended
        return False


class Acceptance:
    def __init__(self, args, folder):
        self.args, self.folder, self.errors = args, folder, []

    def environment(self, settings, **more):
        return {**os.environ, "PP_STANDIN": str(settings),
                "LD_LIBRARY_PATH": str(self.args.stand_ins.resolve()), **more}

    def run(self, pack, *options, devices=2, tools=None, out=None, **more):
        """The call, and the JSON that it wrote, if it did."""
        settings, written = self.folder / "standin", self.folder / "out.json"
        out = [f"--out={written}"] if out is None else out
        settings.write_text(f"seed 3\ndevices {devices}\n")
        written.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, ROOT / "scripts/gpu-acceptance", pack,
             f"--bin={tools or self.args.bin}", *out, *options], capture_output=True,
            text=True, timeout=500, env=self.environment(settings, **more))
        return done, json.loads(written.read_text()) if written.exists() else None

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

    def change(self, edit):
        """A pack whose manifest is another one; `edit` may change the files, too."""
        with tarfile.open(self.args.pack) as tar:
            tar.extractall(self.folder, filter="data")
        manifest = self.folder / "pack/manifest.json"
        text = json.loads(manifest.read_text())
        edit(text)
        manifest.write_text(json.dumps(text))
        changed = self.folder / "changed.tar"
        with tarfile.open(changed, "w") as tar:
            tar.add(self.folder / "pack", "pack")
        return changed

    def check_wrong_values(self):
        """Some parameter elsewhere, by more than its bound."""
        def edit(text):
            text["judged"] = text["judged"][:1]
            saved = self.folder / "pack" / text["judged"][0]["parameters"]
            values = bytearray(saved.read_bytes())
            values[-2] ^= 1  # of an exponent
            saved.write_bytes(values)

        done, result = self.run(self.change(edit), "--parts=matrix")
        self.expect("other parameters", done.returncode == 1 and result and
                    [c["check"] for c in result["parts"]["matrix"]["failed"]] == ["values"], done)

    def check_bounds(self):
        """Of programs in f64 some parameter elsewhere by 2^-28 of itself: Adam's may be."""
        def edit(text):
            text["judged"] = text["judged"][:2]
            for entry in text["judged"]:
                saved = self.folder / "pack" / entry["parameters"]
                values = bytearray(saved.read_bytes())
                values[-5] ^= 1
                saved.write_bytes(values)

        done, result = self.run(self.change(edit), "--parts=matrix")
        failed = result["parts"]["matrix"]["failed"] if result else []
        self.expect("bounds", [c["plan"].split("optimizer=")[1] for c in failed] ==
                    ["momentum lr=0.05"], done)

    def check_no_room(self):
        """For one of three programs, and for all there are."""
        tools = self.folder / "tools/bin"
        tools.mkdir(parents=True)
        pp_run = tools / "pp-run"
        for program, count, outcome in ("judged-001", 3, "passed"), ("*", 1, "skipped"):
            pp_run.write_text(NO_ROOM.format(program=program, tools=self.args.bin.resolve()))
            pp_run.chmod(0o755)
            pack = self.change(lambda text: text.update(judged=text["judged"][:count]))
            done, result = self.run(pack, "--parts=matrix", tools=tools)
            part = result["parts"]["matrix"] if result else {}
            self.expect(f"no room for {program}", done.returncode == 0 and
                        part.get("result") == outcome and "1 skipped" in done.stdout and
                        [s["why"] for s in part["skipped"]] == ["pp-run: error: expects less"] and
                        part["checks"] == 2 * (count - 1), done)

    def check_hangs(self):
        """Nothing is left of what hangs, and where one process does, it is given up."""
        begun = time.monotonic()
        words = [sys.executable, "-c", HANGING, str(self.folder)]
        try:
            bench.call(words, 1)
            self.errors.append("a program that hangs: expects an end by time")
        except bench.TimedOut:
            pass
        left = [path.parent.name for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                if has(path, os.fsencode(self.folder))]
        if left or time.monotonic() - begun > 30:
            self.errors.append(f"a program that hangs: expects none left, got {left}")

        class Hangs(bench.Bench):
            def losses(self, name, *options, processes=1, **how):
                order.append(processes)
                raise bench.TimedOut("not over")

        order = []
        entries = [{"name": f"judged-00{n}", "plan": "dp=2", "dtype": "f64"} for n in range(3)]
        work = Hangs(None, self.args.bin.resolve().parent, self.folder,
                     {"judged": entries, "steps": 2}, [{}, {}], True)
        figures = judge.nccl(work)
        tried = [2, 2, 2] * ("right_in_processes" in figures) + [1]
        if order != tried or len(work.checks) != len(tried) or \
                "given up after 1 of 3 programs: judged-000" not in figures["one_process"]:
            self.errors.append(f"programs that hang: got {order}, {figures}, {work.checks}")

    def check_processes(self):
        """Runs do not read what others left in the folder of stand-ins; without it, they say so."""
        if not shutil.which("mpirun"):
            return
        carried = self.folder / "left"
        carried.mkdir()
        losses = []
        for seed, lines in ((1, f"processes {carried}\n"), (2, f"processes {carried}\n"),
                            (1, f"processes {carried}\n"), (1, "")):
            settings = self.folder / "processes"
            settings.write_text(f"devices 2\n{lines}")
            metrics = self.folder / "metrics"
            done = subprocess.run(
                ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2",
                 self.args.bin.resolve() / "pp-run", self.folder / "pack/judged-000.ppx",
                 "--device=cuda", "--data=random", "--steps=2", "--quiet", f"--seed={seed}",
                 f"--metrics={metrics}"], capture_output=True, text=True, timeout=120,
                env=self.environment(settings))
            if lines:
                self.expect("processes", done.returncode == 0, done)
                losses.append([json.loads(line)["loss"] for line in metrics.open()])
            else:
                self.expect("processes without a folder", done.returncode == 15 and
                            done.stderr.count("expect a line 'processes FOLDER'") == 1, done)
        if losses[0] != losses[2] or losses[0] == losses[1]:
            self.errors.append(f"expects losses of a seed alone, got {losses}")

    def check_refusals(self):
        for what, code, says, done_and_result in (
                ("no GPU", 15, "nvidia-smi", self.run(self.args.pack, devices=0)),
                ("none that is seen", 15, "nvidia-smi",
                 self.run(self.args.pack, CUDA_VISIBLE_DEVICES="-1")),
                ("an unknown part", 2, "expects some of",
                 self.run(self.args.pack, "--parts=speed")),
                ("an unknown option", 2, "--fast", self.run(self.args.pack, "--fast")),
                ("a size of a pack that is there", 2, "--size is for a pack that is written",
                 self.run(self.args.pack, "--size=small")),
                ("levels that are none", 2, "expects levels as sm_80,",
                 self.run(f"--pack={self.folder / 'new.tar'}", "--targets=80", out=())),
                ("a part of a pack that is written", 2, "--parts is for a pack that is run",
                 self.run(f"--pack={self.folder / 'new.tar'}", "--parts=nccl", out=())),
                ("another revision", 2, "expects a clone of its revision 0123",
                 self.run(self.change(lambda text: text.update(revision="0123")))),
                ("wrong settings", 2, "2: expects 'devices N'",
                 self.run(self.args.pack, devices="2, seed 3")),
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
        acceptance.check_bounds()
        acceptance.check_no_room()
        acceptance.check_hangs()
        acceptance.check_processes()
        acceptance.check_refusals()
    for error in acceptance.errors:
        print(error)
    return 1 if acceptance.errors else 0


if __name__ == "__main__":
    sys.exit(main())
