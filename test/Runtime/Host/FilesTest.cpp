//===- FilesTest.cpp - Whole files or none --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The guarantees of pprt/Files.h, on this machine's file system.
//
//===----------------------------------------------------------------------===//
#include "pprt/Files.h"
#include "TestFiles.h"

#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace pprt;

TEST_F(FilesTest, InputsThatCannotBeRead) {
  Status missing = InputFile::open(path("missing")).status();
  EXPECT_EQ(missing.code(), ExitCode::io);
  EXPECT_EQ(shorten(missing.message(), folder),
            "missing: cannot open: No such file or directory");
  EXPECT_EQ(InputFile::open(folder).status().message(),
            folder + ": expects a regular file or a pipe, got a directory");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(shorten(InputFile::open(path("pipe")).status().message(), folder),
            "pipe: expects data in the pipe, got an empty one");
}

/// As a shell's <(command) passes it.
TEST_F(FilesTest, PipesAreReadAsFiles) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "12345", 5), 5);
  close(ends[1]);
  Expected<InputFile> file =
      InputFile::open("/dev/fd/" + std::to_string(ends[0]));
  close(ends[0]);
  ASSERT_TRUE(file) << file.status().message();
  EXPECT_EQ(file->size(), 5u);
  char buffer[4] = {};
  EXPECT_TRUE(file->read(1, buffer, 4).ok());
  EXPECT_EQ(std::string(buffer, 4), "2345");
  EXPECT_NE(
      file->read(3, buffer, 4)
          .message()
          .find("expects 2 more bytes at offset 5, got the end of the file"),
      std::string::npos);
}

/// Files of one size, differing in the first MiB or in the last one.
TEST_F(FilesTest, FingerprintsTellFilesApart) {
  const auto fingerprint = [&](const std::string &content) {
    const auto file = InputFile::open(put("a", content));
    return *file->fingerprint();
  };
  const std::string content(3 << 20, 'a');
  for (size_t at :
       {size_t(0), content.size() - (1 << 20), content.size() - 1}) {
    std::string other = content;
    other[at] = 'b';
    EXPECT_NE(fingerprint(other), fingerprint(content)) << at;
  }
  EXPECT_NE(fingerprint("a"), fingerprint("b"));
  EXPECT_NE(fingerprint(content + "a"), fingerprint(content));
  EXPECT_EQ(fingerprint(content), fingerprint(content));
}

TEST_F(FilesTest, KnowsAFileByAnyPath) {
  const std::string file = put("a", "1");
  std::filesystem::create_symlink("a", path("link"));
  std::filesystem::create_hard_link(file, path("hard"));
  for (const char *other : {"a", "link", "hard", "./a"})
    EXPECT_TRUE(isSameFile(file, path(other))) << other;
  put("b", "1");
  EXPECT_FALSE(isSameFile(file, path("b")));
  EXPECT_FALSE(isSameFile(file, path("new")));
  // Files that do not exist yet are compared by name.
  EXPECT_TRUE(isSameFile(path("new"), path("./new")));
  EXPECT_FALSE(isSameFile(path("new"), path("other")));
  // Writing to a device, a pipe, or nowhere destroys nothing.
  EXPECT_FALSE(isSameFile("/dev/null", "/dev/null"));
  EXPECT_FALSE(isSameFile(folder, folder));
  EXPECT_FALSE(isSameFile("", ""));
  EXPECT_FALSE(isSameFile("-", "-"));
}

TEST_F(FilesTest, ReadsPastTheEnd) {
  Expected<InputFile> file = InputFile::open(put("a", "12345"));
  ASSERT_TRUE(file);
  char buffer[4] = {};
  EXPECT_TRUE(file->read(1, buffer, 4).ok());
  EXPECT_EQ(std::string(buffer, 4), "2345");
  EXPECT_EQ(shorten(file->read(3, buffer, 4).message(), folder),
            "a: expects 2 more bytes at offset 5, got the end of the file");
}

TEST_F(FilesTest, ReadsAWholeFileUpToALimit) {
  EXPECT_EQ(*readFile(put("a", "12345"), 5), "12345");
  EXPECT_EQ(shorten(readFile(path("a"), 4).status().message(), folder),
            "a: expects at most 4 bytes, got 5");
}

TEST_F(FilesTest, OutputAppearsWhenCommitted) {
  put("out", "old");
  {
    Expected<OutputFile> file = OutputFile::create(path("out"));
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->write("new", 3).ok());
    EXPECT_EQ(get("out"), "old");
    EXPECT_TRUE(file->commit().ok());
  }
  EXPECT_EQ(get("out"), "new");
  EXPECT_EQ(fileCount(), 1u);
}

