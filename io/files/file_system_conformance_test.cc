// Checks the promises of file systems for local files behind file:// and for files in memory, and
// checks the suite with a file system breaking a promise.

#include "io/files/file_system_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "io/files/uri_file_system.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using Contents = std::map<std::string, std::string>;

FileSystemSubject make_local(const Contents& contents) {
  static std::atomic<int> directories = 0;
  FileSystem& local = FileSystem::local();
  const std::string directory =
      join_path(testing::TempDir(), absl::StrCat("file_system_conformance_", ++directories));
  if (local.info(directory).ok()) EXPECT_OK(remove_recursively(local, directory));
  for (const auto& [name, content] : contents) {
    const std::string path = join_path(directory, name);
    EXPECT_OK(local.create_directories(directory_of(path)));
    EXPECT_OK(write_file_atomically(local, path, content));
  }
  return {std::make_unique<UriFileSystem>(local),
          absl::StrCat("file://", absolute_path(directory))};
}

FileSystemSubject make_memory(std::unique_ptr<MemoryFileSystem> files, const Contents& contents) {
  const std::string directory = "/memory/directory";  // its globs take no URIs
  for (const auto& [name, content] : contents) files->put(join_path(directory, name), content);
  return {std::move(files), directory};
}

FileSystemConformance memory() {
  return {.make =
              [](const Contents& contents) {
                return make_memory(std::make_unique<MemoryFileSystem>(), contents);
              },
          .has_braces = false};
}

[[maybe_unused]] const bool kLocal =
    register_file_system_conformance("LocalFiles", {.make = make_local});
[[maybe_unused]] const bool kMemory = register_file_system_conformance("MemoryFiles", memory());

enum class Fault {
  kNone,
  kWrongSize,
  kNamesNoFile,
  kFailsBeyondTheEnd,
  kReadsShort,
  kFailsOnOtherThreads,
  kDirectoriesAreFiles,
  kHasNoLinkInfo,
  kListsInReverse,
  kListsNoKinds,
  kMatchesHiddenFiles,
  kMatchesMissingDirectories,
  kMissingIsUnavailable,
  kErrorsNameNothing,
  kDirectoriesAreMissing,
};

// A file in memory, optionally breaking a promise.
class FaultyFile : public ReadableFile {
 public:
  FaultyFile(Fault fault, std::unique_ptr<ReadableFile> file)
      : fault_(fault),
        file_(std::move(file)),
        path_(fault == Fault::kNamesNoFile ? "" : file_->path()) {}

  const std::string& path() const override { return path_; }
  int64_t size_bytes() const override {
    return file_->size_bytes() + (fault_ == Fault::kWrongSize ? 1 : 0);
  }
  absl::StatusOr<int64_t> read_at(int64_t offset, int64_t count, void* buffer) override {
    if (fault_ == Fault::kFailsBeyondTheEnd && offset > file_->size_bytes()) {
      return absl::UnavailableError("beyond the end");
    }
    if (fault_ == Fault::kFailsOnOtherThreads && std::this_thread::get_id() != made_on_) {
      return absl::UnavailableError("another thread");
    }
    if (fault_ == Fault::kReadsShort) count = std::min<int64_t>(count, 100);
    return file_->read_at(offset, count, buffer);
  }

 private:
  const Fault fault_;
  const std::unique_ptr<ReadableFile> file_;
  const std::string path_;
  const std::thread::id made_on_ = std::this_thread::get_id();
};

