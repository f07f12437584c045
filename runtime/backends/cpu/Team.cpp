//===- Team.cpp - the threads that work inside one rank -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Team.h"

extern "C" {
void GOMP_parallel(void (*entry)(void *), void *data, unsigned threads,
                   unsigned flags);
int omp_get_thread_num(void);
void omp_set_num_threads(int threads);
void omp_set_dynamic(int dynamic);
}

using namespace pprt::cpu;

Team::Team(unsigned threads) : threads(threads) {
  // Both settings are the calling thread's own. A team is never smaller than
  // asked for: the partition of the work, and so its rounding, is fixed.
  omp_set_dynamic(0);
  omp_set_num_threads(int(threads));
}

void Team::parallel(void (*entry)(void *), void *data) const {
  GOMP_parallel(entry, data, threads, 0);
}

unsigned Team::index() { return unsigned(omp_get_thread_num()); }
