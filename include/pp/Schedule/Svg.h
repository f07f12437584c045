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

/// `more` are further attributes, after a blank.
std::string line(double x1, double y1, double x2, double y2, const char *stroke,
                 const char *more = "");

/// `anchor` is start, middle or end.
std::string label(double x, double y, const char *anchor, const char *fill,
                  const std::string &content);

/// Text as XML holds it; a model may name its values as it likes.
std::string escape(const std::string &text);

/// The largest of 1, 2, 5, 10, ... times a power of ten with at least `count`
/// of it in `width`: between the ticks of an axis.
double roundInterval(double width, double count);

/// A tick: digits behind the point as the interval has them, or a power of ten.
std::string printTick(double value, double interval);

} // namespace pp::schedule::svg

#endif // PP_SCHEDULE_SVG_H
