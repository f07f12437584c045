#!/usr/bin/env python3
# python_docs.py - the examples of the docs, as they stand there.
#
# SPDX-License-Identifier: Apache-2.0
#
# Runs the Python of README.md and docs/Python.md, a page in one process. Needs
# torch and transformers; without them it is skipped.
"""Runs examples."""
import os
import re
import subprocess
import sys
import tempfile

import peers

peers.need("torch", "transformers", "safetensors")

failed = 0
for page in "README.md", "docs/Python.md":
    with open(os.path.join(peers.ROOT, page), encoding="utf-8") as file:
        code = "\n".join(re.findall(r"^```python\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL))
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=250,
                              env=os.environ | {"PYTHONPATH": os.path.abspath(os.path.join(peers.ROOT, "python"))})
    works = done.returncode == 0 and bool(done.stdout.strip())
    print(f"{page}: {'ok' if works else 'FAILS'}\n{done.stdout[-500:]}{'' if works else done.stderr[-3000:]}", flush=True)
    failed += not works
sys.exit(failed)
