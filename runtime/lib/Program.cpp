//===- Program.cpp - reading the parts of a rank program ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Program.h"

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

const InstructionList &pprt::instructionsOf(const ppx::ProgramT &program,
                                            Section section) {
  switch (section) {
  case Section::setup:
    return program.setup;
  case Section::body:
    return program.body;
  case Section::teardown:
    break;
  }
  return program.teardown;
}

InstructionList &pprt::instructionsOf(ppx::ProgramT &program, Section section) {
  return const_cast<InstructionList &>(
      instructionsOf(std::as_const(program), section));
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
    return 2;
  case ppx::ElementType_i1:
    return 1;
  }
  return 1;
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
  const uLong checksum =
      crc32_z(0, reinterpret_cast<const Bytef *>(call.data()), call.size());
  std::string digits;
  for (int shift = 28; shift >= 0; shift -= 4)
    digits += "0123456789abcdef"[checksum >> shift & 15];
  return digits;
}

std::string pprt::actionName(const ppx::InstructionT &instruction) {
  static constexpr char letters[] = {'P', 'F', 'B', 'W', 'U'};
  std::string name = std::to_string(instruction.stage);
  name += instruction.phase >= 0 && size_t(instruction.phase) < sizeof(letters)
              ? letters[instruction.phase]
              : '?';
  if (instruction.micro_batch >= 0)
    name += std::to_string(instruction.micro_batch);
  return name;
}

std::string pprt::instructionName(const ppx::InstructionT &instruction) {
  return actionName(instruction) + ' ' +
         ppx::EnumNameOpcode(instruction.opcode);
}
