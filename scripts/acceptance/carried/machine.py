"""What this machine has: GPUs, NVIDIA's libraries, clocks and power.

SPDX-License-Identifier: Apache-2.0

libcuda is opened by name, as pp-run does it: an emulated library that is found in its
place answers, too, and is told by the symbol that only it has. cublasLt and NCCL
are in folders that Python's packages have brought, or where the system looks.
"""
import ctypes
import glob
import os
import pathlib
import site
import statistics
import subprocess
import sys
import threading
import time

# Where libraries may lie besides, the best first; each may have a star.
DRIVERS = ["/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu/nvidia/current",
           "/usr/lib/wsl/lib", "/run/opengl-driver/lib", "/usr/local/cuda/compat"]
TOOLKITS = ["/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib",
            "/usr/local/cuda-*/lib64", "/opt/nvidia/nccl/lib"]
# What rates are reached at best, in TFLOP/s, dense, by NVIDIA's datasheets.
PEAKS = {"A100": {"bf16": 312, "tf32": 156, "f32": 19.5},
         "H100": {"bf16": 989, "tf32": 494, "f32": 67},
         "H200": {"bf16": 989, "tf32": 494, "f32": 67},
         "GH200": {"bf16": 989, "tf32": 494, "f32": 67},
         "B200": {"bf16": 2250, "tf32": 1100, "f32": 75}}
READINGS = ["clocks.sm", "clocks.mem", "power.draw", "temperature.gpu"]


class NoGpu(Exception):
    pass


def opens(name, env):
    """Whether a program with this environment finds the library."""
    words = [sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", name]
    return subprocess.run(words, env=env, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def of_packages():
    """Folders of libraries that pip has brought, of this Python and of those beside it."""
    roots = [*sys.path, *site.getsitepackages(), site.getusersitepackages(),
             *glob.glob("/opt/*/lib/python3*/site-packages"),
             *glob.glob("/opt/*/.venv/lib/python3*/site-packages"),
             *glob.glob("/usr/lib/python3*/dist-packages"),
             *glob.glob("/usr/local/lib/python3*/*-packages")]
    for root in dict.fromkeys(roots):
        yield from sorted(glob.glob(f"{root}/nvidia/*/lib"), reverse=True)
        yield f"{root}/torch/lib"


def with_folder(env, folder):
    """What is there already comes first."""
    known = env.get("LD_LIBRARY_PATH")
    return {**env, "LD_LIBRARY_PATH": f"{known}:{folder}" if known else folder}


def find(env, names, folders):
    """The environment in which one of the libraries is found, and which; (env, None) if none.
    What the caller names comes first, then `folders`, then where the system looks."""
    named = [path for path in env.get("LD_LIBRARY_PATH", "").split(":") if path]
    found = [path for pattern in folders for path in sorted(glob.glob(pattern), reverse=True)]
    for folder in [*named, *found]:
        for name in names:
            its = env if folder in named else with_folder(env, folder)
            if (pathlib.Path(folder) / name).exists() and opens(name, its):
                return its, f"{folder}/{name}"
    return env, next((name for name in names if opens(name, env)), None)


def find_libraries(env):
    """An environment in which pp-run finds NVIDIA's libraries, and where they are."""
    env, driver = find(env, ["libcuda.so.1"], [])
    if not driver:
        env, driver = find(env, ["libcuda.so.1"], DRIVERS)
    if not driver:
        raise NoGpu("expects NVIDIA's driver, got no libcuda.so.1")
    seen = look(driver)
    blas = ["libcublasLt.so.13", "libcublasLt.so.12"][seen["cuda"] < "13":]
    folders = [*of_packages(), *TOOLKITS]  # PyTorch's own first, which it is compared by
    env, cublas = find(env, blas, folders)
    env, nccl = find(env, ["libnccl.so.2"], folders)
    return env, {"driver": driver, "cublasLt": cublas, "nccl": nccl}, seen


def look(name):
    """The GPUs, the driver's CUDA, and whether they are played."""
    try:
        driver = ctypes.CDLL(name)
    except OSError as error:
        raise NoGpu(f"expects NVIDIA's driver, got: {error}") from None

    def call(name, *arguments):
        code = getattr(driver, name)(*arguments)
        if code:
            raise NoGpu(f"expects a GPU of NVIDIA's; {name} fails with {code} (look at nvidia-smi "
                        "and CUDA_VISIBLE_DEVICES)")

    call("cuInit", 0)
    version, count = ctypes.c_int(), ctypes.c_int()
    call("cuDriverGetVersion", ctypes.byref(version))
    call("cuDeviceGetCount", ctypes.byref(count))
    gpus = []
    for number in range(count.value):
        device, name, total = ctypes.c_int(), ctypes.create_string_buffer(256), ctypes.c_size_t()
        level = [ctypes.c_int(), ctypes.c_int()]
        call("cuDeviceGet", ctypes.byref(device), number)
        call("cuDeviceGetName", name, 256, device)
        call("cuDeviceTotalMem_v2", ctypes.byref(total), device)
        for attribute, value in zip((75, 76), level):  # the compute capability's two
            call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
        gpus.append({"name": name.value.decode(), "memory_bytes": total.value,
                     "level": f"sm_{level[0].value}{level[1].value}"})
    if not gpus:
        raise NoGpu("expects a GPU of NVIDIA's, got none (look at nvidia-smi)")
    return {"gpus": gpus, "cuda": f"{version.value // 1000}.{version.value % 1000 // 10}",
            "emulated": hasattr(driver, "ppEmulator")}


def peak(name, kind):
    """FLOP/s that a GPU of this name has at best; None if it is not known."""
    for word in name.replace("-", " ").split():
        if word in PEAKS:
            return PEAKS[word][kind] * 1e12
    return None


def smi(query, *options):
    return ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits", *options]


def driver_release():
    """As nvidia-smi has it; None without it."""
    try:
        done = subprocess.run(smi("driver_version"), stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, universal_newlines=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.split("\n")[0].strip() or None


class Sampler:
    """Clocks and power of the first GPU, asked for four times a second."""

    def __init__(self):
        self.samples = []
        try:
            self.process = subprocess.Popen(
                smi(",".join(READINGS), "--id=0", "--loop-ms=250"), stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, universal_newlines=True)
        except OSError:
            self.process = None
            return
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            try:
                self.samples.append((time.monotonic(), [float(word) for word in line.split(",")]))
            except ValueError:  # [N/A]
                pass

    def since(self, begin):
        """Medians, and the most; None where there is no nvidia-smi."""
        rows = [values for when, values in self.samples if when >= begin]
        if not rows:
            return None
        return {name: {"median": statistics.median(column), "most": max(column)}
                for name, column in zip(READINGS, zip(*rows))}

    def end(self):
        if self.process:
            self.process.terminate()
            self.process.wait()

