//===- Tiles.h - tiles of a warp --------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each thread of a flat kernel has a run of neighbours, one thread after
// another, which suits memory if all tensors have one order. If one is read
// transposed, each thread would read a part of another sector. Then a warp has
// a tile: as many elements along the tensor's neighbouring dimension as fill a
// sector, times parallel runs.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_GPU_TILES_H
#define PP_LIB_TARGET_GPU_TILES_H

#include "Indices.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace pp::gpu {

/// The lanes of a warp: `across` along `dim`, the others along `runs`, the
/// dimension of runs.
struct Tile {
  int64_t dim = 0, runs = 0, across = 1;
};

/// The tile of a kernel's result, whose threads have runs of `width` elements.
/// None if everything that it reads has its order, or does not divide into
/// tiles.
std::optional<Tile> findTile(mlir::Value result, int64_t width);

/// The row-major place of the first element of run number `run`.
Index placeOfRun(IndexBuilder &indices, const Index &run,
                 mlir::RankedTensorType type, int64_t width, const Tile &tile);

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_TILES_H
