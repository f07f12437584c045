//===- Kernel.h - one source for the device and for the host ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// KERNEL(name, launch, (arguments), (parameters)) { body } is a kernel in PTX;
// for the host it is a function and a registered case (Case.h). MAP1 to MAP3
// are kernels that compute `expression` of a, b and c for every element.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_KERNELS_KERNEL_H
#define PP_TEST_GPU_KERNELS_KERNEL_H

#ifdef __CUDACC__

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define KERNEL(name, launch, arguments, parameters)                            \
  extern "C" __global__ void name parameters
#define KERNEL_WITHIN(name, launch, bound, arguments, parameters)              \
  extern "C" __global__ void name parameters
#define FAULT(name, fault, launch, arguments, parameters)                      \
  extern "C" __global__ void name parameters
#define NOINLINE __noinline__
#define DYNAMIC_SHARED(type, name)                                             \
  extern __shared__ __align__(16) unsigned char dynamicBytes[];                \
  type *name = reinterpret_cast<type *>(dynamicBytes)

#else

#include "Case.h"
#include "Host.h"
#define KERNEL_OF(name, launch, bound, fault, args, parameters)                \
  static void name parameters;                                                 \
  namespace {                                                                  \
  using namespace kernels;                                                     \
  const Registrar name##Registrar(#name, __FILE__, launch, bound, &name,       \
                                  kernels::arguments args, fault);             \
  }                                                                            \
  static void name parameters
#define KERNEL(name, launch, args, parameters)                                 \
  KERNEL_OF(name, launch, Bound(), "", args, parameters)
#define KERNEL_WITHIN(name, launch, bound, args, parameters)                   \
  KERNEL_OF(name, launch, bound, "", args, parameters)
/// One that is wrong; running it must say this.
#define FAULT(name, fault, launch, args, parameters)                           \
  KERNEL_OF(name, launch, Bound(), fault, args, parameters)
#define NOINLINE __attribute__((noinline))
#define DYNAMIC_SHARED(type, name)                                             \
  type *name = reinterpret_cast<type *>(host::dynamicShared())

#endif

#define MAP1_OF(name, bound, R, A, argument, expression)                       \
  KERNEL_WITHIN(name, flat(), bound, (out<R>(kCount), argument),               \
                (R * results, const A *as)) {                                  \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
    const A a = as[i];                                                         \
    results[i] = expression;                                                   \
  }
#define MAP1(name, R, A, expression)                                           \
  MAP1_OF(name, Bound(), R, A, in<A>(kCount), expression)
#define MAP2_OF(name, bound, R, A, B, first, second, expression)               \
  KERNEL_WITHIN(name, flat(), bound, (out<R>(kCount), first, second),          \
                (R * results, const A *as, const B *bs)) {                     \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
    const A a = as[i];                                                         \
    const B b = bs[i];                                                         \
    results[i] = expression;                                                   \
  }
#define MAP2(name, R, A, B, expression)                                        \
  MAP2_OF(name, Bound(), R, A, B, in<A>(kCount), in<B>(kCount), expression)
#define MAP3(name, R, A, B, C, expression)                                     \
  KERNEL(name, flat(),                                                         \
         (out<R>(kCount), in<A>(kCount), in<B>(kCount), in<C>(kCount)),        \
         (R * results, const A *as, const B *bs, const C *cs)) {               \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
    const A a = as[i];                                                         \
    const B b = bs[i];                                                         \
    const C c = cs[i];                                                         \
    results[i] = expression;                                                   \
  }

// Types by the names that kernels are called by.
typedef signed char s8;
typedef unsigned char u8;
typedef short s16;
typedef unsigned short u16;
typedef int s32;
typedef unsigned u32;
typedef long long s64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef __half f16;
typedef __nv_bfloat16 bf16;
#define SIGNED_INTEGERS(X) X(s8) X(s16) X(s32) X(s64)
#define UNSIGNED_INTEGERS(X) X(u8) X(u16) X(u32) X(u64)
#define INTEGERS(X) SIGNED_INTEGERS(X) UNSIGNED_INTEGERS(X)

#endif // PP_TEST_GPU_KERNELS_KERNEL_H
