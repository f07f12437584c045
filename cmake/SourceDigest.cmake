# One hash of the names and contents of files, as a C++ string literal.
#   cmake -DROOT=FOLDER -DLIST=FILE -DOUTPUT=FILE -P SourceDigest.cmake
# LIST holds a path a line, in any order; ROOT is left out of the names, so that the hash is the
# same in every checkout.
# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
file(STRINGS ${LIST} files)
list(SORT files)
set(text "")
foreach(file IN LISTS files)
  file(RELATIVE_PATH name ${ROOT} ${file})
  file(SHA256 ${file} hash)
  string(APPEND text "${name} ${hash}\n")
endforeach()
string(SHA256 digest "${text}")
file(WRITE ${OUTPUT} "\"${digest}\"\n")
