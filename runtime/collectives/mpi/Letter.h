//===- Letter.h - a failure as a message ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The code, then the text, truncated if it is too long. A receiver that does
// not know its length has room for kLetterBytes, filled with zeros.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_MPI_LETTER_H
#define PPRT_COLLECTIVES_MPI_LETTER_H

#include "pprt/Status.h"

#include <cstddef>
#include <vector>

namespace pprt::mpi {

constexpr size_t kLetterBytes = size_t(1) << 16;

std::vector<std::byte> packLetter(const Status &status,
                                  size_t longest = kLetterBytes);
Status unpackLetter(const std::vector<std::byte> &letter);

/// Prints an error as tools do, in one write.
void printError(const std::string &message);

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_LETTER_H
