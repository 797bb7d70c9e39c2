// Tests data whose ids are text where training read integers, or the reverse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/hash.h"
#include "base/status_matchers.h"
#include "checkpoint/format/chunk_digests.h"
#include "checkpoint/format/manifest.h"
#include "proto/checkpoint_manifest.pb.h"
#include "proto/checkpoint_state.pb.h"
#include "tests/e2e/program_test.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRows = 120;

// The place of the digest in a manifest.
constexpr size_t kDigestBegin = 14, kDigestSize = 32;

constexpr char kJob[] = R"(
train {
  train_data { path: "train.csv" batch_size: 40 }
  eval_data { data { path: "train.csv" batch_size: 40 } }
  feature { name: "label" kind: LABEL }
  feature { name: "user" transform { hash {} } }
  table { name: "user" dim: 4 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [4] } }
  max_epochs: 2
}
run { output_dir: "out" threads: 1 }
)";

class ColumnTypesTest : public ProgramTest {
 protected:
  ColumnTypesTest() {
    for (const char* name : {"train", "new"}) {
      write_table(name, DataConfig::CSV);
      write_table(name, DataConfig::PARQUET);
    }
    write("job.textproto", kJob);
  }

  // Writes the data with integers in "user".
  void write_table(const std::string& name, DataConfig::Format format) const {
    TestColumn::Rows<int64_t> labels(kRows), users(kRows);
    for (int64_t row = 0; row < kRows; ++row) {
      labels[row] = {row % 3 == 0 ? 1 : 0};
      users[row] = {row % 17};
    }
    TestTable table;
    table.columns.push_back({.name = "label", .rows = std::move(labels)});
    table.columns.push_back({.name = "user", .rows = std::move(users)});
    ASSERT_OK(write_data_file(table, format, 0, path(absl::StrCat(name, extension_of(format)))));
  }

  void refused(std::vector<std::string> arguments, const std::string& what) const {
    const ProgramResult result = millrace(std::move(arguments));
    EXPECT_EQ(result.exit_code, kUsage) << result.err;
    EXPECT_THAT(result.last_error(), HasSubstr(what));
  }

  // Converts a checkpoint of one rank to format version 2, which has no types.
  void make_version_2(const std::string& checkpoint) const {
    const std::string state_name = checkpoint + "/state-00000-of-00001.pb";
    const std::string chunks_name = checkpoint + "/chunks-00000-of-00001.xxh";
    CheckpointState state;
    ASSERT_TRUE(state.ParseFromString(read(state_name)));
    ASSERT_EQ(state.shared().train_data().column_size(), 1);
    state.mutable_shared()->mutable_train_data()->clear_column();
    write(state_name, state.SerializeAsString());
    ASSERT_OK_AND_ASSIGN(std::vector<FileChunks> files, parse_chunks(read(chunks_name)));
    for (FileChunks& file : files) {
      if (file.name == "state-00000-of-00001.pb") file = chunks_of(file.name, read(state_name));
    }
    write(chunks_name, format_chunks(files));
    ASSERT_OK_AND_ASSIGN(CheckpointManifest manifest,
                         parse_manifest(read(checkpoint + "/manifest.json")));
    manifest.clear_train_columns();
    for (CheckpointManifest::File& file : *manifest.mutable_files()) {
      const std::string content = read(absl::StrCat(checkpoint, "/", file.name()));
      file.set_size(static_cast<int64_t>(content.size()));
      file.set_digest(format_digest(file_digest(chunks_of(file.name(), content).digests)));
    }
    ASSERT_OK_AND_ASSIGN(std::string text, format_manifest(manifest));
    text = absl::StrReplaceAll(text, {{"\"format_version\": 3", "\"format_version\": 2"}});
    text.replace(kDigestBegin, kDigestSize, std::string(kDigestSize, '0'));
    write(checkpoint + "/manifest.json",
          text.replace(kDigestBegin, kDigestSize, format_digest(xxh3_128(text))));
  }

  // Trains on `trained`, and uses the model on `other`, whose values have another type.
  void expect_refused(const std::string& trained, const std::string& other,
                      const std::string& message) {
    millrace_ok({"train", "job.textproto", "--train_data", "train" + trained, "--eval_data",
                 "train" + trained, "--max_epochs", "1"});
    const std::string checkpoint = newest_checkpoint("out");
    millrace_ok({"evaluate", "--checkpoint", "out", "--eval_data", "new" + trained});
    refused({"evaluate", "--checkpoint", "out", "--eval_data", "new" + other},
            checkpoint + ": --eval_data: " + message);
    millrace_ok({"predict", "--checkpoint", "out", "--data", "new" + trained, "--output", "p.csv"});
    refused({"predict", "--checkpoint", "out", "--data", "new" + other, "--output", "q.csv"},
            checkpoint + ": --data: " + message);
    EXPECT_FALSE(exists("q.csv"));
    refused({"train", "job.textproto", "--train_data", "new" + other, "--eval_data", "new" + other},
            "train.train_data: " + message);
    millrace_ok({"train", "job.textproto", "--train_data", "new" + trained, "--eval_data",
                 "new" + trained});
  }
};

