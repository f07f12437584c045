//===- PtxEdits.h - single edits of PTX text --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the text of a PTX module. Out: places at which a row of the table of
// edits makes it wrong, and the text with one of them. A line is an
// instruction; what an edit makes of it is a line again, or none.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_MUTANTS_PTXEDITS_H
#define PP_TEST_GPU_MUTANTS_PTXEDITS_H

#include <cstddef>
#include <string>
#include <vector>

namespace pprt::mutants {

/// One row of the table: lines that match `pattern` become `replacement`, by
/// the rules of std::regex_replace.
struct PtxEdit {
  const char *name;
  const char *pattern;
  const char *replacement;
  const char *part; ///< of each line that matches, to look for first
};
extern const std::vector<PtxEdit> kPtxEdits;

struct PtxPlace {
  size_t line;      ///< from 0 on
  std::string text; ///< what becomes of it
};

std::vector<std::string> splitLines(const std::string &text);
std::vector<PtxPlace> findPlaces(const std::vector<std::string> &lines,
                                 const PtxEdit &edit);
/// The lines with another in its place.
std::string edited(const std::vector<std::string> &lines,
                   const PtxPlace &place);
/// The same with one that ends a launch as soon as a thread comes there.
std::string trapped(const std::vector<std::string> &lines, size_t line);

} // namespace pprt::mutants

#endif // PP_TEST_GPU_MUTANTS_PTXEDITS_H
