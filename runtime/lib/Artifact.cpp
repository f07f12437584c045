//===- Artifact.cpp - reading and writing .ppx files ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Artifact.h"
#include "pprt/Checks.h"
#include "pprt/Files.h"

using namespace pprt;

static Status bad(const std::string &name, const std::string &message) {
  return Status(ExitCode::badArtifact, name + ": " + message);
}

/// FlatBuffers 2.0 verifies the alignment of fields and of the lengths of
/// vectors, but not that of vector elements, which matters for 8-byte ones.
static bool elementsAreAligned(const ppx::Artifact &artifact) {
  bool aligned = true;
  auto look = [&](const flatbuffers::Vector<uint64_t> *vector) {
    if (vector && reinterpret_cast<uintptr_t>(vector->Data()) % 8 != 0)
      aligned = false;
  };
  auto lookAtView = [&](const ppx::MatrixView *view) {
    if (view)
      look(view->batch());
  };
  auto forEach = [](const auto *tables, auto visit) {
    for (flatbuffers::uoffset_t i = 0; tables && i < tables->size(); ++i)
      visit(*tables->Get(i));
  };
  forEach(artifact.programs(), [&](const ppx::Program &program) {
    forEach(program.slots(), [&](const ppx::Slot &s) { look(s.shape()); });
  });
  forEach(artifact.kernels(), [&](const ppx::Kernel &kernel) {
    const ppx::Contraction *body = kernel.body_as_Contraction();
    if (!body)
      return;
    look(body->batch());
    for (const ppx::MatrixView *view : {body->lhs(), body->rhs(), body->out()})
      lookAtView(view);
    forEach(body->epilogues(),
            [&](const ppx::Epilogue &e) { lookAtView(e.view()); });
  });
  forEach(artifact.arguments(), [&](const ppx::Argument &argument) {
    look(argument.shape());
    look(argument.stored_shape());
    look(argument.padded_shape());
  });
  forEach(artifact.outputs(), [&](const ppx::Output &output) {
    look(output.shape());
    look(output.padded_shape());
  });
  return aligned;
}

Expected<ppx::ArtifactT> pprt::parseArtifact(const uint8_t *bytes, size_t size,
                                             const std::string &name) {
  // Root offset and file identifier.
  constexpr size_t headerSize = 8;
  if (size < headerSize)
    return bad(name, "expects an artifact, got a file of " +
                         std::to_string(size) + " bytes");
  if (!ppx::ArtifactBufferHasIdentifier(bytes))
    return bad(name, std::string("expects the file identifier ") +
                         ppx::ArtifactIdentifier() + ", got another format");
  // Each table takes an entry in a vector and its own head: a file in which
  // the verifier meets more refers to the same tables over and over.
  constexpr size_t smallestTable = 8;
  constexpr unsigned maximumDepth = 16;
  flatbuffers::Verifier verifier(
      bytes, size, maximumDepth,
      flatbuffers::uoffset_t(size / smallestTable + 16));
  if (size > FLATBUFFERS_MAX_BUFFER_SIZE ||
      !ppx::VerifyArtifactBuffer(verifier) ||
      !elementsAreAligned(*ppx::GetArtifact(bytes)))
    return bad(name, "expects a complete artifact, got " +
                         std::to_string(size) +
                         " bytes that are truncated or damaged");
  ppx::ArtifactT artifact;
  ppx::GetArtifact(bytes)->UnPackTo(&artifact);
  CheckResult structure = checkStructure(artifact);
  if (!structure.ok())
    return bad(name, structure.status().message());
  return artifact;
}

Expected<ppx::ArtifactT> pprt::loadArtifact(const std::string &path) {
  Expected<std::string> content = readFile(path, FLATBUFFERS_MAX_BUFFER_SIZE);
  if (!content)
    return content.status();
  return parseArtifact(reinterpret_cast<const uint8_t *>(content->data()),
                       content->size(), path);
}

std::vector<uint8_t> pprt::packArtifact(const ppx::ArtifactT &artifact) {
  flatbuffers::FlatBufferBuilder builder;
  ppx::FinishArtifactBuffer(builder, ppx::Artifact::Pack(builder, &artifact));
  return {builder.GetBufferPointer(),
          builder.GetBufferPointer() + builder.GetSize()};
}

Status pprt::saveArtifact(const ppx::ArtifactT &artifact,
                          const std::string &path) {
  const std::vector<uint8_t> bytes = packArtifact(artifact);
  return writeFile(path, bytes.data(), bytes.size());
}
