#include "base/recording_file_system_testing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> texts(const RecordingFileSystem& files) {
  static const char* const kNames[] = {"create", "write",  "sync",    "mkdir", "rename",
                                       "link",   "remove", "syncdir", "mark"};
  std::vector<std::string> texts;
  for (const FileOperation& operation : files.operations()) {
    std::string text =
        absl::StrCat(kNames[static_cast<int>(operation.kind)], " ", operation.path, operation.to);
    if (operation.file >= 0) absl::StrAppend(&text, "#", operation.file, "@", operation.offset);
    texts.push_back(text + operation.bytes);
  }
  return texts;
}

TEST(RecordingFileSystemTest, WritesDownWhatChanges) {
  MemoryFileSystem memory;
  RecordingFileSystem files(memory);
  ASSERT_OK(files.create_directories("a/b"));
  ASSERT_OK(files.create_directories("a/b"));
  ASSERT_OK_AND_ASSIGN(auto placed, files.create_new("a/b/f", 4));
  ASSERT_OK(placed->write_at(2, "xy"));
  ASSERT_OK(placed->sync());
  ASSERT_OK(placed->close());
  ASSERT_OK_AND_ASSIGN(auto out, files.create("g"));
  ASSERT_OK(out->append("12"));
  ASSERT_OK(out->append("3"));
  ASSERT_OK_AND_ASSIGN(auto more, files.open_for_append("g"));
  ASSERT_OK(more->append("4"));
  files.mark("done");
  ASSERT_OK(files.rename("g", "h"));
  ASSERT_OK(files.link("h", "a/h"));
  EXPECT_FALSE(files.link("h", "a/h").ok());
  ASSERT_OK(files.sync_directory("a"));
  ASSERT_OK(files.remove("h"));
  EXPECT_FALSE(files.remove("h").ok()) << "what fails is not recorded";
  EXPECT_THAT(texts(files), ElementsAre("mkdir a", "mkdir a/b", "create a/b/f#0@4", "write #0@2xy",
                                        "sync #0@0", "create g#1@0", "write #1@012", "write #1@23",
                                        "create g#2@0", "write #2@0123", "write #2@34", "mark done",
                                        "rename gh", "link ha/h", "syncdir a", "remove h"));
  EXPECT_THAT(read_file(files, "a/b/f"), IsOkAndHolds(std::string("\0\0xy", 4)));
}

}  // namespace
}  // namespace millrace
