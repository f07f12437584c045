//===- Shards.h - between a global tensor and its shards --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A global tensor is padded so that every dimension divides by the mesh axes
// that split it; a shard is a box of the padded tensor. Global buffers on the
// host hold only the real elements. Shards have zeros as padding.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_SHARDS_H
#define PPRT_ENGINE_SHARDS_H

#include "pprt/Initialize.h"
#include "pprt/Mesh.h"
#include "pprt/Rows.h"

#include <array>
#include <cstddef>

namespace pprt {

/// Distribution of a tensor of the artifact over the mesh. Only the constructor
/// allocates: steps call the other functions.
class ShardedTensor {
public:
  /// The session refuses tensors with more dimensions.
  static constexpr size_t kMaxDimensions = 8;
  using Index = std::array<uint64_t, kMaxDimensions>;

  /// `T` is ppx::ArgumentT or ppx::OutputT.
  template <typename T>
  ShardedTensor(const T &tensor, const ppx::ArtifactT &artifact)
      : ShardedTensor(tensor.shape, tensor.padded_shape, tensor.sharding,
                      tensor.element, artifact) {}

  /// Bytes of the real elements, dense.
  uint64_t globalBytes() const;
  uint64_t elementCount() const;
  /// Bytes of a shard, padding included.
  uint64_t shardBytes() const;
  /// Size of a dimension of a shard, padding included.
  uint64_t sizeOf(size_t dimension) const { return extent[dimension]; }

  /// Returns the first index of a rank's shard in every dimension. `microBatch`
  /// selects the shard over the time axes.
  Index origin(const Mesh &mesh, uint32_t rank, int32_t microBatch) const;

  /// Returns the real elements of the shard at `origin`, in the fewest runs
  /// that are contiguous in both tensors; sets padding to zeros.
  std::vector<ElementRun> runs(const Index &origin, std::byte *shard) const;
  /// Fills the shard at `origin` from the global buffer, padding with zeros.
  void scatter(const Index &origin, const std::byte *global,
               std::byte *shard) const {
    scatter(origin, shape.data(), global, shard);
  }
  /// The same for a batch of which `global` has only these rows, packed;
  /// `batch` is the dimension that counts them; -1: it has no rows.
  void scatter(const Index &origin, int32_t batch, const Rows &rows,
               const std::byte *global, std::byte *shard) const;
  /// Returns the sizes of the part of the shard at `origin` that is real; any
  /// may be 0.
  std::vector<uint64_t> realSize(const Index &origin) const;
  /// Copies that part, row-major.
  void pack(const Index &origin, const std::byte *shard,
            std::byte *values) const;
  /// Copies the real elements of the shard at `origin` to the global buffer.
  void gather(const Index &origin, const std::byte *shard,
              std::byte *global) const;

private:
  ShardedTensor(
      const std::vector<uint64_t> &shape, const std::vector<uint64_t> &padded,
      const std::vector<std::unique_ptr<ppx::DimensionAxesT>> &sharding,
      ppx::ElementType element, const ppx::ArtifactT &artifact);

  /// Calls row(global offset, shard offset, real elements) for every innermost
  /// row of the shard, offsets in bytes of a global tensor of these sizes; rows
  /// of padding have no elements.
  template <typename Function>
  void forEachRow(const Index &origin, const uint64_t *sizes,
                  Function &&row) const;
  void scatter(const Index &origin, const uint64_t *sizes,
               const std::byte *global, std::byte *shard) const;

  std::vector<uint64_t> shape;  ///< without padding
  std::vector<uint64_t> extent; ///< of a shard
  uint64_t width;               ///< bytes of an element
  /// One mesh axis that splits a dimension.
  struct Split {
    uint32_t axis, size;
  };
  std::vector<std::vector<Split>> splits; ///< by dimension, major to minor
};

} // namespace pprt

#endif // PPRT_ENGINE_SHARDS_H
