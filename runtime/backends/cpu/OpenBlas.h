//===- OpenBlas.h - OpenBLAS, loaded when it is needed ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// OpenBLAS starts its threads when it is loaded, and they spin for a while. So
// it is not linked: artifacts that need it load it, with one thread. A program
// that already has it shares it, and its number of threads.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_OPENBLAS_H
#define PPRT_BACKENDS_CPU_OPENBLAS_H

#include "pprt/Status.h"

#include <cblas.h>

#include <memory>

namespace pprt::cpu {

struct OpenBlas {
  decltype(&cblas_sgemm) sgemm = nullptr;
  decltype(&cblas_dgemm) dgemm = nullptr;
};

/// Loads the library at the first call. Fails (io) if there is none.
const Expected<OpenBlas> &openBlas();

/// The library keeps a buffer for each product that is computed at a time, and
/// retries mapping one for ever if memory runs out. So a caller reserves
/// buffers for its products in advance, for as long as it holds the result.
/// Returns null if the library has not been loaded; fails (outOfMemory).
Expected<std::shared_ptr<const void>> reserveBuffers(unsigned products);

/// Held while a product is computed. The library has a fixed number of buffers,
/// and ends the process if more are in use: so surplus products wait for others
/// to end.
class ProductTurn {
public:
  ProductTurn();
  ~ProductTurn();
  ProductTurn(const ProductTurn &) = delete;
  ProductTurn &operator=(const ProductTurn &) = delete;

private:
  const bool isCounted;
};

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_OPENBLAS_H
