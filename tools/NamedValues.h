//===- NamedValues.h - options whose values have names ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// LLVM's own parser says of a value that is none only that it is none.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TOOLS_NAMEDVALUES_H
#define PP_TOOLS_NAMEDVALUES_H

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"

namespace pp {

/// As llvm::cl::parser, with all values in the error.
template <typename T> class NamedValuesParser : public llvm::cl::parser<T> {
public:
  using llvm::cl::parser<T>::parser;

  /// Returns whether it failed.
  bool parse(llvm::cl::Option &option, llvm::StringRef name,
             llvm::StringRef text, T &value) {
    if (this->findOption(text) < this->getNumOptions())
      return llvm::cl::parser<T>::parse(option, name, text, value);
    llvm::SmallVector<llvm::StringRef> names;
    for (unsigned i = 0; i < this->getNumOptions(); ++i)
      names.push_back(this->getOption(i));
    return option.error("expects " + llvm::join(llvm::drop_end(names), ", ") +
                        " or " + names.back() + ", got '" + text + "'");
  }
};

/// An option whose value is one of those that llvm::cl::values names.
template <typename T>
using NamedValues = llvm::cl::opt<T, false, NamedValuesParser<T>>;

} // namespace pp

#endif // PP_TOOLS_NAMEDVALUES_H
