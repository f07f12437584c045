//===- TrainingSteps.h - training steps in two ways -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes the same steps by a module's meaning, op by op in f64, and by the
// program of a module of level 4, on all ranks. Both start from the same
// arguments and tell the same things.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RANDOM_TRAININGSTEPS_H
#define PP_TEST_RANDOM_TRAININGSTEPS_H

#include "mlir/IR/BuiltinOps.h"
#include "pp/Reference/HostTensor.h"
#include "pprt/Status.h"
#include "pprt/host/Compare.h"
#include <map>
#include <string>

namespace pp::testing {

/// Loads the dialects of models, with all that passes want to know of ops.
void loadDialects(mlir::MLIRContext &context);

/// Global values by the argument's name. A module of level 1 starts with zeros
/// for what is not there.
using Arguments = std::map<std::string, reference::HostTensor>;

/// Takes `count` steps of `meaning`, a module of level 1, 2 or 3, in the
/// interpreter, and of `program`, one of level 4, on all ranks, and calls
/// `compare` after each. Every step of the interpreter starts from what the
/// program's last one left: else rounding would grow, and a kink of the model
/// be met on either side.
///
/// Fails, with a diagnostic too, where `meaning` has none: on copies that
/// should be equal and are not.
pprt::Status
takeSteps(mlir::ModuleOp meaning, mlir::ModuleOp program,
          const Arguments &arguments, int count,
          llvm::function_ref<void(const pprt::host::StepValues &ours,
                                  const pprt::host::StepValues &judged)>
              compare);

} // namespace pp::testing

#endif // PP_TEST_RANDOM_TRAININGSTEPS_H
