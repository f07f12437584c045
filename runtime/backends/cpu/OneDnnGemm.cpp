//===- OneDnnGemm.cpp - a matrix product by oneDNN's sgemm ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes matrices with gaps in place. The library packs its operands
// into one block that it allocates in every call and frees before it returns;
// the scratchpad is lent for it.
//
//===----------------------------------------------------------------------===//
#include "MatrixProduct.h"
#include "OneThread.h"
#include "pprt/Lack.h"
#include "pprt/Lending.h"

#include <dnnl.h>

#include <mutex>
#include <vector>

using namespace pprt;
using namespace pprt::cpu;

namespace {

/// Kernels that oneDNN 2.6.3 generates at its first calls and keeps are
/// smaller.
constexpr uint64_t kGemmKeeps = 16000;

class OneDnnGemm final : public MatrixProduct {
public:
  explicit OneDnnGemm(const ProductShape &shape) : shape(shape) {}

  void run(const void *lhs, const void *rhs, void *out,
           std::byte *scratchpad) const override {
    const Lending scope(scratchpad, scratchpadBytes(), kGemmKeeps);
    const OneThread thread; // libgomp makes notes, too
    const auto order = [](const FactorLayout &factor) {
      return factor.transposed ? 'T' : 'N';
    };
    dnnl_sgemm(order(shape.lhs), order(shape.rhs), dnnl_dim_t(shape.rows),
               dnnl_dim_t(shape.columns), dnnl_dim_t(shape.steps),
               float(shape.alpha), static_cast<const float *>(lhs),
               dnnl_dim_t(shape.lhs.leading), static_cast<const float *>(rhs),
               dnnl_dim_t(shape.rhs.leading), shape.add ? 1.0f : 0.0f,
               static_cast<float *>(out), dnnl_dim_t(shape.outLeading));
  }
  uint64_t scratchpadBytes() const override {
    return rulesOf(ppx::MatrixLibrary_onednn_gemm).scratchpadBytes(shape);
  }

private:
  const ProductShape shape;
};

} // namespace

std::unique_ptr<MatrixProduct>
cpu::createOneDnnGemm(const ProductShape &shape) {
  return std::make_unique<OneDnnGemm>(shape);
}

/// Out of memory, the library calls kernels that it has not generated.
Status cpu::generateGemm() {
  static std::mutex mutex;
  static bool isDone = false;
  std::lock_guard<std::mutex> lock(mutex);
  if (isDone)
    return {};
  constexpr uint64_t room = 32 << 20;
  if (!hasRoom(room))
    return findLack("oneDNN", room, {});
  const OneThread thread;
  constexpr dnnl_dim_t size = 16;
  const std::vector<float> in(size * size);
  std::vector<float> out(size * size);
  dnnl_sgemm('N', 'N', size, size, size, 1, in.data(), size, in.data(), size, 0,
             out.data(), size);
  isDone = true;
  return {};
}
