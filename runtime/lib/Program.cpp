//===- Program.cpp - reading the parts of a rank program ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Program.h"

#include <algorithm>
#include <zlib.h>

using namespace pprt;

const char *pprt::sectionName(Section section) {
  switch (section) {
  case Section::setup:
    return "setup";
  case Section::body:
    return "body";
  case Section::teardown:
    return "teardown";
  }
  return "";
}

uint64_t pprt::elementSize(ppx::ElementType element) {
  switch (element) {
  case ppx::ElementType_f64:
  case ppx::ElementType_i64:
    return 8;
  case ppx::ElementType_f32:
  case ppx::ElementType_i32:
    return 4;
  case ppx::ElementType_bf16:
  case ppx::ElementType_f16:
    return 2;
  case ppx::ElementType_i8:
  case ppx::ElementType_i1:
    return 1;
  }
  return 1;
}

bool pprt::isInteger(ppx::ElementType element) {
  return element == ppx::ElementType_i8 || element == ppx::ElementType_i32 ||
         element == ppx::ElementType_i64;
}

bool pprt::isFloat(ppx::ElementType element) {
  return element != ppx::ElementType_i1 && !isInteger(element);
}

bool pprt::isNarrowFloat(ppx::ElementType element) {
  return element == ppx::ElementType_bf16 || element == ppx::ElementType_f16;
}

std::optional<uint64_t> pprt::denseBytes(const std::vector<uint64_t> &shape,
                                         uint64_t elementBytes) {
  // An empty dimension makes the tensor empty, however large the others are.
  for (uint64_t size : shape)
    if (size == 0)
      return 0;
  uint64_t bytes = elementBytes;
  for (uint64_t size : shape)
    if (__builtin_mul_overflow(bytes, size, &bytes))
      return std::nullopt;
  return bytes >> 63 ? std::nullopt : std::optional<uint64_t>(bytes);
}

bool pprt::readsMore(const ppx::EpilogueT &epilogue) {
  return epilogue.kind == ppx::EpilogueKind_add ||
         epilogue.kind == ppx::EpilogueKind_multiply ||
         epilogue.kind == ppx::EpilogueKind_gelu_tanh_gradient;
}

bool pprt::writesMore(const ppx::EpilogueT &epilogue) {
  return epilogue.kind == ppx::EpilogueKind_sum_lhs ||
         epilogue.kind == ppx::EpilogueKind_sum_rhs ||
         (epilogue.kind == ppx::EpilogueKind_gelu_tanh && epilogue.view);
}

uint32_t pprt::workspaceParameter(const ppx::ContractionT &contraction) {
  uint32_t parameter = contraction.out_parameter + 1;
  for (const auto &epilogue : contraction.epilogues)
    parameter += writesMore(*epilogue);
  return parameter;
}

bool pprt::changesResult(const ppx::EpilogueT &epilogue) {
  return epilogue.kind != ppx::EpilogueKind_sum_lhs &&
         epilogue.kind != ppx::EpilogueKind_sum_rhs;
}

UnfusedParameters pprt::unfusedParameters(const ppx::ContractionT &c) {
  UnfusedParameters result;
  for (const auto &epilogue : c.epilogues)
    if (!changesResult(*epilogue))
      result.of.push_back(epilogue->kind == ppx::EpilogueKind_sum_rhs);
    else if (readsMore(*epilogue))
      result.of.push_back(epilogue->parameter);
  if (std::any_of(c.epilogues.begin(), c.epilogues.end(),
                  [](const auto &its) { return changesResult(*its); })) {
    result.out = result.of.size();
    result.of.push_back(c.out_parameter);
  }
  for (const auto &epilogue : c.epilogues)
    if (writesMore(*epilogue))
      result.of.push_back(epilogue->parameter);
  return result;
}

