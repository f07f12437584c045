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

/// Each thread checks elements at a fixed distance.
static constexpr char kFlagText[] = R"(
.visible .entry pp_flagBITS(.param .u64 values, .param .u64 count,
    .param .bBITS mask, .param .u64 flag)
{
  .reg .pred %end, %bad;
  .reg .b32 %one;
  .reg .b64 %values, %count, %flag, %place;
  .reg .bBITS %mask, %value;
  ld.param.u64 %values, [values];
  ld.param.u64 %count, [count];
  ld.param.bBITS %mask, [mask];
  ld.param.u64 %flag, [flag];
  cvta.to.global.u64 %values, %values;
  cvta.to.global.u64 %flag, %flag;
  mov.u32 %one, 1;
THREAD
next:
  setp.ge.u64 %end, %i, %count;
  @%end bra done;
  mad.lo.u64 %place, %i, BYTES, %values;
  ld.global.bBITS %value, [%place];
  and.bBITS %value, %value, %mask;
  setp.eq.bBITS %bad, %value, %mask;
  @%bad red.global.or.b32 [%flag], %one;
  add.u64 %i, %i, %stride;
  bra next;
done:
  ret;
}
)";

static std::string flagText(unsigned bits) {
  return builtinText(kFlagText, {{"BITS", std::to_string(bits)},
                                 {"BYTES", std::to_string(bits / 8)}});
}

std::string cuda::builtinText(
    std::string text,
    std::initializer_list<std::pair<const char *, std::string>> words) {
  const auto replace = [&](const std::string &word, const std::string &with) {
    for (size_t at; (at = text.find(word)) != std::string::npos;)
      text.replace(at, word.size(), with);
  };
  for (const auto &[word, with] : words)
    replace(word, with);
  replace("THREAD", R"(
  .reg .b32 %block, %threads, %thread, %blocks;
  .reg .b64 %i, %first, %stride;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  mul.wide.u32 %stride, %blocks, %threads;
  cvt.u64.u32 %first, %thread;
  mul.wide.u32 %i, %block, %threads;
  add.u64 %i, %i, %first;)");
  return text;
}

Status cuda::launchBuiltin(const Gpu &gpu, CUfunction function, CUstream stream,
                           uint64_t count, void **parameters) {
  const uint64_t blocks =
      std::min<uint64_t>((count + kThreads - 1) / kThreads, kMaxBlocks);
  if (blocks > 0)
    PP_TRY(gpu, cuLaunchKernel, function, unsigned(blocks), 1, 1, kThreads, 1,
           1, 0, stream, parameters, nullptr);
  return {};
}

Expected<std::unique_ptr<const Builtins>>
Builtins::load(std::shared_ptr<const Gpu> gpu) {
  const std::string text =
      kBuiltinHead + flagText(16) + flagText(32) + flagText(64);
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
  uint64_t bytes = 0, exponent = 0; // all ones in infinities and NaNs
  switch (values.element) {
  case ppx::ElementType_bf16:
    function = flag16, bytes = 2, exponent = 0x7f80;
    break;
  case ppx::ElementType_f16:
    function = flag16, bytes = 2, exponent = 0x7c00;
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
  CUdeviceptr first = pointer(values.address), word = pointer(flag);
  void *parameters[] = {&first, &count, &exponent, &word};
  return launchBuiltin(*gpu, function, stream, count, parameters);
}
