//===- Subject.h - a program that edits are made to -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact for GPUs. Out: a few steps of it on a device, over drawn
// inputs, and all bits that it leaves: outputs of every step, parameters and
// states of every rank.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_MUTANTS_SUBJECT_H
#define PP_TEST_GPU_MUTANTS_SUBJECT_H

#include "pprt/StreamDevice.h"

namespace pprt::mutants {

struct Bits {
  uint64_t sum = 0; ///< of all bits, in order
};

/// Runs the setup, the steps and the teardown.
Expected<Bits> runSubject(std::shared_ptr<const ppx::ArtifactT> artifact,
                          std::shared_ptr<enqueued::StreamDevice> device,
                          bool records);

} // namespace pprt::mutants

#endif // PP_TEST_GPU_MUTANTS_SUBJECT_H
