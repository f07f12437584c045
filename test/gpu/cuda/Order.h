//===- Order.h - which accesses have an order between them ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A vector clock has one component for each sequence of operations: a stream,
// or the part of a graph that one stream was captured into. An operation comes
// before another one if the other's clock covers it. The history of memory
// keeps for each byte who wrote it last and who has read it since; a new access
// that does not come after those it conflicts with has no order with them, in
// whichever order the two ran here.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_CUDA_ORDER_H
#define PP_TEST_GPU_CUDA_ORDER_H

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace emulated {

/// The place of an operation in its sequence.
struct Moment {
  uint32_t component = 0;
  uint64_t sequence = 0; ///< from 1 on; 0: never
};

class Clock {
public:
  bool covers(const Moment &moment) const {
    return moment.sequence == 0 ||
           (moment.component < latest.size() &&
            moment.sequence <= latest[moment.component]);
  }
  void join(const Clock &other);
  /// The next moment of a component.
  Moment tick(uint32_t component);

private:
  std::vector<uint64_t> latest;
};

/// An operation as accesses remember it.
struct Author {
  Moment moment;
  Clock clock;
  std::string what;
};

class History {
public:
  using By = std::shared_ptr<const Author>;

  /// Notes an access. Returns what it conflicts with without an order, or "".
  std::string touch(const By &by, uint64_t begin, uint64_t end, bool isWrite);
  /// An access of [begin, end) that `clock` does not cover, or "".
  std::string findOpen(const Clock &clock, uint64_t begin, uint64_t end) const;
  void forget(uint64_t begin, uint64_t end);

private:
  struct Segment {
    uint64_t end = 0;
    By writer;
    std::vector<By> readers; ///< since the last write, one for each component
  };
  using Map = std::map<uint64_t, Segment>;

  /// Makes a segment begin at `address`, if one holds it.
  void split(uint64_t address);

  Map segments; ///< by their begin; they do not overlap
};

} // namespace emulated

#endif // PP_TEST_GPU_CUDA_ORDER_H
