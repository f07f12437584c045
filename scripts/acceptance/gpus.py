"""Which GPUs there are, asked of the driver itself.

SPDX-License-Identifier: Apache-2.0

libcuda is opened by name, as pp-run does it: a stand-in that is found in its
place answers, too, and is told by the symbol that only it has.
"""
import ctypes
import subprocess


class NoGpu(Exception):
    pass


def look():
    """The GPUs, the driver's CUDA, and whether they are played."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
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
        call("cuDeviceGet", ctypes.byref(device), number)
        call("cuDeviceGetName", name, 256, device)
        call("cuDeviceTotalMem_v2", ctypes.byref(total), device)
        gpus.append({"name": name.value.decode(), "memory_bytes": total.value})
    if not gpus:
        raise NoGpu("expects a GPU of NVIDIA's, got none (look at nvidia-smi)")
    return {"gpus": gpus, "cuda": f"{version.value // 1000}.{version.value % 1000 // 10}",
            "emulated": hasattr(driver, "ppStandIn")}


def driver_release():
    """As nvidia-smi has it; None without it."""
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                              capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.split("\n")[0].strip() or None
