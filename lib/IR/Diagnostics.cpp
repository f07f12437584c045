//===- Diagnostics.cpp - additions to MLIR's diagnostics ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "pprt/Files.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

/// Whether MLIR can show the place as a line with a caret below: a line of
/// `source`, the text of `file`, or of another file, which it opens.
static bool canBeShown(Location location, StringRef file, StringRef source) {
  constexpr size_t widest = 200;
  auto place = location->findInstanceOf<FileLineColLoc>();
  if (!place || source.empty())
    return false;
  if (place.getFilename() != file)
    return true;
  for (unsigned line = 1; line < place.getLine(); ++line)
    source = source.split('\n').second;
  return source.split('\n').first.size() <= widest;
}

static StringRef describeSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error: ";
  case DiagnosticSeverity::Warning:
    return "warning: ";
  case DiagnosticSeverity::Remark:
    return "remark: ";
  case DiagnosticSeverity::Note:
    return "note: ";
  }
  llvm_unreachable("not a severity");
}

/// Whether `message` begins with the named thing, such as `argument "x"`.
static bool isAbout(StringRef message, StringAttr name) {
  std::string quoted;
  llvm::raw_string_ostream(quoted) << name;
  return message.split(' ').second.starts_with(quoted);
}

static std::string describeLine(FileLineColLoc line) {
  return llvm::formatv("{0}:{1}:{2}", line.getFilename().getValue(),
                       line.getLine(), line.getColumn());
}

static void print(Diagnostic &diagnostic, StringRef file, raw_ostream &out) {
  Location location = diagnostic.getLocation();
  const std::string message = diagnostic.str();
  auto line = location->findInstanceOf<FileLineColLoc>();
  out << (line ? describeLine(line) : file.str()) << ": "
      << describeSeverity(diagnostic.getSeverity());
  auto name = location->findInstanceOf<NameLoc>();
  if (!line && name && !isAbout(message, name.getName()))
    out << "at " << name.getName() << ": ";
  out << message << "\n";
}

bool pp::printPlainly(Diagnostic &diagnostic, StringRef file, StringRef source,
                      raw_ostream &out) {
  if (canBeShown(diagnostic.getLocation(), file, source))
    return false;
  print(diagnostic, file, out);
  for (Diagnostic &note : diagnostic.getNotes())
    print(note, file, out);
  return true;
}

std::string pp::describeLocation(Location location) {
  if (auto name = location->findInstanceOf<NameLoc>())
    return name.getName().str();
  auto line = location->findInstanceOf<FileLineColLoc>();
  return line ? describeLine(line) : "";
}

void pp::setExitCode(InFlightDiagnostic &diagnostic, int code) {
  if (Diagnostic *underlying = diagnostic.getUnderlyingDiagnostic())
    underlying->getMetadata().push_back(DiagnosticArgument(int64_t(code)));
}

FailureOr<std::string> pp::readFile(Operation *op, const std::string &file,
                                    uint64_t mostBytes, StringRef what) {
  pprt::Expected<std::string> text = pprt::readFile(file, mostBytes);
  if (text)
    return std::move(*text);
  InFlightDiagnostic diagnostic = op->emitError("expects ")
                                  << what << ": " << text.status().message();
  setExitCode(diagnostic, int(text.status().code()));
  return diagnostic;
}

int pp::getExitCode(Diagnostic &diagnostic) {
  for (const DiagnosticArgument &argument : diagnostic.getMetadata())
    if (argument.getKind() ==
        DiagnosticArgument::DiagnosticArgumentKind::Integer)
      return int(argument.getAsInteger());
  return 1;
}
