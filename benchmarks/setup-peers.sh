#!/usr/bin/env bash
# setup-peers.sh - installs the peers of benchmarks and tests into .venv-peers/.
#
# SPDX-License-Identifier: Apache-2.0
#
# Everything comes from PyPI. Its torch wheel links CUDA libraries even when it
# runs on the CPU, so about 6 GB are needed. torch.compile also needs g++. The test
# `watch` reads files with TensorBoard.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
venv=${1:-$root/.venv-peers}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet torch transformers jax flax optax numpy safetensors mkl tensorboard tokenizers
"$venv/bin/python" -c '
import jax, torch
print("torch", torch.__version__, "jax", jax.__version__)'
