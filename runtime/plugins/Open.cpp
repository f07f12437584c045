//===- Open.cpp - finds and opens libraries at run time -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Libraries are found relative to the program, wherever it was installed.
//
//===----------------------------------------------------------------------===//
#include "Plugins.h"
#include "pprt/Lack.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

using namespace pprt;

static std::string folderOf(const std::string &file) {
  return file.substr(0, file.rfind('/') + 1);
}

/// Returns the folders to search, with a slash, each once.
static std::vector<std::string> folders() {
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
    if (PPRT_LIBRARY_FOLDER[0] != '/') // a relative path like lib64
      add(above + PPRT_LIBRARY_FOLDER + "/");
  }
  Dl_info runtime; // libpprt.so, unless the program contains it
  if (dladdr(reinterpret_cast<void *>(&folders), &runtime) && runtime.dli_fname)
    add(folderOf(runtime.dli_fname));
  return result;
}

/// `places`: where the library was searched for, if it was not found there.
static Status cannotOpen(const plugins::Wanted &wanted, const std::string &path,
                         const std::string &places) {
  const std::string reason = dlerror();
  if (wanted.needs && places.empty())
    return Status(wanted.code, "'" + path + "' expects " + wanted.needs +
                                   ", got: " + reason);
  return Status(wanted.code, std::string("expects ") + wanted.name + " in " +
                                 places + "or where the system looks (" +
                                 wanted.advice + "), got: " + reason);
}

Expected<void *> plugins::open(const Wanted &wanted, const std::string &given) {
  std::string path = given, places;
  for (const std::string &folder : folders()) {
    places += "'" + folder + "', ";
    if (const std::string file = folder + wanted.name;
        path.empty() && access(file.c_str(), R_OK) == 0)
      path = file;
  }
  if (!path.empty() && wanted.needs)
    places = "";
  if (path.empty())
    path = wanted.name;
  void *handle = dlopen(
      path.c_str(), RTLD_NOW | (wanted.isGlobal ? RTLD_GLOBAL : RTLD_LOCAL));
  if (!handle)
    return findLack(wanted.name, wanted.bytes,
                    cannotOpen(wanted, path, places));
  auto *itsBuild =
      reinterpret_cast<const char *(*)()>(dlsym(handle, wanted.build));
  if (!itsBuild || std::strcmp(itsBuild(), build()) != 0)
    return Status(wanted.code, "'" + path +
                                   "' expects a program of its own build, got "
                                   "another: install both from one");
  return handle;
}
