//===- Prediction.h - predicts a step ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact that passed the checks, and the figures of a machine. Out:
// memory, communication and time of one step, from the instruction lists alone.
// Nothing is allocated, compiled or run.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PREDICT_PREDICTION_H
#define PP_PREDICT_PREDICTION_H

#include "pp/Predict/Durations.h"
#include "pp/Schedule/Simulate.h"
#include "pp/Schedule/Topology.h"
#include "pprt/Communication.h"
#include "pprt/DeviceMemory.h"
#include "pprt/MemoryUse.h"
#include "pprt/RankTimes.h"

#include <string>
#include <vector>

namespace pp::predict {

/// The prediction for all ranks of one program.
struct ProgramPrediction {
  std::string name;
  std::vector<uint32_t> ranks;
  pprt::MemoryUse memory;
  std::vector<pprt::Traffic> traffic;
  /// Names, in the model's order, and elements of the whole parameters.
  std::vector<std::string> parameters;
  uint64_t parameterElements = 0;
  /// Time of its kernels in a step.
  double computeSeconds = 0;
};

/// The prediction for ranks of one program that do the same at the same time.
struct ClassPrediction {
  std::vector<uint32_t> ranks;
  pprt::RankTimes times;
  /// The most pairs of stage and micro-batch of which residuals are held.
  unsigned setsInFlight = 0;
};

struct Prediction {
  explicit Prediction(const Durations &durations) : durations(durations) {}

  Durations durations;
  std::vector<ProgramPrediction> programs;
  /// Staging bytes by rank; empty if no rank has any.
  std::vector<uint64_t> staging;
  /// The plan's cuts: where stages 1, 2, ... begin.
  std::vector<uint64_t> cuts;
  /// The mean of all ranks.
  pprt::RankTimes times;
  double stepSeconds = 0;
  /// A longest chain of instructions that wait for each other, by what they do:
  /// the largest part first.
  std::vector<pprt::PathPart> criticalPath;
  std::vector<ClassPrediction> classes;
  /// When the instructions of each class run; empty for a program that does not
  /// end.
  pprt::Timeline instructions;
  /// Forward and backward actions, a row for each class.
  schedule::Schedule schedule;
  schedule::Timeline timeline;
};

/// The machine with the links and rates of the artifact's plan.
schedule::Topology topologyOf(const pprt::ppx::ArtifactT &artifact);

/// Duration of an instruction. The two ends of a transfer, and all members of a
/// collective, take as long as the slowest of them.
double secondsOf(const pprt::ppx::ArtifactT &artifact, const pprt::Mesh &mesh,
                 const pprt::Instruction &instruction,
                 const schedule::Topology &topology);

/// When each instruction runs. Nothing for a program that does not end.
std::optional<pprt::Timeline> timelineOf(const pprt::Players &players,
                                         const Durations &durations);

/// With the durations that the plan's rates and links give.
Prediction predict(const pprt::ppx::ArtifactT &artifact,
                   const pprt::Mesh &mesh);
Prediction predict(const pprt::ppx::ArtifactT &artifact, const pprt::Mesh &mesh,
                   const Durations &durations);

/// Memory of a rank of the program, with its staging.
pprt::MemoryUse memoryOf(const Prediction &prediction,
                         const ProgramPrediction &program, uint32_t rank);

/// Tables and a drawing, about `columns` wide unless names are longer.
std::string print(const Prediction &prediction,
                  const pprt::ppx::ArtifactT &artifact, unsigned columns = 100);

/// All links: `10 GB/s and 10 us`.
std::string printLinks(const schedule::Topology &topology);

/// A table of the uses of a device's memory.
std::string print(const pprt::DeviceMemory &memory);

/// Whether its kernels run on GPUs, where ranks have no threads.
bool isForGpus(const pprt::ppx::ArtifactT &artifact);

} // namespace pp::predict

#endif // PP_PREDICT_PREDICTION_H