// Files in memory, optionally breaking a promise.
class FaultyFiles : public MemoryFileSystem {
 public:
  explicit FaultyFiles(Fault fault) : fault_(fault) {}

  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    absl::StatusOr<std::unique_ptr<ReadableFile>> file = MemoryFileSystem::open(path);
    if (!file.ok()) return faulty(file.status());
    return std::make_unique<FaultyFile>(fault_, *std::move(file));
  }
  absl::StatusOr<FileInfo> info(const std::string& path) override {
    absl::StatusOr<FileInfo> info = MemoryFileSystem::info(path);
    if (!info.ok()) return faulty(info.status());
    if (fault_ == Fault::kDirectoriesAreFiles) info->kind = FileKind::kRegular;
    return info;
  }
  absl::StatusOr<FileInfo> link_info(const std::string& path) override {
    if (fault_ == Fault::kHasNoLinkInfo && MemoryFileSystem::info(path).ok()) {
      return absl::UnimplementedError("link_info");
    }
    return info(path);
  }
  absl::StatusOr<std::vector<std::string>> glob(const std::string& pattern) override {
    const std::string directory = directory_of(pattern);
    const bool is_pattern = directory.find_first_of("*?[\\") != std::string::npos;
    if (fault_ == Fault::kMatchesMissingDirectories && !is_pattern) {
      RETURN_IF_ERROR(MemoryFileSystem::info(directory).status());
    }
    ASSIGN_OR_RETURN(std::vector<std::string> paths, MemoryFileSystem::glob(pattern));
    if (fault_ == Fault::kMatchesHiddenFiles && base_name(pattern) == "*.csv" && !is_pattern) {
      paths.insert(paths.begin(), join_path(directory, ".hidden.csv"));
    }
    return paths;
  }
  absl::StatusOr<std::vector<DirectoryEntry>> list(const std::string& path) override {
    absl::StatusOr<std::vector<DirectoryEntry>> entries = MemoryFileSystem::list(path);
    if (!entries.ok()) return faulty(entries.status());
    if (fault_ == Fault::kListsInReverse) std::reverse(entries->begin(), entries->end());
    for (DirectoryEntry& entry : *entries) {
      if (fault_ == Fault::kListsNoKinds) entry.kind = FileKind::kRegular;
    }
    return entries;
  }

 private:
  absl::Status faulty(const absl::Status& status) const {
    if (fault_ == Fault::kErrorsNameNothing) return absl::Status(status.code(), "failed");
    if (fault_ == Fault::kMissingIsUnavailable && absl::IsNotFound(status)) {
      return absl::UnavailableError(status.message());
    }
    if (fault_ == Fault::kDirectoriesAreMissing && absl::IsFailedPrecondition(status)) {
      return absl::NotFoundError(status.message());
    }
    return status;
  }

  const Fault fault_;
};

std::vector<std::string> failing(Fault fault) {
  FileSystemConformance conformance = memory();
  conformance.make = [=](const Contents& contents) {
    return make_memory(std::make_unique<FaultyFiles>(fault), contents);
  };
  return failing_properties(file_system_properties(conformance));
}

TEST(FileSystemConformanceTest, EachFaultFailsItsProperty) {
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kWrongSize), IsSupersetOf({"ReadsFiles"}));
  EXPECT_THAT(failing(Fault::kNamesNoFile), ElementsAre("ReadsFiles"));
  EXPECT_THAT(failing(Fault::kFailsBeyondTheEnd), ElementsAre("ReadsAnyPlace"));
  EXPECT_THAT(failing(Fault::kReadsShort), IsSupersetOf({"ReadsFiles", "ReadsAnyPlace"}));
  EXPECT_THAT(failing(Fault::kFailsOnOtherThreads), ElementsAre("ReadsOnSeveralThreads"));
  EXPECT_THAT(failing(Fault::kDirectoriesAreFiles), ElementsAre("DescribesFilesAndDirectories"));
  EXPECT_THAT(failing(Fault::kHasNoLinkInfo), ElementsAre("DescribesFilesAndDirectories"));
  EXPECT_THAT(failing(Fault::kListsInReverse), ElementsAre("ListsDirectories"));
  EXPECT_THAT(failing(Fault::kListsNoKinds), ElementsAre("ListsDirectories"));
  EXPECT_THAT(failing(Fault::kMatchesHiddenFiles), ElementsAre("MatchesPatterns"));
  EXPECT_THAT(failing(Fault::kMatchesMissingDirectories), ElementsAre("MatchesPatterns"));
  EXPECT_THAT(failing(Fault::kMissingIsUnavailable), ElementsAre("NamesMissingFiles"));
  EXPECT_THAT(failing(Fault::kErrorsNameNothing),
              ElementsAre("NamesMissingFiles", "TellsFilesFromDirectories"));
  EXPECT_THAT(failing(Fault::kDirectoriesAreMissing), ElementsAre("TellsFilesFromDirectories"));
}

TEST(FileSystemConformanceTest, MissingBracesMustBeSaid) {
  FileSystemConformance conformance = memory();
  conformance.has_braces = true;
  EXPECT_THAT(failing_properties(file_system_properties(conformance)),
              ElementsAre("MatchesPatterns"));
}

}  // namespace
}  // namespace millrace
