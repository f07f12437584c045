//===- OneThread.h - oneDNN on the calling thread alone ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Our own threads divide a product, each with its own calls. The number belongs
// to the calling thread in libgomp, so others are not affected.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_ONETHREAD_H
#define PPRT_BACKENDS_CPU_ONETHREAD_H

// From libgomp, whose threads Debian's oneDNN uses. Not <omp.h>: clang's
// belongs to another library.
extern "C" int omp_get_max_threads();
extern "C" void omp_set_num_threads(int threads);

namespace pprt::cpu {

/// While it lives, oneDNN uses only the calling thread.
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
