"""Runs programs of the file on GPUs, and keeps what was seen.

SPDX-License-Identifier: Apache-2.0

A part calls attempt() for each program, in it run() and check(). What cannot be
done here raises Skipped with the reason: of that program alone inside of an
attempt, of the part outside. Each part has a time at which it is to be over, and
what was seen is written after each program.
"""
import json
import os
import pathlib
import shutil
import time
import zipfile

import calls

OUT_OF_MEMORY = 4  # pp-run's exit code
LONGEST = 300  # seconds of one run


class Skipped(Exception):
    pass


class Failed(Exception):
    pass


class Bench:
    def __init__(self, files, folder, env, found, write):
        self.files, self.folder, self.env, self.write = files, folder, env, write
        self.manifest = json.loads((files / "pack/manifest.json").read_text())
        self.gpus, self.emulated = found["gpus"], found["emulated"]
        self.figures, self.checks, self.skipped = {}, [], []

    def begin_part(self, end):
        """That is to be over at that time."""
        self.end, self.attempts = end, 0
        self.figures, self.checks, self.skipped = {}, [], []

    def left(self):
        return self.end - time.monotonic()

    def check(self, name, is_right, **said):
        self.checks.append({"check": name, "ok": bool(is_right), **said})
        return is_right

    def skip(self, why, **what):
        self.skipped.append({**what, "why": why})

    def attempt(self, body, needs=1, **what):
        """What `body` returns. None where it fails or cannot be done here, or in the `needs`
        seconds that it needs at least, of which the result tells: others are tried all the same."""
        self.attempts += 1
        result = None
        if self.left() < needs:
            self.skip("no time is left", **what)
            return None
        try:
            result = body()
        except Skipped as reason:
            self.skip(str(reason), **what)
        except calls.TimedOut as late:
            if self.left() < 1:
                self.skip(f"no time is left: {late}", **what)
            else:
                self.check("runs", False, **what, got=str(late))
        except Failed as failure:
            self.check("runs", False, **what, got=str(failure))
        self.write()
        return result

    def environment(self, gpus, processes=1):
        """In which a program sees so many GPUs, the first of those that are seen here."""
        visible = self.env.get("CUDA_VISIBLE_DEVICES")
        seen = visible.split(",") if visible else [str(n) for n in range(len(self.gpus))]
        its = {**self.env, "CUDA_VISIBLE_DEVICES": ",".join(seen[:gpus])}
        if self.emulated and processes > 1:
            its["PP_EMULATED"] = str(self.settings())
        return its

    def settings(self):
        """Those emulated of a GPU, with a folder for what its processes send."""
        given, carried = self.env.get("PP_EMULATED"), self.folder / "carried"
        shutil.rmtree(carried, ignore_errors=True)
        carried.mkdir()
        path = self.folder / "emulated"
        path.write_text((pathlib.Path(given).read_text() if given else "") +
                        f"processes {carried}\n")
        return path

    def call(self, words, env, seconds=LONGEST):
        return calls.call(words, max(1, min(seconds, self.left())), env, self.folder)

    def run(self, name, *options, gpus=1, processes=1):
        """pp-run of an artifact. `gpus`: how many it sees; one is shared by all ranks."""
        what = " ".join([name, *options])
        start = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n",
                 processes] if processes > 1 else []
        try:
            done = self.call([*start, self.files / "bin/pp-run", self.files / f"pack/{name}.ppx",
                              "--device=cuda", "--quiet", *options],
                             self.environment(gpus, processes))
        except calls.TimedOut as late:
            raise calls.TimedOut(f"{what}: {late}") from None
        if done.returncode == OUT_OF_MEMORY:
            raise Skipped(done.stderr.strip())
        if done.returncode:
            raise Failed(f"{what}: exit {done.returncode}: {done.stderr.strip()[-1000:]}")

    def train(self, name, steps, *options, gpus=1, processes=1):
        """Losses, and milliseconds of the steps."""
        metrics = self.folder / "metrics.jsonl"
        self.run(name, f"--metrics={metrics}", f"--steps={steps}",
                 f"--data=text:{self.files / 'pack/text.txt'}", *options, gpus=gpus,
                 processes=processes)
        lines = [json.loads(line) for line in metrics.read_text().splitlines()]
        return [line["loss"] for line in lines], [line["ms"] for line in lines]

    def train_processes(self, name, steps, gpus):
        return self.train(name, steps, gpus=gpus, processes=gpus)

    def trace(self, name, steps, gpus=1):
        """The events of the last steps of a run whose launches are given one by one."""
        path = self.folder / "trace.json"
        self.run(name, "--graph=off", f"--trace={path}", f"--steps={steps}",
                 f"--data=text:{self.files / 'pack/text.txt'}", gpus=gpus)
        return json.loads(path.read_text())["traceEvents"]


def write_whole(path, text):
    """So that a reader never sees half of it."""
    beside = pathlib.Path(f"{path}.new")
    beside.write_text(text)
    os.replace(beside, path)


def unpack(archive, folder):
    """All that the file has; programs can be run."""
    with zipfile.ZipFile(archive) as its:
        its.extractall(folder)
    for program in (folder / "bin").iterdir():
        program.chmod(0o755)
