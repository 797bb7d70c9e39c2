#include "tools/checkpoint/checkpoint_export.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/fault_file_system_testing.h"
#include "base/hash.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/outside_checkpoints.h"
#include "checkpoint/folder/referred_files.h"
#include "checkpoint/format/safetensors_file.h"
#include "checkpoint/testing/rows_checkpoint_testing.h"
#include "checkpoint/testing/small_checkpoint_testing.h"
#include "io/file_reader.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CheckpointExportTest : public testing::Test {
 protected:
  CheckpointExportTest() : folder_(fresh_test_dir()) {}

  void SetUp() override {
    base_ = {.step = 1, .rows = test_rows(6'000, 2, 1), .dense = {{"a", {1, 2}}, {"b", {3}}}};
    next_ = base_;
    next_.step = 2;
    next_.rows.erase(7);
    next_.rows[8].weights = {100, 200};
    next_.dense["a"] = {5, 6};
    next_.dense["optimizer/a/exp_avg"] = {0, 0};
    ASSERT_OK(write_rows_checkpoint(files_, path("c"), base_));
    ASSERT_OK(write_rows_checkpoint(files_, path("c"), next_, &base_));
    open("c/step-00000002");
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void open(const std::string& name) {
    ASSERT_OK_AND_ASSIGN(content_, CheckpointContent::open(files_, path(name)));
  }
  absl::StatusOr<std::vector<ExportedFile>> run(ExportOptions options) {
    return export_checkpoint(files_, *content_, options);
  }
  std::vector<std::string> names_in(const std::string& name) {
    std::vector<std::string> names;
    const auto entries = files_.list(path(name));
    EXPECT_OK(entries);
    for (const DirectoryEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }
  // Expects the rows of `rows` as weights and frequencies of the table in a safetensors file.
  void expect_rows(const std::string& name, const std::map<int64_t, TestRow>& rows) {
    ASSERT_OK_AND_ASSIGN(const auto reader, SafetensorsReader::open(files_, path(name)));
    const auto ids = numbers<int64_t>(*reader, "ids");
    const auto weights = numbers<float>(*reader, "weights");
    const auto frequencies = numbers<int64_t>(*reader, "frequency");
    ASSERT_EQ(ids.size(), rows.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      const TestRow& row = rows.at(ids[i]);
      ASSERT_EQ((std::vector<float>{weights[2 * i], weights[2 * i + 1]}), row.weights);
      ASSERT_EQ(frequencies[i], row.frequency);
      ASSERT_TRUE(i == 0 || placement_hash(ids[i - 1]) < placement_hash(ids[i]));
    }
  }
  template <typename Number>
  static std::vector<Number> numbers(const SafetensorsReader& reader, const std::string& name) {
    const auto info = reader.find("table/items/" + name);
    EXPECT_OK(info);
    std::vector<Number> values((*info)->size_bytes() / sizeof(Number));
    EXPECT_OK(reader.read(**info, absl::MakeSpan(values)));
    return values;
  }

  FileSystem& files_ = FileSystem::local();
  const std::string folder_;
  RowsCheckpoint base_, next_;
  std::unique_ptr<CheckpointContent> content_;
};

TEST_F(CheckpointExportTest, TheWholeModel) {
  ASSERT_OK_AND_ASSIGN(const auto written, run({.output = path("model/")}));
  EXPECT_THAT(names_in("model"), ElementsAre("dense.safetensors", "table-items.safetensors"));
  ASSERT_EQ(written.size(), 2);
  EXPECT_EQ(written[1].path, path("model/table-items.safetensors"));
  EXPECT_EQ(written[1].rows, 5'999);
  expect_rows("model/table-items.safetensors", next_.rows);
  ASSERT_OK_AND_ASSIGN(const auto dense,
                       SafetensorsReader::open(files_, path("model/dense.safetensors")));
  EXPECT_EQ(dense->tensors().size(), 2) << "without state of optimizers";
  ASSERT_OK_AND_ASSIGN(const TensorInfo* a, dense->find("a"));
  std::vector<float> values(2);
  ASSERT_OK(dense->read(*a, absl::MakeSpan(values)));
  EXPECT_THAT(values, ElementsAre(5, 6));
  EXPECT_EQ(dense->metadata().at("millrace.step"), "2");
  EXPECT_EQ(dense->metadata().at("millrace.format"), "export 1");
}

TEST_F(CheckpointExportTest, OneTable) {
  ASSERT_OK(run({.output = path("items.st"), .table = "items"}));
  expect_rows("items.st", next_.rows);
  open("c/step-00000001");
  ASSERT_OK(run({.output = path("items1.st"), .table = "items"}));
  expect_rows("items1.st", base_.rows);
}

TEST_F(CheckpointExportTest, WhatADeltaChanged) {
  ASSERT_OK_AND_ASSIGN(const auto written,
                       run({.output = path("delta.st"), .table = "items", .delta = true}));
  EXPECT_EQ(written[0].rows, 1);
  EXPECT_EQ(written[0].removed, 1);
  expect_rows("delta.st", {{8, next_.rows[8]}});
  ASSERT_OK_AND_ASSIGN(const auto reader, SafetensorsReader::open(files_, path("delta.st")));
  EXPECT_THAT(numbers<int64_t>(*reader, "tombstones"), ElementsAre(7));
  EXPECT_EQ(reader->metadata().at("millrace.format"), "export delta 1");
  EXPECT_EQ(reader->metadata().at("millrace.base_step"), "1");
  ASSERT_OK(run({.output = path("delta"), .delta = true}));
  EXPECT_THAT(names_in("delta"), ElementsAre("dense.safetensors", "table-items.safetensors"));
  open("c/step-00000001");
  EXPECT_THAT(run({.output = path("none"), .delta = true}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is no delta")));
}

TEST_F(CheckpointExportTest, Parquet) {
  ASSERT_OK(run({.output = path("model"), .format = ExportFormat::kParquet}));
  EXPECT_THAT(names_in("model"), ElementsAre("dense.safetensors", "table-items.parquet"));
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       open_file(files_, path("model/table-items.parquet"), DataConfig()));
  int64_t rows = 0;
  for (const int64_t group : reader->group_rows()) rows += group;
  EXPECT_EQ(rows, 5'999);
  std::vector<std::string> names;
  for (const auto& column : reader->columns()) names.push_back(column.name);
  EXPECT_THAT(names, ElementsAre("id", "weights", "frequency", "last_step"));
}

TEST_F(CheckpointExportTest, ModelOnlyCheckpoints) {
  next_.row_state = false;
  ASSERT_OK(write_rows_checkpoint(files_, path("m"), next_));
  open("m/step-00000002");
  ASSERT_OK(run({.output = path("items.st"), .table = "items"}));
  ASSERT_OK_AND_ASSIGN(const auto reader, SafetensorsReader::open(files_, path("items.st")));
  EXPECT_EQ(reader->tensors().size(), 2) << "ids and weights";
}

TEST_F(CheckpointExportTest, PlacesThatAreRefused) {
  const auto expect = [&](const std::string& output, absl::StatusCode code, const char* what) {
    const std::vector<std::string> before = names_in("");
    EXPECT_THAT(run({.output = path(output)}).status(), StatusIs(code, HasSubstr(what)));
    EXPECT_THAT(run({.output = path(output), .table = "items"}).status(),
                StatusIs(code, HasSubstr(what)));
    EXPECT_EQ(names_in(""), before);
  };
  expect("c", absl::StatusCode::kPermissionDenied, "is there already");
  expect("x/y", absl::StatusCode::kPermissionDenied, "there is no directory");
  expect("c/step-00000002/x", absl::StatusCode::kPermissionDenied, "lie in the checkpoint");
  expect("c/step-00000009", absl::StatusCode::kInvalidArgument, "pass for a checkpoint");
  EXPECT_THAT(run({.output = path("t"), .table = "user"}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no table \"user\"")));
  EXPECT_OK(CheckpointContent::open(files_, path("c/step-00000002")));
}

TEST_F(CheckpointExportTest, Formats) {
  ASSERT_OK_AND_ASSIGN(const ExportFormat parquet, parse_export_format("parquet"));
  EXPECT_EQ(parquet, ExportFormat::kParquet);
  ASSERT_OK_AND_ASSIGN(const ExportFormat safetensors, parse_export_format("safetensors"));
  EXPECT_EQ(safetensors, ExportFormat::kSafetensors);
  EXPECT_THAT(parse_export_format("csv").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"csv\"")));
}

// Every call fails in turn, and no unfinished output remains.
TEST_F(CheckpointExportTest, AllOrNothing) {
  for (const std::string table : {"", "items"}) {
    for (const ExportFormat format : {ExportFormat::kSafetensors, ExportFormat::kParquet}) {
      const ExportOptions options = {.output = path("out"), .table = table, .format = format};
      int64_t spared = 0;
      for (int64_t n = 0;; ++n) {
        FaultFileSystem faulty(files_);
        faulty.fail(n, 1, absl::UnavailableError("injected"));
        const auto status = export_checkpoint(faulty, *content_, options).status();
        if (faulty.calls() <= n) {
          ASSERT_OK(status);
          break;
        }
        // Failures without effect: searching for leftovers and for the lock, removing the lock.
        if (status.ok()) {
          ++spared;
          ASSERT_OK(remove_recursively(files_, path("out")));
          remove_recursively(files_, aside_path(path("out")) + ".lock").IgnoreError();
          EXPECT_THAT(names_in(""), ElementsAre("c")) << "call " << n;
          continue;
        }
        const bool last = files_.link_info(path("out")).ok();  // the very last sync failed
        if (last) {
          ASSERT_OK(remove_recursively(files_, path("out")));
        }
        EXPECT_THAT(names_in(""), ElementsAre("c")) << "call " << n << ": " << status;
      }
      ASSERT_OK(remove_recursively(files_, path("out")));
      // Searches for checkpoints above the output are harmless, too.
      FaultFileSystem looks(files_);
      ASSERT_OK(check_outside_checkpoints(looks, path("out")));
      EXPECT_LE(spared, 4 + looks.calls());
    }
  }
}

// Simulates a process that was killed during an export.
TEST_F(CheckpointExportTest, WhatAKilledExportLeftGoes) {
  const pid_t process = ::fork();
  if (process == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(process, nullptr, 0), process);
  for (const std::string table : {"", "items"}) {
    const std::string left = absl::StrCat("out.millrace.tmp-", process);
    if (table.empty()) {
      ASSERT_OK(files_.create_directories(path(left)));
      ASSERT_OK(write_file_atomically(files_, path(left + "/dense.safetensors"), "half"));
      ASSERT_OK(write_file_atomically(files_, path(left + ".lock"), ""));
    } else {
      ASSERT_OK(write_file_atomically(files_, path(left), "half"));
    }
    ASSERT_OK(run({.output = path("out"), .table = table}));
    EXPECT_THAT(names_in(""), ElementsAre("c", "out"));
    ASSERT_OK(remove_recursively(files_, path("out")));
  }
}

TEST_F(CheckpointExportTest, DamageIsAnError) {
  const std::string shard = path("c/step-00000001/table-items-00001-of-00002.safetensors");
  ASSERT_OK_AND_ASSIGN(std::string bytes, read_file(files_, shard));
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_OK(write_file_atomically(files_, shard, bytes));
  EXPECT_THAT(run({.output = path("model")}).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(shard + " is damaged")));
  EXPECT_THAT(names_in(""), ElementsAre("c"));
}

class ReferredExportTest : public CheckpointExportTest {
 protected:
  void SetUp() override {
    CheckpointExportTest::SetUp();
    for (const char* folder : {"x", "y"}) {
      const std::string words = path(std::string(folder) + "/words.txt");
      ASSERT_OK(files_.create_directories(path(folder)));
      ASSERT_OK(write_file_atomically(files_, words, std::string("word of ") + folder + "\n"));
      ASSERT_OK_AND_ASSIGN(const FileIdentity identity, identify_file(files_, words));
      CheckpointManifest::ReferredFile& file = *manifest_.add_referred_files();
      file.set_path(words);
      file.set_size(identity.size_bytes);
      file.set_digest(identity.digest);
      file.add_used_by(std::string("feature/") + folder + "/transform/0");
    }
    ASSERT_OK(files_.create_directories(path("to")));
  }
  absl::StatusOr<std::vector<std::string>> copy() {
    return export_referred_files(files_, manifest_, files_, path("to"));
  }
  CheckpointManifest manifest_;
};

TEST_F(ReferredExportTest, FilesKeepTheirNamesAndAreListed) {
  ASSERT_OK_AND_ASSIGN(const auto written, copy());
  EXPECT_THAT(written,
              ElementsAre(path("to/referred_files/words.txt"),
                          path("to/referred_files/1-words.txt"), path("to/referred_files.json")));
  EXPECT_EQ(*read_file(files_, written[0]), "word of x\n");
  EXPECT_EQ(*read_file(files_, written[1]), "word of y\n");
  const auto index = nlohmann::json::parse(*read_file(files_, written[2]));
  ASSERT_EQ(index.size(), 2);
  EXPECT_EQ(index[1]["file"], "referred_files/1-words.txt");
  EXPECT_EQ(index[1]["path"], path("y/words.txt"));
  EXPECT_EQ(index[1]["used_by"][0], "feature/y/transform/0");
  manifest_.clear_referred_files();
  ASSERT_OK_AND_ASSIGN(const auto none, copy());
  EXPECT_TRUE(none.empty());
}

TEST_F(ReferredExportTest, UrisAndPipesOfAManifestAreNotOpened) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const int writer = ::open(path("pipe").c_str(), O_RDWR);  // so that no opening waits for one
  for (const std::string& from : {path("pipe"), "file://" + path("y/words.txt")}) {
    manifest_.mutable_referred_files(1)->set_path(from);
    EXPECT_THAT(copy().status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(from), HasSubstr("--no_referred_files"))));
  }
  ::close(writer);
}

TEST_F(ReferredExportTest, WhatIsNotWhatItWasIsAnError) {
  ASSERT_OK(write_file_atomically(files_, path("y/words.txt"), "other\n"));
  EXPECT_THAT(copy().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(path("y/words.txt")), HasSubstr("--no_referred_files"))));
  ASSERT_OK(files_.remove(path("y/words.txt")));
  EXPECT_THAT(copy().status(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(path("y/words.txt")), HasSubstr("--no_referred_files"))));
}

}  // namespace
}  // namespace millrace
