#!/usr/bin/env python3
"""Rehearses the file of scripts/gpu-acceptance on a machine that is as bare as can be.

SPDX-License-Identifier: Apache-2.0

On one emulated GPU, and beside it on eight: in an empty folder, with no
environment but the emulated library of libcuda on the library path and those of cublasLt and NCCL
in folders as pip makes them; the build, CUDA, LLVM and what the runtime links besides
are hidden where a mount namespace is allowed. Every part ends, all strategies of every
family compute what the whole model does, in many orders of those that CUDA leaves
open, with equal bits. Then a file whose expected values are changed fails; a program that
hangs or ends its process leaves the others judged; who is cut off has a result; what
cannot begin is told in one line.

  acceptance.py --emulators=build/test/gpu/lib --file=FILE.pyz [--hide=FOLDER...]
"""
import argparse
import concurrent.futures
import glob
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

MOST_BYTES, MOST_SECONDS = 60 << 20, 300
# What every Linux has, beside what the file has itself.
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
          "ld-linux-x86-64.so.2", "libmpi.so.40"}
PARTS = ["training", "speed", "launches", "matrix", "deep", "nccl", "several", "device"]
# In worker.py: one program hangs, the next one ends the process.
WORKER = b"""    if job["program"].endswith("000"):
        time.sleep(600)
    if job["program"].endswith("001"):
        __import__("os").abort()
"""


def hidden(folders):
    """What a bare machine has not."""
    found = [path for folder in folders for path in glob.glob(folder)]
    for name in "libdnnl.so*", "libOpenCL.so*", "libopenblas*.so*", "libLLVM*", "libMLIR*":
        found += glob.glob(f"/usr/lib/x86_64-linux-gnu/**/{name}", recursive=True)
    return sorted({os.path.realpath(path) for path in found})


def hide(folders):
    """Words in front of a command."""
    lines = [f"mount -t tmpfs none '{path}'" if os.path.isdir(path) else
             f"mount --bind /dev/null '{path}'" for path in hidden(folders)]
    words = ["unshare", "--mount", "sh", "-ec", "; ".join([*lines, 'exec "$@"']), "sh"]
    if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL).returncode == 0:
        return words
    print("nothing is hidden, as this sandbox forbids a mount namespace")
    return []