static std::string checksumOf(const std::string &text) {
  const uLong checksum =
      crc32_z(0, reinterpret_cast<const Bytef *>(text.data()), text.size());
  std::string digits;
  for (int shift = 28; shift >= 0; shift -= 4)
    digits += "0123456789abcdef"[checksum >> shift & 15];
  return digits;
}

/// Appends all of a view, which may be null, and a word that does not begin
/// like a number.
static void describe(std::string &text, const ppx::MatrixViewT *view) {
  const auto add = [&](uint64_t number) {
    text += ' ' + std::to_string(number);
  };
  if (!view) {
    text += " none";
    return;
  }
  for (const uint64_t number :
       {view->offset, view->row_stride, view->column_stride})
    add(number);
  for (const uint64_t stride : view->batch)
    add(stride);
  text += " view";
}

std::string pprt::epilogueSignature(const ppx::ContractionT &c) {
  std::string text = std::to_string(int(c.out_element));
  for (const uint64_t extent : c.batch)
    text += ' ' + std::to_string(extent);
  text += " of " + std::to_string(c.m) + ' ' + std::to_string(c.n);
  describe(text, c.out.get());
  for (const auto &epilogue : c.epilogues) {
    text += ' ' + std::to_string(int(epilogue->kind));
    describe(text, epilogue->view.get());
    if (changesResult(*epilogue))
      continue;
    text +=
        " over " + std::to_string(c.k) + ' ' + std::to_string(int(c.element));
    describe(text, epilogue->kind == ppx::EpilogueKind_sum_lhs ? c.lhs.get()
                                                               : c.rhs.get());
  }
  return checksumOf(text);
}

std::string pprt::kernelSignature(const ppx::KernelT &kernel) {
  const ppx::CompiledKernelT *body = kernel.body.AsCompiledKernel();
  std::string call = std::to_string(body ? body->rows : 0);
  if (body && body->scratch_bytes > 0)
    call += " scratch " + std::to_string(body->scratch_bytes);
  if (body && body->block > 0)
    call += " launch " + std::to_string(body->grid) + ':' +
            std::to_string(body->block);
  for (const auto &parameter : kernel.parameters)
    call += ' ' + std::to_string(int(parameter->access)) + ':' +
            std::to_string(parameter->bytes);
  return checksumOf(call);
}

std::string pprt::unfusedSignature(const ppx::KernelT &kernel) {
  const ppx::ContractionT &contraction = *kernel.body.AsContraction();
  const UnfusedParameters parameters = unfusedParameters(contraction);
  ppx::KernelT unfused;
  for (size_t i = 0; i < parameters.of.size(); ++i) {
    const uint32_t index = parameters.of[i];
    unfused.parameters.push_back(std::make_unique<ppx::KernelParameterT>());
    if (index >= kernel.parameters.size())
      continue; // the checks refuse it
    unfused.parameters.back()->bytes = kernel.parameters[index]->bytes;
    unfused.parameters.back()->access =
        i == parameters.out                 ? ppx::Access_read_write
        : index > contraction.out_parameter ? ppx::Access_write
                                            : ppx::Access_read;
  }
  if (contraction.unfused)
    unfused.body.Set(ppx::CompiledKernelT(*contraction.unfused));
  return epilogueSignature(contraction) + '_' + kernelSignature(unfused);
}

char pprt::phaseLetter(ppx::Phase phase) {
  static constexpr char letters[] = {'P', 'F', 'B', 'W', 'U'};
  return phase >= 0 && size_t(phase) < sizeof(letters) ? letters[phase] : '?';
}

std::string pprt::actionName(const Instruction &instruction) {
  std::string name = std::to_string(instruction->stage);
  name += phaseLetter(instruction->phase);
  if (const int32_t microBatch = instruction.microBatch(); microBatch >= 0)
    name += std::to_string(microBatch);
  return name;
}

std::string pprt::instructionName(const Instruction &instruction) {
  return actionName(instruction) + ' ' +
         ppx::EnumNameOpcode(instruction->opcode);
}
