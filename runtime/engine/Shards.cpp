//===- Shards.cpp - between a global tensor and its shards ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Shards.h"
#include "pprt/Program.h"

#include <algorithm>
#include <cstring>

using namespace pprt;

ShardedTensor::ShardedTensor(
    const std::vector<uint64_t> &shape, const std::vector<uint64_t> &padded,
    const std::vector<std::unique_ptr<ppx::DimensionAxesT>> &sharding,
    ppx::ElementType element, const ppx::ArtifactT &artifact)
    : shape(shape), extent(padded.empty() ? shape : padded),
      width(elementSize(element)), splits(shape.size()) {
  for (size_t d = 0; d < std::min(shape.size(), sharding.size()); ++d)
    for (uint32_t axis : sharding[d]->axes) {
      splits[d].push_back({axis, artifact.axes[axis]->size});
      extent[d] /= artifact.axes[axis]->size;
    }
}

uint64_t ShardedTensor::elementCount() const {
  uint64_t count = 1;
  for (uint64_t size : shape)
    count *= size;
  return count;
}

uint64_t ShardedTensor::shardBytes() const {
  uint64_t bytes = width;
  for (uint64_t size : extent)
    bytes *= size;
  return bytes;
}

uint64_t ShardedTensor::globalBytes() const { return elementCount() * width; }

ShardedTensor::Index ShardedTensor::origin(const Mesh &mesh, uint32_t rank,
                                           int32_t microBatch) const {
  Index result = {};
  const auto time = uint32_t(std::max(microBatch, 0));
  for (size_t d = 0; d < shape.size(); ++d) {
    uint64_t block = 0;
    for (const Split &split : splits[d])
      block = block * split.size + (mesh.isTime(split.axis)
                                        ? mesh.timeCoordinate(time, split.axis)
                                        : mesh.coordinate(rank, split.axis));
    result[d] = block * extent[d];
  }
  return result;
}

template <typename Function>
void ShardedTensor::forEachRow(const Index &origin, const uint64_t *sizes,
                               Function &&row) const {
  const size_t rank = shape.size();
  if (rank == 0)
    return row(uint64_t(0), uint64_t(0), uint64_t(1));
  if (extent.back() == 0)
    return;
  uint64_t rows = 1;
  for (size_t d = 0; d + 1 < rank; ++d)
    rows *= extent[d];
  const uint64_t innermost = origin[rank - 1];
  const uint64_t real =
      innermost >= sizes[rank - 1]
          ? 0
          : std::min(extent[rank - 1], sizes[rank - 1] - innermost);
  Index index = {}; // index of the row in the shard
  for (uint64_t r = 0; r < rows; ++r) {
    uint64_t global = 0;
    bool inside = true;
    for (size_t d = 0; d + 1 < rank; ++d) {
      const uint64_t position = origin[d] + index[d];
      inside &= position < sizes[d];
      global = (global + position) * sizes[d + 1];
    }
    row((global + innermost) * width, r * extent[rank - 1] * width,
        inside ? real : 0);
    for (size_t d = rank - 1; d-- > 0 && ++index[d] == extent[d];)
      index[d] = 0;
  }
}

std::vector<ElementRun> ShardedTensor::runs(const Index &origin,
                                            std::byte *shard) const {
  std::vector<ElementRun> result;
  const uint64_t rowBytes = (extent.empty() ? 1 : extent.back()) * width;
  forEachRow(origin, shape.data(),
             [&](uint64_t from, uint64_t to, uint64_t real) {
               const uint64_t bytes = real * width;
               std::memset(shard + to + bytes, 0, rowBytes - bytes);
               if (real == 0)
                 return;
               if (!result.empty()) {
                 ElementRun &last = result.back();
                 if (last.first + last.count == from / width &&
                     last.values + last.count * width == shard + to) {
                   last.count += real;
                   return;
                 }
               }
               result.push_back({from / width, real, shard + to});
             });
  return result;
}

void ShardedTensor::scatter(const Index &origin, const uint64_t *sizes,
                            const std::byte *global, std::byte *shard) const {
  const uint64_t rowBytes = (extent.empty() ? 1 : extent.back()) * width;
  forEachRow(origin, sizes, [&](uint64_t from, uint64_t to, uint64_t real) {
    const uint64_t bytes = real * width;
    if (bytes != 0)
      std::memcpy(shard + to, global + from, bytes);
    std::memset(shard + to + bytes, 0, rowBytes - bytes);
  });
}

void ShardedTensor::scatter(const Index &origin, int32_t batch,
                            const Rows &rows, const std::byte *global,
                            std::byte *shard) const {
  if (batch < 0 || shape.empty())
    return scatter(origin, global, shard);
  Index packed = origin, sizes = {};
  std::copy(shape.begin(), shape.end(), sizes.begin());
  // A shard's rows are contiguous, so all of them are in one range.
  packed[batch] -= rows.skippedBefore(origin[batch]);
  sizes[batch] = rows.count();
  scatter(packed, sizes.data(), global, shard);
}

void ShardedTensor::gather(const Index &origin, const std::byte *shard,
                           std::byte *global) const {
  forEachRow(origin, shape.data(),
             [&](uint64_t to, uint64_t from, uint64_t real) {
               if (real != 0)
                 std::memcpy(global + to, shard + from, real * width);
             });
}

std::vector<uint64_t> ShardedTensor::realSize(const Index &origin) const {
  std::vector<uint64_t> size(shape.size());
  for (size_t d = 0; d < shape.size(); ++d)
    size[d] = std::min(extent[d], shape[d] - std::min(shape[d], origin[d]));
  return size;
}

void ShardedTensor::pack(const Index &origin, const std::byte *shard,
                         std::byte *values) const {
  forEachRow(origin, shape.data(), [&](uint64_t, uint64_t from, uint64_t real) {
    if (real != 0)
      std::memcpy(values, shard + from, real * width);
    values += real * width;
  });
}
