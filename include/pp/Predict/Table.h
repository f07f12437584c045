//===- Table.h - tables for people ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Tables and numbers of predictions and explanations.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PREDICT_TABLE_H
#define PP_PREDICT_TABLE_H

#include <cstdint>
#include <string>
#include <vector>

namespace pp::predict {

/// Rows of cells; the first columns are left-aligned, the others right-aligned.
class Table {
public:
  explicit Table(std::vector<std::string> head, unsigned leftColumns = 1)
      : leftColumns(leftColumns) {
    rows.push_back(std::move(head));
  }
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  bool empty() const { return rows.size() == 1; }

  std::string print() const;

private:
  unsigned leftColumns;
  std::vector<std::vector<std::string>> rows;
};

/// `12.5 G`: three digits, and a prefix of thousands after `space`.
std::string printCount(double value, const char *space = "");
/// `12.3 us`: three digits.
std::string printSeconds(double seconds);

/// `rank 3`, `ranks 0-3`, `ranks 0-1 4-5`.
std::string printRanks(std::vector<uint32_t> ranks);

} // namespace pp::predict

#endif // PP_PREDICT_TABLE_H
