//===- CheckpointFiles.h - names in a checkpoint ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Folders of steps and of checkpoints are in CheckpointFolder.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_CHECKPOINTFILES_H
#define PPRT_HOST_CHECKPOINTFILES_H

#include <cstdint>
#include <string>

namespace pprt::host {

inline constexpr char kIndexFile[] = "index.json";
inline constexpr char kMetricsFile[] = "metrics.jsonl";
/// Metadata of a rank's file.
inline constexpr char kIdKey[] = "checkpoint", kDigestKey[] = "xxh3.";
inline constexpr uint64_t kMostIndexBytes = uint64_t(64) << 20;
/// A digest is of so many bytes of a tensor; those of all its pieces follow
/// each other, of so many digits each.
inline constexpr uint64_t kPieceBytes = uint64_t(4) << 20, kDigits = 16;

/// Files that are written, and pieces that are read, at once: a digest is taken
/// of one while the disk is busy with another.
inline constexpr size_t kAtOnce = 2;

std::string rankFile(uint32_t rank);

} // namespace pprt::host

#endif // PPRT_HOST_CHECKPOINTFILES_H
