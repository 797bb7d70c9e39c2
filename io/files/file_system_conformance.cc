#include "io/files/file_system_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/random/philox.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
constexpr auto kNotFound = absl::StatusCode::kNotFound;
constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr const char* kOddName = "o dd+%41,ü.csv";

// Bytes of which no two places look alike.
std::string long_content() {
  std::string content;
  for (uint64_t i = 0; i < 40'000; ++i) {
    const uint64_t word = philox64(1, 0, i);
    content.append(reinterpret_cast<const char*>(&word), sizeof(word));
  }
  return content;
}

std::map<std::string, std::string> test_contents() {
  return {{"a.csv", "label,id\n1,7\n"},
          {"b.csv", long_content()},
          {"c.txt", "x"},
          {"empty.csv", ""},
          {".hidden.csv", "h"},
          {kOddName, "odd"},
          {"sub/d.csv", "d"},
          {"sub/e.txt", "e"},
          {"sub/deep/f.csv", "f"},
          {"sub2/g.csv", std::string("\0\r\n\xff", 4)}};
}

// The file system under test, with the files of test_contents().
class Subject {
 public:
  explicit Subject(const FileSystemConformance& c) : subject_(c.make(test_contents())) {}
  FileSystem& files() { return *subject_.files; }
  // Returns the URI of a path below the directory; "" is the directory.
  std::string uri(const std::string& path) const {
    return path.empty() ? subject_.directory : absl::StrCat(subject_.directory, "/", path);
  }

 private:
  const FileSystemSubject subject_;
};

// Reads up to `count` bytes from `offset`, and expects no write after the bytes.
absl::StatusOr<std::string> read(ReadableFile& file, int64_t offset, int64_t count) {
  std::string buffer(static_cast<size_t>(count) + 8, '#');
  ASSIGN_OR_RETURN(const int64_t done, file.read_at(offset, count, buffer.data()));
  EXPECT_GE(done, 0);
  EXPECT_LE(done, count);
  EXPECT_EQ(buffer.substr(static_cast<size_t>(count)), "########") << "behind the buffer";
  return buffer.substr(0, static_cast<size_t>(std::clamp<int64_t>(done, 0, count)));
}

void check_files(const FileSystemConformance& c) {
  Subject subject(c);
  for (const auto& [path, content] : test_contents()) {
    ASSERT_OK_AND_ASSIGN(const auto file, subject.files().open(subject.uri(path)));
    EXPECT_EQ(file->path(), subject.uri(path));
    EXPECT_EQ(file->size_bytes(), static_cast<int64_t>(content.size())) << path;
    ASSERT_OK_AND_ASSIGN(const std::string whole,
                         read(*file, 0, static_cast<int64_t>(content.size())));
    EXPECT_TRUE(whole == content) << path << " has other bytes";
  }
}

