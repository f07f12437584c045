//===- Builtins.cpp - kernels that no artifact has ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Builtins.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::cuda;

static constexpr unsigned kThreads = 256, kMaxBlocks = 1024;

/// For elements of `bits`: each thread looks at every so many.
static std::string flagText(unsigned bits) {
  const std::string type = ".b" + std::to_string(bits);
  const std::string bytes = std::to_string(bits / 8);
  return ".visible .entry pp_flag" + std::to_string(bits) +
         "(.param .u64 values, .param .u64 count, .param " + type +
         " mask, .param .u64 flag)\n"
         "{\n"
         "  .reg .pred %end, %bad;\n"
         "  .reg .b32 %block, %threads, %thread, %blocks, %one;\n"
         "  .reg .b64 %values, %count, %flag, %first, %i, %stride, %place;\n"
         "  .reg " +
         type +
         " %mask, %value;\n"
         "  ld.param.u64 %values, [values];\n"
         "  ld.param.u64 %count, [count];\n"
         "  ld.param" +
         type +
         " %mask, [mask];\n"
         "  ld.param.u64 %flag, [flag];\n"
         "  cvta.to.global.u64 %values, %values;\n"
         "  cvta.to.global.u64 %flag, %flag;\n"
         "  mov.u32 %block, %ctaid.x;\n"
         "  mov.u32 %threads, %ntid.x;\n"
         "  mov.u32 %thread, %tid.x;\n"
         "  mov.u32 %blocks, %nctaid.x;\n"
         "  mov.u32 %one, 1;\n"
         "  mul.wide.u32 %stride, %blocks, %threads;\n"
         "  cvt.u64.u32 %first, %thread;\n"
         "  mul.wide.u32 %i, %block, %threads;\n"
         "  add.u64 %i, %i, %first;\n"
         "next:\n"
         "  setp.ge.u64 %end, %i, %count;\n"
         "  @%end bra done;\n"
         "  mad.lo.u64 %place, %i, " +
         bytes +
         ", %values;\n"
         "  ld.global" +
         type +
         " %value, [%place];\n"
         "  and" +
         type +
         " %value, %value, %mask;\n"
         "  setp.eq" +
         type +
         " %bad, %value, %mask;\n"
         "  @%bad red.global.or.b32 [%flag], %one;\n"
         "  add.u64 %i, %i, %stride;\n"
         "  bra next;\n"
         "done:\n"
         "  ret;\n"
         "}\n";
}

Expected<std::unique_ptr<const Builtins>>
Builtins::load(std::shared_ptr<const Gpu> gpu) {
  const std::string text = ".version 7.0\n.target sm_80\n.address_size 64\n" +
                           flagText(16) + flagText(32) + flagText(64);
  std::unique_ptr<Builtins> builtins(new Builtins(gpu));
  if (Status status = gpu->makeCurrent(); !status.ok())
    return status;
  PP_TRY(*gpu, cuModuleLoadDataEx, &builtins->code, text.c_str(), 0, nullptr,
         nullptr);
  PP_TRY(*gpu, cuModuleGetFunction, &builtins->flag16, builtins->code,
         "pp_flag16");
  PP_TRY(*gpu, cuModuleGetFunction, &builtins->flag32, builtins->code,
         "pp_flag32");
  PP_TRY(*gpu, cuModuleGetFunction, &builtins->flag64, builtins->code,
         "pp_flag64");
  return std::unique_ptr<const Builtins>(std::move(builtins));
}

Builtins::~Builtins() {
  if (code && gpu->makeCurrent().ok())
    gpu->driver.cuModuleUnload(code);
}

Status Builtins::flag(CUstream stream, const Values &values,
                      std::byte *flag) const {
  CUfunction function = nullptr;
  uint64_t bytes = 0, exponent = 0; // all ones in what is infinite or NaN
  switch (values.element) {
  case ppx::ElementType_bf16:
    function = flag16, bytes = 2, exponent = 0x7f80;
    break;
  case ppx::ElementType_f32:
    function = flag32, bytes = 4, exponent = 0x7f800000;
    break;
  case ppx::ElementType_f64:
    function = flag64, bytes = 8, exponent = 0x7ff0000000000000;
    break;
  default:
    return {}; // integers are finite
  }
  uint64_t count = values.bytes / bytes;
  if (count == 0)
    return {};
  CUdeviceptr first = pointer(values.address), word = pointer(flag);
  void *parameters[] = {&first, &count, &exponent, &word};
  const uint64_t blocks =
      std::min<uint64_t>((count + kThreads - 1) / kThreads, kMaxBlocks);
  PP_TRY(*gpu, cuLaunchKernel, function, unsigned(blocks), 1, 1, kThreads, 1, 1,
         0, stream, parameters, nullptr);
  return {};
}
