//===- Team.h - the threads that work inside one rank -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a rank share one pool with the libraries they call: libgomp's,
// because Debian's oneDNN uses it. The pool belongs to the thread that created
// the team, and is entered through libgomp's stable entry points, since clang
// emits calls to another OpenMP runtime. With one thread nothing is created.
// libgomp stops spinning by itself when its threads exceed the cores.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_TEAM_H
#define PPRT_BACKENDS_CPU_TEAM_H

namespace pprt::cpu {

class Team {
public:
  /// Called on the rank's own thread.
  explicit Team(unsigned threads);

  unsigned size() const { return threads; }

  /// Calls body(index) for every index below size(), at the same time, and
  /// returns when all have returned.
  template <typename Body> void run(const Body &body) const {
    if (threads == 1)
      return body(0u);
    parallel([](void *data) { (*static_cast<const Body *>(data))(index()); },
             const_cast<Body *>(&body));
  }

private:
  void parallel(void (*entry)(void *), void *data) const;
  static unsigned index();

  unsigned threads;
};

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_TEAM_H
