//===- Svg.h - elements of SVG pictures -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Coordinates are pixels from the upper left corner; colours are CSS names or
// #rrggbb.
//
//===----------------------------------------------------------------------===//
#ifndef PP_SCHEDULE_SVG_H
#define PP_SCHEDULE_SVG_H

#include <string>

namespace pp::schedule::svg {

/// The first lines of a picture, with a white background; `</svg>` ends it.
std::string begin(double width, double height);

/// A coordinate, to a tenth of a pixel.
std::string coordinate(double value);

/// `content` are elements inside, such as a title.
std::string rectangle(double x, double y, double width, double height,
                      const char *fill, const std::string &content = "");

/// `anchor` is start, middle or end.
std::string label(double x, double y, const char *anchor, const char *fill,
                  const std::string &content);

/// Text as XML holds it; a model may name its values as it likes.
std::string escape(const std::string &text);

} // namespace pp::schedule::svg

#endif // PP_SCHEDULE_SVG_H
