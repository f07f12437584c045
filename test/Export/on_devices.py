"""JAX with several devices of the processor, for the tests beside this file.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test/EndToEnd"), str(ROOT / "test/Python")]
import peers  # noqa: E402


def start(count, *packages):
    """Returns with `count` devices and values of 64 bits; ends where a package is missing."""
    peers.need("jax", "numpy", *packages)
    # What is compiled runs once or twice.
    os.environ["XLA_FLAGS"] = (f"--xla_force_host_platform_device_count={count} "
                               "--xla_backend_optimization_level=0 "
                               "--xla_llvm_disable_expensive_passes=true")
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    jax.config.update("jax_enable_x64", True)
