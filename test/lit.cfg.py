# Configuration of the compiler's lit tests.
# SPDX-License-Identifier: Apache-2.0
import os

import lit.formats

config.name = "pp"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.pp_binary_dir, "test")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.pp_binary_dir, "bin"), config.llvm_tools_dir, os.environ["PATH"]]
)
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input=fail"
# Tests verify after every pass; users, at the end of each level.
config.substitutions.append((r"(?<![\w./-])pp-opt(?= )", "pp-opt --verify-each"))
config.substitutions.append(("%opt-by-level", "pp-opt"))
config.substitutions.append(("%data", os.path.join(config.pp_source_dir, "examples", "data")))
config.substitutions.append(("%examples", os.path.join(config.pp_source_dir, "examples")))
config.substitutions.append(("%plugin", os.path.join(config.pp_binary_dir, "lib", "PPPlugin.so")))
