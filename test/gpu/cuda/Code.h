//===- Code.h - a kernel for tests of a driver ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Text that a driver of CUDA 12.0 and a GPU since sm_80 take: `add` writes
// to[i] = from[i] + addend for i < number.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_CUDA_CODE_H
#define PP_TEST_GPU_CUDA_CODE_H

inline constexpr char kAdd[] = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry add(
  .param .u64 add_to, .param .u64 add_from,
  .param .u32 add_number, .param .u32 add_addend)
{
  .reg .pred %p<2>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [add_to];
  ld.param.u64 %rd2, [add_from];
  ld.param.u32 %r1, [add_number];
  ld.param.u32 %r2, [add_addend];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %p1, %r6, %r1;
  @%p1 bra $END;
  cvta.to.global.u64 %rd3, %rd1;
  cvta.to.global.u64 %rd4, %rd2;
  mul.wide.u32 %rd5, %r6, 4;
  add.s64 %rd6, %rd3, %rd5;
  add.s64 %rd7, %rd4, %rd5;
  ld.global.b32 %r7, [%rd7];
  add.s32 %r8, %r7, %r2;
  st.global.b32 [%rd6], %r8;
$END:
  ret;
}
)";

#endif // PP_TEST_GPU_CUDA_CODE_H