TEST_F(ColumnTypesTest, IntegersWhereTrainingReadText) {
  expect_refused(".csv", ".parquet",
                 "column \"user\" holds numbers in new.parquet, but text in training (train.csv), "
                 "so that equal values would get other ids; store the column as text (string), as "
                 "in train.csv");
  const nlohmann::json shown =
      nlohmann::json::parse(millrace_ok({"checkpoint", "show", "out", "--json"}).out);
  EXPECT_EQ(shown["train_columns"],
            nlohmann::json::parse(R"([{"name": "user", "cells": "text", "file": "new.csv"}])"));
}

TEST_F(ColumnTypesTest, TextWhereTrainingReadIntegers) {
  expect_refused(".parquet", ".csv",
                 "column \"user\" holds text in new.csv, but numbers in training (train.parquet), "
                 "so that equal values would get other ids; store the column as numbers, as in "
                 "train.parquet");
}

TEST_F(ColumnTypesTest, ACheckpointOfTheModelAloneKnowsTheTypesToo) {
  millrace_ok({"train", "job.textproto", "--set", "run.checkpoint.when={every_steps: 2}", "--set",
               "run.checkpoint.full_last=1"});
  const ProgramResult model = millrace({"predict", "--checkpoint", "out/checkpoints/step-00000004",
                                        "--data", "new.parquet", "--output", "p.csv"});
  EXPECT_EQ(model.exit_code, kUsage) << model.err;
  EXPECT_THAT(model.last_error(), HasSubstr("column \"user\" holds numbers in new.parquet"));
}

TEST_F(ColumnTypesTest, ACheckpointOfVersionTwoIsUsedOnAnyType) {
  millrace_ok({"train", "job.textproto", "--max_epochs", "1"});
  const std::vector<std::string> evaluate = {"evaluate", "--checkpoint", "out", "--eval_data",
                                             "new.parquet"};
  refused(evaluate, "column \"user\" holds numbers in new.parquet");
  make_version_2(newest_checkpoint("out"));
  const nlohmann::json shown =
      nlohmann::json::parse(millrace_ok({"checkpoint", "show", "out", "--json"}).out);
  EXPECT_EQ(shown["format_version"], 2);
  EXPECT_EQ(shown["train_columns"], nlohmann::json::array());
  millrace_ok({"checkpoint", "verify", "out"});
  millrace_ok(evaluate);
  const ProgramResult resumed = millrace_ok(
      {"train", "job.textproto", "--train_data", "new.parquet", "--eval_data", "new.parquet"});
  EXPECT_THAT(resumed.err, HasSubstr("step 3, 120 examples"));
}

TEST_F(ColumnTypesTest, EvaluationSetsHaveTheTypesOfTraining) {
  refused({"train", "job.textproto", "--eval_data", "new.parquet"},
          "train.eval_data \"eval\": column \"user\" holds numbers in new.parquet");
  EXPECT_FALSE(exists("out"));
  millrace_ok({"train", "job.textproto", "--eval_data", "new.parquet", "--set",
               "run.evaluation.enabled=false"});
}

TEST_F(ColumnTypesTest, IdsThatAreNotHashedMayBeOfEitherType) {
  const std::vector<std::string> plain = {"--set", "train.feature[1].transform=[]"};
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), plain.begin(), plain.end());
    return millrace_ok(std::move(arguments));
  };
  run({"train", "job.textproto", "--max_epochs", "1", "--eval_data", "new.parquet"});
  run({"evaluate", "job.textproto", "--checkpoint", "out", "--eval_data", "new.parquet"});
  run({"train", "job.textproto", "--train_data", "new.parquet"});
}

// The types of the last window before the checkpoint count.
TEST_F(ColumnTypesTest, StreamsKnowTheTypesOfTheirWindows) {
  std::filesystem::create_directory(path("windows"));
  write("windows/a.csv", read("train.csv"));
  write("windows/_END", "");
  std::string job = kJob;
  job.replace(job.find("path: \"train.csv\""), 17,
              "format: CSV windows { directory { path: \"windows\" } }");
  job.erase(job.find("max_epochs: 2"), 13);
  write("job.textproto", job);
  millrace_ok({"train", "job.textproto"});
  refused({"predict", "--checkpoint", "out", "--data", "new.parquet", "--output", "p.csv"},
          "column \"user\" holds numbers in new.parquet, but text in training (a.csv)");
}

}  // namespace
}  // namespace millrace
