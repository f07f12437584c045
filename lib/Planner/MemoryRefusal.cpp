//===- MemoryRefusal.cpp - what a memory limit would have to be -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The least limit is printed in the words of `memory-limit`, rounded up, so
// that it can be given back as it stands.
//
//===----------------------------------------------------------------------===//
#include "MemoryRefusal.h"
#include "pp/IR/Diagnostics.h"
#include "pprt/Bytes.h"
#include "pprt/Status.h"

using namespace mlir;
using namespace pp;

InFlightDiagnostic pp::refuseLimit(func::FuncOp main, int64_t limit,
                                   StringRef choice, ArrayRef<int64_t> peaks,
                                   StringRef advice) {
  InFlightDiagnostic error = main.emitError("memory-limit=")
                             << pprt::printLimit(limit) << " is met by no "
                             << choice << " that was tried: ";
  bool isFirst = true;
  for (auto [position, peak] : llvm::enumerate(peaks)) {
    if (peak <= limit)
      continue;
    error << (isFirst ? "" : ", ") << "a rank of position " << position << " "
          << "needs " << pprt::printLimit(peak) << " in the leanest";
    isFirst = false;
  }
  error << "; raise the limit, " << advice
        << "or split more (precision, zero, microbatches, pp, tp)";
  setExitCode(error, int(pprt::ExitCode::outOfMemory));
  return error;
}
