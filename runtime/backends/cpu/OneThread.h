//===- OneThread.h - oneDNN on the calling thread alone ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Our own threads share a product out, each with calls of its own. The number
// is the calling thread's in libgomp, so that others are left alone.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_ONETHREAD_H
#define PPRT_BACKENDS_CPU_ONETHREAD_H

// Of libgomp, whose threads Debian's oneDNN uses. Not <omp.h>: clang's belongs
// to another library.
extern "C" int omp_get_max_threads();
extern "C" void omp_set_num_threads(int threads);

namespace pprt::cpu {

/// While it lives, oneDNN takes no thread but the calling one.
class OneThread {
public:
  OneThread() : threads(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(threads); }
  OneThread(const OneThread &) = delete;
  OneThread &operator=(const OneThread &) = delete;

private:
  const int threads;
};

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_ONETHREAD_H
