//===- OptionReaders.h - values of options ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each sets a field, and returns what was expected, or null if the text is
// valid.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_OPTIONREADERS_H
#define PP_RUN_OPTIONREADERS_H

#include "Options.h"

#include <string_view>

namespace pp::run {

const char *readNumber(std::string_view text, uint64_t &number);
const char *readCount(std::string_view text, uint64_t &number);
const char *readText(std::string_view text, std::string &field);
/// A file to write. There is no short name for standard output, since a run
/// writes its progress there.
const char *readResult(std::string_view text, std::string &field);
/// No bytes are no limit.
const char *readLimit(std::string_view text, std::optional<uint64_t> &limit);
/// Steps, or a time with its unit.
const char *readInterval(std::string_view text, Options &options);
const char *setSwitch(bool &field);

/// Detects files with the extension of another format; a name without an
/// extension is accepted.
bool isOfOtherFormat(std::string_view file);

} // namespace pp::run

#endif // PP_RUN_OPTIONREADERS_H
