//===- Prediction.h - what a step will need, before any is made -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact that passed the checks, and the figures of a machine. Out:
// memory, communication and time of one step, from the instruction lists alone.
// Nothing is allocated, compiled or run. Reports of runs take their predicted
// half from here.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PREDICT_PREDICTION_H
#define PP_PREDICT_PREDICTION_H

#include "pp/Schedule/Simulate.h"
#include "pp/Schedule/Topology.h"
#include "pprt/Communication.h"
#include "pprt/DeviceMemory.h"
#include "pprt/MemoryUse.h"
#include "pprt/Replay.h"

#include <string>
#include <vector>

namespace pp::predict {

/// What all ranks of one program have in common.
struct ProgramPrediction {
  std::string name;
  std::vector<uint32_t> ranks;
  pprt::MemoryUse memory;
  std::vector<pprt::Traffic> traffic;
  /// Names, in the model's order, and elements of the whole parameters.
  std::vector<std::string> parameters;
  uint64_t parameterElements = 0;
  /// What its kernels take in a step.
  double computeSeconds = 0;
};

struct Prediction {
  std::vector<ProgramPrediction> programs;
  /// By rank, of memory behind its arena; empty where none has any.
  std::vector<uint64_t> staging;
  /// As the plan has them: where stages 1, 2, ... begin.
  std::vector<uint64_t> cuts;
  /// Of every rank's compute queue, the idle share of a step.
  double bubble = 0;
  pprt::TravelTime travel;
  double stepSeconds = 0;
  /// Forward and backward actions, a row for each program.
  schedule::Schedule schedule;
  schedule::Timeline timeline;
};

/// The machine of the links and rates that the artifact's plan names.
schedule::Topology topologyOf(const pprt::ppx::ArtifactT &artifact);

/// What an instruction takes. The two ends of a transfer, and all members of a
/// collective, take the longest of theirs.
double secondsOf(const pprt::ppx::ArtifactT &artifact, const pprt::Mesh &mesh,
                 const pprt::ppx::ProgramT &program,
                 const pprt::ppx::InstructionT &instruction,
                 const schedule::Topology &topology);

Prediction predict(const pprt::ppx::ArtifactT &artifact,
                   const pprt::Mesh &mesh);

/// Of a rank of the program: with its staging.
pprt::MemoryUse memoryOf(const Prediction &prediction,
                         const ProgramPrediction &program, uint32_t rank);

/// Tables and a drawing for people, at most about `columns` wide where names
/// allow it.
std::string print(const Prediction &prediction,
                  const pprt::ppx::ArtifactT &artifact, unsigned columns = 100);

/// `10 GB/s and 10 us`, of all links.
std::string printLinks(const schedule::Topology &topology);

/// A table of what a device's memory is for.
std::string print(const pprt::DeviceMemory &memory);

/// Whether its kernels run on GPUs, where ranks have no threads.
bool isForGpus(const pprt::ppx::ArtifactT &artifact);

} // namespace pp::predict

#endif // PP_PREDICT_PREDICTION_H
