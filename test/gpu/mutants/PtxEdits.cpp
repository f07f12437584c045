//===- PtxEdits.cpp - single edits of PTX text ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "PtxEdits.h"

#include <regex>
#include <sstream>

using namespace pprt::mutants;

const std::vector<PtxEdit> pprt::mutants::kPtxEdits = {
    {"barrier left out", "\\tbar\\.sync.*", "", "bar.sync"},
    {"shuffle left out",
     "\\tshfl\\.sync\\.\\w+\\.b32 *\\t*(%\\w+)(\\|%\\w+)?, (%\\w+),.*",
     "\tmov.b32 $1, $3;", "shfl.sync"},
    {"shuffle from another lane",
     "(\\tshfl\\.sync\\.\\w+\\.b32.*, )1(, 31, -1;)", "$012$2", "shfl.sync"},
    {"guard left out", "\\t@!?%p\\w+ +\\tbra .*", "", "bra"},
    {"guard always taken", "\\t@!?%p\\w+ +\\tbra (.*)", "\tbra $1", "bra"},
    {"guard the other way", "\\t@(%p\\w+ +\\tbra .*)", "\t@!$1", "@%p"},
    {"eq is ne", "\\tsetp\\.eq\\.(.*)", "\tsetp.ne.$1", "setp.eq"},
    {"ne is eq", "\\tsetp\\.ne\\.(.*)", "\tsetp.eq.$1", "setp.ne"},
    {"gt is ge", "\\tsetp\\.gt\\.(.*)", "\tsetp.ge.$1", "setp.gt"},
    {"lt is le", "\\tsetp\\.lt\\.(.*)", "\tsetp.le.$1", "setp.lt"},
    {"lt is ge", "\\tsetp\\.lt\\.(.*)", "\tsetp.ge.$1", "setp.lt"},
    {"bound is one more", "\\tsetp\\.gt\\.(.*), 3;", "\tsetp.gt.$1, 4;",
     "setp.gt"},
    {"load 4 bytes further",
     "(\\tld\\.global\\S*\\.b32 .*\\[%\\w+)(\\+\\d+)?\\];", "$1+4];",
     "ld.global"},
    {"load 8 bytes further", "(\\tld\\.global\\S*\\.b64 .*\\[%\\w+)\\];",
     "$1+8];", "ld.global"},
    {"load 16 bytes further", "(\\tld\\.global\\S* .*\\[%\\w+)\\];", "$1+16];",
     "ld.global"},
    {"load 256 bytes before", "(\\tld\\.global\\S* .*\\[%\\w+)\\];",
     "$1+-256];", "ld.global"},
    {"load as of constants", "\\tld\\.global(\\.v.*)", "\tld.global.nc$1",
     "ld.global.v"},
    {"store 4 bytes further", "(\\tst\\.global\\S*\\.b32 .*\\[%\\w+)\\](.*)",
     "$1+4]$2", "st.global"},
    {"store 16 bytes further", "(\\tst\\.global\\S* .*\\[%\\w+)\\](.*)",
     "$1+16]$2", "st.global"},
    {"store left out", "\\tst\\.global.*", "", "st.global"},
    {"shared load 4 bytes further", "(\\tld\\.shared\\S* .*\\[%\\w+)\\];",
     "$1+4];", "ld.shared"},
    {"shared store 4 bytes further", "(\\tst\\.shared\\S* .*\\[%\\w+)\\](.*)",
     "$1+4]$2", "st.shared"},
    {"shared store left out", "\\tst\\.shared.*", "", "st.shared"},
    {"max is min", "\\tmax\\.(.*)", "\tmin.$1", "max."},
    {"min is max", "\\tmin\\.(.*)", "\tmax.$1", "min."},
    {"add is sub", "\\tadd\\.(rn\\.f.*|s.*)", "\tsub.$1", "add."},
    {"sub is add", "\\tsub\\.(rn\\.f.*|s32.*|s64.*)", "\tadd.$1", "sub."},
    {"factor is a term", "\\tmul\\.rn\\.(f.*)", "\tadd.rn.$1", "mul.rn"},
    {"width is half", "(\\tmul\\.wide\\.u32 .*), 4;", "$1, 2;", "mul.wide"},
    {"shift is one less", "(\\tshl\\.b32 .*), 2;", "$1, 1;", "shl.b32"},
    {"select the other",
     "\\tselp\\.(\\S+)( *\\t*%\\w+), ([^,]+), ([^,]+), (.*)",
     "\tselp.$1$2, $4, $3, $5", "selp."},
    {"thread is block", "(\\tmov\\.u32.*)%tid\\.x;", "$1%ctaid.x;", "%tid.x"},
    {"block is thread", "(\\tmov\\.u32.*)%ctaid\\.x;", "$1%tid.x;", "%ctaid.x"},
    {"another parameter", "(\\tld\\.param\\.b64 .*_param_)0\\];", "$011];",
     "ld.param"},
    {"shared array of half", "(\\.shared .*\\[)(\\d+)\\];", "$018];",
     ".shared"},
};

std::vector<std::string> pprt::mutants::splitLines(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

std::vector<PtxPlace>
pprt::mutants::findPlaces(const std::vector<std::string> &lines,
                          const PtxEdit &edit) {
  std::vector<PtxPlace> places;
  const std::regex pattern(edit.pattern);
  for (size_t line = 0; line < lines.size(); ++line) {
    if (lines[line].find(edit.part) == std::string::npos ||
        !std::regex_match(lines[line], pattern))
      continue;
    std::string text =
        std::regex_replace(lines[line], pattern, edit.replacement);
    if (text != lines[line])
      places.push_back({line, std::move(text)});
  }
  return places;
}

static std::string join(const std::vector<std::string> &lines, size_t line,
                        const std::string &other) {
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i)
    text += (i == line ? other : lines[i]) + '\n';
  return text;
}

std::string pprt::mutants::edited(const std::vector<std::string> &lines,
                                  const PtxPlace &place) {
  return join(lines, place.line, place.text);
}

std::string pprt::mutants::trapped(const std::vector<std::string> &lines,
                                   size_t line) {
  // With its guard it is reached by whoever comes there.
  return join(lines, line, "\ttrap;\n" + lines[line]);
}