class Rehearsal:
    def __init__(self, args, folder):
        self.args, self.folder, self.errors = args, folder, []
        self.driver, self.site = folder / "driver", folder / "site"
        self.driver.mkdir()
        shutil.copy(args.emulators / "libcuda.so.1", self.driver)
        for library, package in ("libcublasLt.so.13", "cu13"), ("libnccl.so.2", "nccl"):
            lib = self.site / f"nvidia/{package}/lib"
            lib.mkdir(parents=True)
            shutil.copy(args.emulators / library, lib)
        self.front, self.count = hide(args.hide), 0

    def words(self, file, *options, settings="", env=()):
        """A command in a folder of its own, with hardly any environment."""
        self.count += 1
        folder = self.folder / f"run{self.count}"
        folder.mkdir()
        (folder / "emulated").write_text(f"seed {self.count + 2}\n{settings}\n")
        its = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": self.driver, "PYTHONPATH": self.site,
               "PP_EMULATED": folder / "emulated", **dict(env)}
        return folder, [*self.front, "env", "-i", *(f"{key}={value}" for key, value in its.items()),
                        sys.executable, file, *options]

    def run(self, file, *options, **how):
        """The call, what it wrote, and its seconds."""
        folder, words = self.words(file, *options, **how)
        begun = time.monotonic()
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=500)
        written = folder / "pp-acceptance/acceptance.json"
        result = json.loads(written.read_text()) if written.exists() else None
        return done, result, time.monotonic() - begun

    def expect(self, what, is_right, done):
        if not is_right:
            self.errors.append(f"{what}: exit {done.returncode}\n{done.stdout}{done.stderr}")

    def check_file(self):
        """Its size, and that what it links is in it."""
        size = self.args.file.stat().st_size
        print(f"{size / (1 << 20):.1f} MiB")
        if size > MOST_BYTES:
            self.errors.append(f"expects a file of at most {MOST_BYTES} bytes, got {size}")
        with zipfile.ZipFile(self.args.file) as archive:
            archive.extractall(self.folder / "file")
        carried = [path for part in ("bin", "lib", "others")
                   for path in (self.folder / "file" / part).iterdir()]
        has = SYSTEM | {path.name for path in carried}
        for path in carried:
            said = subprocess.run(["readelf", "-d", path], capture_output=True, text=True).stdout
            lacks = {line.split("[")[1].rstrip("]") for line in said.splitlines()
                     if "(NEEDED)" in line} - has
            if lacks:
                self.errors.append(f"{path.name}: expects its libraries in the file, got none of "
                                   f"{sorted(lacks)}")

    def check_all(self):
        """One GPU and eight, side by side."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            one = pool.submit(self.run, self.args.file)
            eight = pool.submit(self.run, self.args.file, "--parts=nccl,several",
                                settings="devices 8")
        for what, (done, result, seconds) in ("one GPU", one.result()), ("eight", eight.result()):
            print(f"{what}, {seconds:.1f} s:\n{done.stdout}", end="")
            self.expect(what, done.returncode == 0 and result and seconds < MOST_SECONDS, done)
            if done.returncode or not result:
                return
            self.expect(f"{what}: a emulated GPU", result["emulated"] and
                        result["device"].startswith("emulated: "), done)
            self.expect(f"{what}: libraries of Python's packages", all(
                result["libraries"][name].startswith(str(self.site))
                for name in ("cublasLt", "nccl")), done)
        self.check_parts(one.result()[1]["parts"], eight.result()[1]["parts"], one.result()[0])
        table = (self.folder / "run1/pp-acceptance/acceptance.md").read_text()
        self.expect("a table of all parts", all(f"| {name} |" in table for name in PARTS),
                    one.result()[0])

    def check_parts(self, one, eight, done):
        self.expect("all parts", list(one) == PARTS, done)
        for name in "nccl", "several":
            self.expect(f"{name} of one GPU", "expects 2 GPUs" in one[name].get("why", ""), done)
        judged = one["matrix"]["figures"], eight["nccl"]["figures"]
        self.expect("every strategy, in one process", all(
            of["right"] == of["programs"] > 12 and of["processes"] == 1 for of in judged), done)
        runs = max(len(check.get("digests", [])) for check in one["matrix"]["seen"])
        self.expect("many orders", runs >= 3, done)
        self.expect("launches", all(sum(of["launches"].values()) > 50 and of["kernels"]
                                    for of in one["launches"]["figures"].values()), done)
        plans = [check["plan"] for check in one["deep"]["seen"]]
        self.expect("deep models under tp", sum("tp=" in plan for plan in plans) >= 3, done)
        ranks = {of["gpus"] for of in eight["several"]["figures"].values()}
        self.expect("plans of several GPUs", {1, 2, 4, 8} <= ranks, done)
        if shutil.which("mpirun", path="/usr/bin:/bin"):
            self.expect("processes", "scaled-2 by processes" in eight["several"]["figures"], done)

    def change(self, edits, few=0):
        """A file with entries that are others: edits of bytes by name. `few`: so many programs
        are judged, in two runs."""
        def judge_few(data):
            manifest = json.loads(data)
            manifest["judged"] = [{**entry, "runs": 2} for entry in manifest["judged"][:few]]
            return json.dumps(manifest).encode()

        edits = {**edits, "pack/manifest.json": judge_few}
        self.count += 1
        changed = self.folder / f"changed{self.count}.pyz"
        with zipfile.ZipFile(self.args.file) as source, zipfile.ZipFile(changed, "w") as target:
            for name in source.namelist():
                data = source.read(name)
                target.writestr(name, edits[name](data) if name in edits else data)
        return changed

    def check_wrong_values(self):
        """Some value elsewhere by 2^-24 of itself, of what SGD trains; what Adam trains may be
        elsewhere by 2^-28, and not by half of itself."""
        with zipfile.ZipFile(self.args.file) as archive:
            judged = json.loads(archive.read("pack/manifest.json"))["judged"]
        for entry, place, bit, fails in (judged[0], -2, 1, True), (judged[1], -5, 16, True), \
                (judged[0], -5, 1, False):
            def edit(data):
                data = bytearray(data)
                data[place] ^= bit
                return bytes(data)
            changed = self.change({f"pack/{entry['expected']}.safetensors": edit}, few=2)
            done, result, _ = self.run(changed, "--parts=matrix")
            failed = [c["program"] for c in result["parts"]["matrix"]["failed"]] if result else []
            self.expect(f"other values of {entry['program']}", done.returncode == int(fails) and
                        failed == [entry["program"]] * fails, done)

    def check_ends(self):
        """One program hangs, one ends its process, one has no room."""
        head = b"    try:\n        for graph"
        file = self.change({"worker.py": lambda data: data.replace(head, WORKER + head),
                            "matrix.py": lambda data: data.replace(b"PATIENCE = 120",
                                                                   b"PATIENCE = 2")}, few=3)
        done, result, seconds = self.run(file, "--parts=matrix")
        part = result["parts"]["matrix"] if result else {"failed": [], "figures": {}}
        self.expect("programs that hang and end", done.returncode == 1 and seconds < 60 and
                    ["not over after" in c["got"] or "exit -6" in c["got"]
                     for c in part["failed"]] == [True, True] and
                    (part["figures"]["right"], part["figures"]["processes"]) == (1, 3), done)
        done, result, _ = self.run(self.args.file, "--parts=matrix,training",
                                   settings="memory 60000")
        skipped = [part["result"] for part in result["parts"].values()] if result else []
        self.expect("no room", done.returncode == 0 and skipped == ["skipped", "skipped"], done)

    def check_cut_off(self):
        """By the time that is given, and by a signal: what was seen is there, nothing is left."""
        done, result, seconds = self.run(self.args.file, "--minutes=0.02")
        self.expect("little time", done.returncode == 0 and seconds < 30 and
                    "no time is left" in done.stdout and list(result["parts"]) == PARTS, done)
        folder, words = self.words(self.args.file, "--parts=matrix")
        written = folder / "pp-acceptance/acceptance.json"
        process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        seen, end = [], time.monotonic() + 100
        while len(seen) < 2 and time.monotonic() < end:
            time.sleep(0.05)
            if written.exists():
                parts = json.loads(written.read_text()).get("parts", {})
                seen = parts.get("matrix", {}).get("seen", [])
        process.send_signal(signal.SIGTERM)
        out, error = process.communicate(timeout=60)
        result = json.loads(written.read_text())
        self.expect("a signal", process.returncode == 143 and
                    len(result["parts"]["matrix"]["seen"]) >= 2 and
                    (folder / "pp-acceptance/acceptance.md").exists(),
                    subprocess.CompletedProcess(words, process.returncode, out, error))
        left = [path for path in glob.glob("/proc/[0-9]*/environ") if has(path, str(folder))]
        self.expect(f"nothing is left, got {left}", not left, process)

    def check_refusals(self):
        """What cannot begin is told in one line."""
        bare = {"PYTHONPATH": self.folder}
        file = self.args.file
        for what, code, says, done_and_result in (
                ("no GPU", 15, "nvidia-smi", self.run(file, settings="devices 0")),
                ("none that is seen", 15, "nvidia-smi",
                 self.run(file, env={"CUDA_VISIBLE_DEVICES": "-1"})),
                ("an older GPU", 15, "expects a GPU of sm_90",
                 self.run(file, settings="capability 80")),
                ("no driver", 15, "no libcuda.so.1",
                 self.run(file, env={"LD_LIBRARY_PATH": self.folder})),
                ("no cublasLt", 15, "expects cublasLt", self.run(file, env=bare)),
                ("an unknown part", 2, "expects some of", self.run(file, "--parts=fast")),
                ("an unknown option", 2, "--fast", self.run(file, "--fast")),
                ("no time", 2, "--minutes expects", self.run(file, "--minutes=0")),
                ("nowhere to write", 2, "can be written", self.run(file, "--out=/proc/none"))):
            if what in ("no cublasLt", "no driver") and not self.front:
                continue  # this machine may have one
            done, result, _ = done_and_result
            self.expect(what, done.returncode == code and not result and
                        len(done.stderr.splitlines()) == 1 and says in done.stderr, done)


def has(path, word):
    try:
        return word in pathlib.Path(path).read_text(errors="replace")
    except OSError:  # the process has ended
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in "--emulators", "--file":
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--hide", nargs="*", default=[], help="folders")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(args.file, folder)
        args.file = pathlib.Path(folder, args.file.name)
        rehearsal = Rehearsal(args, pathlib.Path(folder))
        for check in (rehearsal.check_file, rehearsal.check_all, rehearsal.check_wrong_values,
                      rehearsal.check_ends, rehearsal.check_cut_off, rehearsal.check_refusals):
            begun = time.monotonic()
            check()
            print(f"{check.__name__}: {time.monotonic() - begun:.1f} s")
    for error in rehearsal.errors:
        print(error)
    return 1 if rehearsal.errors else 0


if __name__ == "__main__":
    sys.exit(main())
