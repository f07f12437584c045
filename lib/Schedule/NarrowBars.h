//===- NarrowBars.h - many bars in little text ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A row's narrow bars of one colour are one path, of a dozen characters each;
// bars of less than a pixel are added up by columns of one pixel, so that no
// row takes more than the picture has columns.
//
//===----------------------------------------------------------------------===//
#ifndef PP_SCHEDULE_NARROWBARS_H
#define PP_SCHEDULE_NARROWBARS_H

#include <map>
#include <string>
#include <vector>

namespace pp::schedule {

/// Horizontal strokes, by colour.
class Strokes {
public:
  void add(const std::string &fill, double x, double y, double width);
  /// `height`: how thick they are.
  std::string draw(double height) const;

private:
  std::map<std::string, std::string> paths;
};

/// What lies in columns of one pixel.
class Columns {
public:
  void add(const std::string &fill, double begin, double end);
  /// Adds strokes of the mixtures; the first column begins at `left`.
  void draw(double left, double y, Strokes &strokes) const;

private:
  /// Shares of the column, by colour; the rest is idle.
  using Column = std::map<std::string, double>;
  static std::string mixtureOf(const Column &column);

  std::vector<Column> columns;
};

} // namespace pp::schedule

#endif // PP_SCHEDULE_NARROWBARS_H
