//===- LayerName.h - the layer in the name of a value -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Names are dotted, as checkpoints spell them. A part that is a number counts
// layers.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LAYERNAME_H
#define PPRT_LAYERNAME_H

#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace pprt {

/// Returns the layer that `name` lies in: its beginning, up to the first part
/// that is a number. Empty if it has none, as `lm_head`.
///
///     h.0.attn.c_attn -> h.0      layer1.0.conv1 -> layer1.0
std::string_view layerName(std::string_view name);

/// Returns a name that is the same for every layer: `h.*.attn.weight` for
/// `h.3.attn.weight`.
std::string anyLayer(std::string_view name);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_LAYERNAME_H
