//===- ExecutionModel.h - data for the reference executor -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels for tests: each output byte depends on every input byte, their order,
// the micro-batch and the step, so that no two different executions end with
// the same memory.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RUNTIME_EXECUTIONMODEL_H
#define PP_TEST_RUNTIME_EXECUTIONMODEL_H

#include "pprt/Execution.h"
#include "reference/Executor.h"

namespace pprt::test {

/// Options with hashing kernels and loads of distinct values.
reference::Options hashingOptions(uint64_t seed, bool watchMemory = true);
/// The same on devices of a kind, whose ranks issue in the order that the
/// checks find. The artifact must pass the checks.
reference::Options issuedOptions(const ppx::ArtifactT &artifact,
                                 reference::DeviceModel model, uint64_t seed,
                                 bool watchMemory = true);

/// Functions with the ABI of compiled kernels that do the same as `options`,
/// for the few kernels of one artifact at a time. Both must outlive their use.
void useModelKernels(const ppx::ArtifactT &artifact,
                     const reference::Options &options);
/// Finds these functions; a KernelResolver.
void *resolveModelKernel(const std::string &symbol);

} // namespace pprt::test

#endif // PP_TEST_RUNTIME_EXECUTIONMODEL_H
