//===- Tiles.h - which elements the threads of a warp have ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Threads of a flat kernel have one run of neighbours each, one after another,
// which is as memory wants it where all tensors lie alike. Where one is read
// transposed, they would look into a sector of it each, and take a part. There
// a warp has a tile: as many elements along the dimension in which that tensor
// has neighbours as fill a sector, and runs beside each other.
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

/// Of a kernel's result, whose threads have runs of `width` elements. None if
/// all that it reads lies as it does, or does not divide into tiles.
std::optional<Tile> findTile(mlir::Value result, int64_t width);

/// The row-major place of the first element of run number `run`.
Index placeOfRun(IndexBuilder &indices, const Index &run,
                 mlir::RankedTensorType type, int64_t width, const Tile &tile);

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_TILES_H
