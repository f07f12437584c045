//===- Folders.cpp - where libraries lie that are opened at run time ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Seen from the program, wherever it was installed to.
//
//===----------------------------------------------------------------------===//
#include "Plugins.h"

#include <algorithm>
#include <climits>
#include <dlfcn.h>
#include <unistd.h>

using namespace pprt;

static std::string folderOf(const std::string &file) {
  return file.substr(0, file.rfind('/') + 1);
}

std::vector<std::string> plugins::folders() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  const std::string program =
      folderOf(std::string(path, length > 0 ? size_t(length) : 0));
  std::vector<std::string> result;
  const auto add = [&](const std::string &folder) {
    if (!folder.empty() &&
        std::find(result.begin(), result.end(), folder) == result.end())
      result.push_back(folder);
  };
  add(program);
  if (program.size() > 1) {
    const std::string above =
        folderOf(program.substr(0, program.size() - 1)); // it ends in a slash
    add(above + "lib/");
    if (PPRT_LIBRARY_FOLDER[0] != '/') // as lib64
      add(above + PPRT_LIBRARY_FOLDER + "/");
  }
  Dl_info runtime; // libpprt.so, unless the program has it all
  if (dladdr(reinterpret_cast<void *>(&folders), &runtime) && runtime.dli_fname)
    add(folderOf(runtime.dli_fname));
  return result;
}
