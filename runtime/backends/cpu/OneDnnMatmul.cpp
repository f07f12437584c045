//===- OneDnnMatmul.cpp - a matrix product by oneDNN's matmul
//--------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// oneDNN's matmul primitive, with the caller's scratchpad. It is created for
// one thread and then computes on the thread that calls it.
//
// The library's exceptions are off, so that its C++ interface traps when a call
// fails. Arguments here are always well-formed and creation may return nothing,
// so that a call fails only in a process without memory.
//
//===----------------------------------------------------------------------===//
#include "MatrixProduct.h"
#include "OneThread.h"
#include "pprt/Lending.h"

#define DNNL_ENABLE_EXCEPTIONS 0
#include <dnnl.hpp>
#include <string_view>
#include <unordered_map>

using namespace pprt;
using namespace pprt::cpu;
using dnnl::memory;

namespace {

/// A call's allocations that describe its operands are smaller.
constexpr uint64_t kMatmulKeeps = 4096;

const dnnl::engine &processor() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory::desc describe(uint64_t rows, uint64_t columns, FactorLayout layout,
                      memory::data_type type) {
  const auto leading = memory::dim(layout.leading);
  return {{memory::dim(rows), memory::dim(columns)},
          type,
          layout.transposed ? memory::dims{1, leading}
                            : memory::dims{leading, 1}};
}

class OneDnnProduct final : public MatrixProduct {
public:
  explicit OneDnnProduct(const dnnl::matmul::primitive_desc &description)
      : primitive(description), lhs(description.src_desc()),
        rhs(description.weights_desc()), out(description.dst_desc()),
        scratch(description.scratchpad_desc()) {}

  void run(const void *left, const void *right, void *result,
           std::byte *scratchpad) const override {
    const Lending scope(nullptr, 0, kMatmulKeeps);
    dnnl::stream stream(processor());
    primitive.execute(stream, {{DNNL_ARG_SRC, at(lhs, left)},
                               {DNNL_ARG_WEIGHTS, at(rhs, right)},
                               {DNNL_ARG_DST, at(out, result)},
                               {DNNL_ARG_SCRATCHPAD, at(scratch, scratchpad)}});
  }
  uint64_t scratchpadBytes() const override { return scratch.get_size(); }

private:
  /// The library's interface has no constant operands.
  static memory at(const memory::desc &desc, const void *data) {
    return {desc, processor(), const_cast<void *>(data)};
  }

  dnnl::matmul primitive;
  memory::desc lhs, rhs, out, scratch;
};

} // namespace

std::unique_ptr<MatrixProduct>
cpu::createOneDnnMatmul(const ProductShape &shape) {
  using Type = memory::data_type;
  const Type type =
      shape.element == ppx::ElementType_bf16 ? Type::bf16 : Type::f32;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (shape.alpha != 1)
    attributes.set_output_scales(0, {float(shape.alpha)});
  if (shape.add) {
    dnnl::post_ops sum;
    sum.append_sum();
    attributes.set_post_ops(sum);
  }
  const OneThread scope; // a primitive takes as many as its creator could
  const dnnl::matmul::primitive_desc description(
      {describe(shape.rows, shape.steps, shape.lhs, type),
       describe(shape.steps, shape.columns, shape.rhs, type),
       describe(shape.rows, shape.columns, {false, shape.outLeading},
                Type::f32)},
      attributes, processor(), /*allow_empty=*/true);
  // Other implementations pack operands into memory that they allocate.
  constexpr std::string_view blocked = "brg:";
  if (!description ||
      std::string_view(description.impl_info_str()).substr(0, 4) != blocked)
    return nullptr;
  return std::make_unique<OneDnnProduct>(description);
}
