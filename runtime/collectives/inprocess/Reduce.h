//===- Reduce.h - element-wise reduction in a fixed order -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The kernel of all reductions in collectives. The caller fixes the order, so
// that bits depend on neither chunks nor timing; floats of 16 bits are added in
// f32 and rounded once.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_INPROCESS_REDUCE_H
#define PPRT_COLLECTIVES_INPROCESS_REDUCE_H

#include "pprt/Ppx.h"

#include <cstddef>
#include <cstdint>

namespace pprt::inprocess {

/// targets[*][0:count) = sources[0] op sources[1] op ... , in this order.
/// `offset` bytes are added to every source, `targetOffset` to every target. A
/// target may be one of the sources.
void reduce(ppx::ElementType element, ppx::Reduction reduction,
            const std::byte *const *sources, uint32_t sourceCount,
            uint64_t offset, std::byte *const *targets, uint32_t targetCount,
            uint64_t targetOffset, uint64_t count);

} // namespace pprt::inprocess

#endif // PPRT_COLLECTIVES_INPROCESS_REDUCE_H