// It is written in blocks, and not all by the same way.
TEST_F(FilesTest, LargeOutputIsWhole) {
  std::string text(2500000, ' ');
  for (size_t i = 0; i < text.size(); ++i)
    text[i] = char('a' + i * 7 % 23);
  Expected<OutputFile> file = OutputFile::create(path("out"));
  ASSERT_TRUE(file);
  for (size_t at = 0, part = 1; at < text.size(); at += part, part *= 3)
    EXPECT_TRUE(
        file->write(text.data() + at, std::min(part, text.size() - at)).ok());
  EXPECT_TRUE(file->commit().ok());
  EXPECT_TRUE(get("out") == text);
}

TEST_F(FilesTest, OutputThatIsAbandonedLeavesNothing) {
  {
    Expected<OutputFile> file = OutputFile::create(path("out"));
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->write("half", 4).ok());
  }
  EXPECT_EQ(fileCount(), 0u);
}

// The action of a signal handler.
TEST_F(FilesTest, UnfinishedFilesCanBeRemoved) {
  put("done", "whole");
  // More than once, and more files than there is room for.
  for (int round = 0; round < 3; ++round) {
    std::vector<OutputFile> files;
    for (int i = 0; i < 20; ++i) {
      Expected<OutputFile> file =
          OutputFile::create(path("out" + std::to_string(i)));
      ASSERT_TRUE(file);
      files.push_back(std::move(*file));
    }
    EXPECT_TRUE(files.back().commit().ok());
    EXPECT_EQ(fileCount(), 21u);
    removeUnfinishedFiles();
    EXPECT_EQ(fileCount(), 2u + 3u); // 16 of 19
    EXPECT_EQ(get("done"), "whole");
    files.clear();
    std::filesystem::remove(path("out19"));
  }
  EXPECT_EQ(fileCount(), 1u);
}

TEST_F(FilesTest, NobodyForeseesATemporaryName) {
  std::set<std::string> names;
  for (int i = 0; i < 4; ++i) {
    Expected<OutputFile> file = OutputFile::create(path("out"));
    ASSERT_TRUE(file);
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      names.insert(entry.path().filename());
  }
  EXPECT_EQ(names.size(), 4u);
  for (const std::string &name : names)
    EXPECT_EQ(name.size(), std::string("out.tmp.0123456789abcdef").size());
}

TEST_F(FilesTest, OutputThroughALinkReplacesItsTarget) {
  put("target", "old");
  std::filesystem::create_symlink("target", path("link"));
  EXPECT_TRUE(writeFile(path("link"), "new", 3).ok());
  EXPECT_EQ(get("target"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  std::filesystem::create_symlink("none", path("other"));
  EXPECT_TRUE(writeFile(path("other"), "new", 3).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path("other")));
  EXPECT_EQ(get("none"), "new");
}

TEST_F(FilesTest, WritableIsKnownWithoutWriting) {
  put("out", "old");
  EXPECT_TRUE(checkWritable(path("out")).ok());
  EXPECT_TRUE(checkWritable(path("new")).ok());
  EXPECT_EQ(get("out"), "old");
  EXPECT_EQ(fileCount(), 1u);
  EXPECT_EQ(checkWritable(path("no/such/folder")).code(), ExitCode::io);
  EXPECT_EQ(checkWritable(folder).code(), ExitCode::io);
  // There is no reader: opening it would wait for ever.
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(checkWritable(path("pipe")).ok());
}

TEST_F(FilesTest, OutputsThatCannotBeWritten) {
  EXPECT_EQ(writeFile(folder, "x", 1).message(),
            folder + ": expects a file, got a directory");
  Status status = writeFile(path("no/such/folder"), "x", 1);
  EXPECT_EQ(status.code(), ExitCode::io);
  EXPECT_EQ(shorten(status.message(), folder),
            "no/such/folder: cannot create: No such file or directory");
  // Every write to this device fails as on a full disk.
  status = writeFile("/dev/full", "x", 1);
  EXPECT_EQ(status.message(),
            "/dev/full: cannot write: No space left on device");
  EXPECT_TRUE(writeFile("/dev/null", "x", 1).ok());
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(shorten(writeFile(path("pipe"), "x", 1).message(), folder),
            "pipe: expects a pipe with a reader, got one without");
}