void check_places(const FileSystemConformance& c) {
  Subject subject(c);
  const std::string content = long_content();
  const auto size = static_cast<int64_t>(content.size());
  ASSERT_OK_AND_ASSIGN(const auto file, subject.files().open(subject.uri("b.csv")));
  const auto expect_read = [&, &file = file](int64_t offset, int64_t count) {
    const auto begin = static_cast<size_t>(std::min(offset, size));
    ASSERT_OK_AND_ASSIGN(const std::string bytes, read(*file, offset, count));
    EXPECT_TRUE(bytes == content.substr(begin, static_cast<size_t>(count)))
        << count << " bytes at " << offset << " of " << size;
  };
  for (const int64_t offset : {int64_t{0}, size / 2, size - 1, size, size + 1, size * 3}) {
    for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{100}, size, size + 100}) {
      expect_read(offset, count);
    }
  }
  for (uint64_t trial = 0; trial < 200; ++trial) {
    const auto offset = static_cast<int64_t>(philox64(2, 0, trial) % content.size());
    const auto count = static_cast<int64_t>(philox64(2, 1, trial) % (trial % 2 == 0 ? 50 : 70'000));
    if (trial % 5 == 0) file->will_need(offset, count);
    expect_read(offset, count);
  }
}

// Threads read one open file, and open files of their own.
void check_threads(const FileSystemConformance& c) {
  Subject subject(c);
  const std::string content = long_content();
  ASSERT_OK_AND_ASSIGN(const auto file, subject.files().open(subject.uri("b.csv")));
  std::vector<uint64_t> threads = {0, 1, 2, 3};
  call_on_threads(threads, [&, &file = file](uint64_t thread) {
    for (uint64_t trial = 0; trial < 50; ++trial) {
      const uint64_t offset = philox64(3, thread, trial) % content.size();
      const absl::StatusOr<std::string> bytes = read(*file, static_cast<int64_t>(offset), 1000);
      ASSERT_OK(bytes);
      EXPECT_TRUE(*bytes == content.substr(offset, 1000)) << "at " << offset;
      EXPECT_THAT(read_file(subject.files(), subject.uri("sub/d.csv")), IsOkAndHolds("d"));
      EXPECT_OK(subject.files().info(subject.uri("sub")).status());
    }
  });
}

void check_info(const FileSystemConformance& c) {
  Subject subject(c);
  const auto expect_info = [&](const std::string& path, bool is_directory, size_t size) {
    for (const bool of_link : {false, true}) {
      const std::string uri = subject.uri(path);
      ASSERT_OK_AND_ASSIGN(const FileInfo info,
                           of_link ? subject.files().link_info(uri) : subject.files().info(uri));
      EXPECT_EQ(info.is_directory, is_directory) << uri;
      EXPECT_EQ(info.kind, is_directory ? FileKind::kDirectory : FileKind::kRegular) << uri;
      if (!is_directory) EXPECT_EQ(info.size_bytes, static_cast<int64_t>(size)) << uri;
    }
  };
  for (const auto& [path, content] : test_contents()) expect_info(path, false, content.size());
  for (const char* path : {"", "sub", "sub/deep", "sub2"}) expect_info(path, true, 0);
}

void check_list(const FileSystemConformance& c) {
  Subject subject(c);
  using Entry = DirectoryEntry;
  EXPECT_THAT(subject.files().list(subject.uri("")),
              IsOkAndHolds(testing::ElementsAre(Entry{".hidden.csv"}, Entry{"a.csv"},
                                                Entry{"b.csv"}, Entry{"c.txt"}, Entry{"empty.csv"},
                                                Entry{kOddName}, Entry{"sub", FileKind::kDirectory},
                                                Entry{"sub2", FileKind::kDirectory})));
  EXPECT_THAT(subject.files().list(subject.uri("sub")),
              IsOkAndHolds(testing::ElementsAre(Entry{"d.csv"}, Entry{"deep", FileKind::kDirectory},
                                                Entry{"e.txt"})));
}

// A pattern and the paths that match it, both below the directory.
struct Match {
  std::string pattern;
  std::vector<std::string> paths;
};

void check_matches(const FileSystemConformance& c) {
  Subject subject(c);
  std::vector<Match> matches = {
      {"*.csv", {"a.csv", "b.csv", "empty.csv", kOddName}},
      {"*", {"a.csv", "b.csv", "c.txt", "empty.csv", kOddName, "sub", "sub2"}},
      {"?.csv", {"a.csv", "b.csv"}},
      {"[ac].*", {"a.csv", "c.txt"}},
      {"[!a].csv", {"b.csv"}},
      {".h*", {".hidden.csv"}},
      {"\\a.csv", {"a.csv"}},
      {"*/*.csv", {"sub/d.csv", "sub2/g.csv"}},
      {"s*/e.*", {"sub/e.txt"}},
      {"sub/*/*", {"sub/deep/f.csv"}},
      {"sub/d.csv", {"sub/d.csv"}},
      {"sub", {"sub"}},
      {"nothing", {}},
      {"nothing*", {}},
      {"nothing/*", {}},
      {"*/nothing", {}},
      {"a.csv/*", {}},
  };
  if (c.has_braces) {
    matches.push_back({"{c,a}.*", {"a.csv", "c.txt"}});
    matches.push_back({"{sub,sub2}/{d,g}.csv", {"sub/d.csv", "sub2/g.csv"}});
  }
  for (const Match& match : matches) {
    std::vector<std::string> expected;
    for (const std::string& path : match.paths) expected.push_back(subject.uri(path));
    std::sort(expected.begin(), expected.end());
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> found,
                         subject.files().glob(subject.uri(match.pattern)));
    EXPECT_EQ(found, expected) << "pattern " << match.pattern;
  }
}

void check_missing(const FileSystemConformance& c) {
  Subject subject(c);
  for (const char* path : {"none", "none.csv", "sub/none", "none/deeper", "su", "a.cs"}) {
    const std::string uri = subject.uri(path);
    const auto is_missing = StatusIs(kNotFound, HasSubstr(uri));
    EXPECT_THAT(subject.files().open(uri), is_missing);
    EXPECT_THAT(subject.files().info(uri), is_missing);
    EXPECT_THAT(subject.files().link_info(uri), is_missing);
    EXPECT_THAT(subject.files().list(uri), is_missing);
  }
}

void check_directories(const FileSystemConformance& c) {
  Subject subject(c);
  for (const char* path : {"", "sub", "sub/deep"}) {
    EXPECT_THAT(subject.files().open(subject.uri(path)),
                StatusIs(kFailedPrecondition, HasSubstr(subject.uri(path))));
  }
  for (const char* path : {"a.csv", "empty.csv", "sub/d.csv"}) {
    EXPECT_THAT(subject.files().list(subject.uri(path)),
                StatusIs(kFailedPrecondition, HasSubstr(subject.uri(path))));
  }
}

}  // namespace

std::vector<Property> file_system_properties(const FileSystemConformance& conformance) {
  const auto property = properties_of(conformance);
  return {
      property("ReadsFiles", check_files),
      property("ReadsAnyPlace", check_places),
      property("ReadsOnSeveralThreads", check_threads),
      property("DescribesFilesAndDirectories", check_info),
      property("ListsDirectories", check_list),
      property("MatchesPatterns", check_matches),
      property("NamesMissingFiles", check_missing),
      property("TellsFilesFromDirectories", check_directories),
  };
}

bool register_file_system_conformance(const std::string& suite,
                                      const FileSystemConformance& conformance,
                                      std::source_location place) {
  return register_properties(suite, file_system_properties(conformance), place);
}

}  // namespace millrace
