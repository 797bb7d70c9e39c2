// Tests `millrace train` on a bucket. MILLRACE_S3_SERVER names a server program that takes `-p
// PORT` and prints "Running on", such as the moto_server that `./bazelw test_setup` installs.
#include <arrow/filesystem/filesystem.h>
#include <arrow/filesystem/s3fs.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/status_matchers.h"
#include "distributed/process_ranks_testing.h"
#include "tests/e2e/streaming_case.h"
#include "tests/environment/skip.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

// Runs the server $0 on port $1. Prints that it runs, and reads its log, whose pipe would fill.
constexpr char kServe[] =
    "exec \"$0\" -p \"$1\" 2> >(grep -m1 --line-buffered 'Running on' >&2; cat > /dev/null)";

class S3Test : public StreamingCase {
 protected:
  void SetUp() override {
    const char* server = ::getenv("MILLRACE_S3_SERVER");
    if (server == nullptr) {
      GTEST_SKIP() << skip_not_provided("MILLRACE_S3_SERVER",
                                        "./bazelw test_setup installs a server");
    }
    const ReservedPort port = free_port();
    server_ = std::make_unique<RunningProgram>(
        std::vector<std::string>{"/bin/bash", "-c", kServe, server, absl::StrCat(port.number)},
        ProgramOptions{.directory = "", .timeout = std::chrono::seconds(55)});
    ASSERT_TRUE(server_->wait_for("Running on"));
    ::setenv("AWS_ENDPOINT_URL", absl::StrCat("http://127.0.0.1:", port.number).c_str(), 1);
    ::setenv("AWS_REGION", "us-east-1", 1);
    ::setenv("AWS_ACCESS_KEY_ID", "test", 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", "test", 1);
    ASSERT_TRUE(arrow::fs::EnsureS3Initialized().ok());
    arrow::fs::S3Options options = arrow::fs::S3Options::Defaults();
    options.allow_bucket_creation = true;
    options.scheme = "http";
    options.endpoint_override = absl::StrCat("127.0.0.1:", port.number);
    const auto files = arrow::fs::S3FileSystem::Make(options);
    ASSERT_TRUE(files.ok()) << files.status();
    bucket_ = *files;
    const arrow::Status made = bucket_->CreateDir("bucket");
    ASSERT_TRUE(made.ok()) << made;
  }
  static void TearDownTestSuite() { EXPECT_TRUE(arrow::fs::EnsureS3Finalized().ok()); }
  void TearDown() override {
    bucket_.reset();
    if (server_ == nullptr) return;
    server_->send(SIGKILL);
    server_->finish();
  }

  void put(const std::string& key, const std::string& content) {
    const auto stream = bucket_->OpenOutputStream("bucket/" + key);
    ASSERT_TRUE(stream.ok()) << stream.status();
    ASSERT_TRUE((*stream)->Write(content).ok());
    ASSERT_TRUE((*stream)->Close().ok());
  }
  // Writes the file of this number in incoming/ as an object.
  void put_produced(int64_t number) {
    produce(number);
    const std::string name = absl::StrFormat("incoming/part-%04d.csv", number);
    put(name, read(name));
  }

  std::unique_ptr<RunningProgram> server_;
  std::shared_ptr<arrow::fs::FileSystem> bucket_;
};

TEST_F(S3Test, ABucketThatGrowsTrainsAsADirectoryDoes) {
  write("s3.textproto",
        absl::StrReplaceAll(read("job.textproto"),
                            {{"path: \"incoming\"", "path: \"s3://bucket/incoming\""}}));
  put_produced(0);
  RunningProgram program({millrace_path(), "train", "s3.textproto"}, {.directory = path("")});
  ASSERT_TRUE(program.wait_for("waiting since"));
  put_produced(1);
  ASSERT_TRUE(program.wait_for("step 8 "));
  program.send(SIGKILL);
  program.finish();
  put_produced(2);
  put("incoming/_END", "");
  produce_end();
  const ProgramResult rest = millrace({"train", "s3.textproto"});
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_EQ(trained("out"), produced(3));
  const ProgramResult local = run({"--output_dir", "local"});
  ASSERT_EQ(local.exit_code, 0) << local.err;
  EXPECT_EQ(content_of("out"), content_of("local"));
}

constexpr char kFilesJob[] = R"(
train {
  train_data { path: "%s" batch_size: 128 shuffle_rows: 500 }
  feature { name: "label" kind: LABEL }
  feature { name: "c" }
  table { name: "c" dim: 4 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [4] } }
}
run { threads: 1 checkpoint { when { at_end: true } } }
)";

TEST_F(S3Test, EveryFormatIsReadFromABucket) {
  TestColumn::Rows<int64_t> labels, ids;
  for (int64_t row = 0; row < 1000; ++row) {
    labels.push_back({row % 2});
    ids.push_back({row * 77 % 300});
  }
  const TestTable table = {{{"label", labels}, {"c", ids}}};
  for (const auto& [format, name] :
       {std::pair{DataConfig::PARQUET, "a.parquet"}, std::pair{DataConfig::ORC, "a.orc"},
        std::pair{DataConfig::CSV, "a.csv"}, std::pair{DataConfig::TFRECORD, "a.tfrecord.gz"}}) {
    SCOPED_TRACE(name);
    ASSERT_OK(write_data_file(table, format, 300, path(name)));
    put(absl::StrCat("data/", name), read(name));
    write("here.textproto", absl::StrFormat(kFilesJob, name));
    write("there.textproto", absl::StrFormat(kFilesJob, absl::StrCat("s3://bucket/d*/", name)));
    millrace_ok({"train", "here.textproto", "--output_dir", absl::StrCat("here-", name)});
    millrace_ok({"train", "there.textproto", "--output_dir", absl::StrCat("there-", name)});
    EXPECT_EQ(content_of(absl::StrCat("here-", name)), content_of(absl::StrCat("there-", name)));
  }
}

TEST_F(S3Test, TwoStarsTakeObjectsAtAnyDepth) {
  for (const std::string name :
       {"data/part-0.csv", "data/day=1/part-1.csv", "data/day=1/hour,{2}/part-2.csv",
        "data/day=1/other.csv", "data/.old/part-3.csv", "part-4.csv"}) {
    std::string rows = "label,c\n";
    for (int64_t row = 0; row < 100; ++row) absl::StrAppend(&rows, row % 2, ",", row % 30, "\n");
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    write(name, rows);
    put(name, rows);
  }
  const auto train = [&](const std::string& pattern, const std::string& output_dir) {
    write("job.textproto", absl::StrFormat(kFilesJob, pattern));
    return run({"--output_dir", output_dir});
  };
  ASSERT_EQ(train("data/**/part-*.csv", "here").exit_code, 0);
  const ProgramResult there = train("s3://bucket/data/**/part-*.csv", "there");
  ASSERT_EQ(there.exit_code, 0) << there.err;
  EXPECT_EQ(read_json("there/summary.json")["examples"], 300);
  EXPECT_EQ(content_of("here"), content_of("there"));
  const ProgramResult whole = train("s3://bucket/**/part-*.csv", "whole");
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(read_json("whole/summary.json")["examples"], 400) << "the bucket itself, too";
  EXPECT_EQ(train("s3://bucket/**/none-*.csv", "none").exit_code, kNoInput);
  EXPECT_EQ(train("s3://bucket/part-**.csv", "none").exit_code, kUsage);
}

constexpr int kNotAnswered = 74;  // an error of reading or writing
constexpr char kBucket[] = "--set=run.places.checkpoints=s3://bucket/run";

TEST_F(S3Test, CheckpointsInABucketAreAsOnADisk) {
  std::string rows = "label,c\n";
  for (int64_t row = 0; row < 4000; ++row) {
    absl::StrAppend(&rows, row % 2, ",", row * 77 % 500, "\n");
  }
  write("a.csv", rows);
  write("job.textproto", absl::StrFormat(kFilesJob, "a.csv"));
  const std::vector<std::string> common = {
      "--set=run.checkpoint.when.every_steps=5", "--set=run.checkpoint.max_deltas=2",
      "--set=run.checkpoint.keep_last=2",        "--set=run.places.lease_seconds=0.5",
      "--set=run.checkpoint.asynchronous=true",  "--set=run.places.logs=far/logs",
      "--set=run.places.metrics=far/metrics"};
  const auto flags = [&](std::vector<std::string> more) {
    more.insert(more.end(), common.begin(), common.end());
    return more;
  };
  ASSERT_EQ(run(flags({"--output_dir", "local"})).exit_code, 0);
  std::filesystem::remove_all(path("far"));
  // Two ranks begin, and one goes on.
  const ProgramResult begun =
      millrace(flags({"launch", "-n", "2", "--", millrace_path(), "train", "job.textproto",
                      "--output_dir", "out", "--max_steps=12", kBucket}));
  ASSERT_EQ(begun.exit_code, 0) << begun.err;
  const ProgramResult rest = run(flags({"--output_dir", "out", kBucket}));
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_THAT(rest.err, HasSubstr("resuming from s3://bucket/run/step-00000012"));
  EXPECT_EQ(read("out/checkpoints"), "s3://bucket/run\n");
  EXPECT_TRUE(std::filesystem::is_regular_file(path("far/logs/rank-0.log")));
  EXPECT_TRUE(std::filesystem::is_regular_file(path("out/metrics/train.jsonl")));

  // Commands take the output directory or the URI.
  for (const std::string& place : {"out", "s3://bucket/run"}) {
    EXPECT_THAT(millrace_ok({"checkpoint", "verify", place}).out, HasSubstr("step-00000020: ok"));
    millrace_ok({"evaluate", "job.textproto", "--checkpoint", place, "--eval_data", "a.csv"});
  }
  EXPECT_THAT(millrace_ok({"status", "out"}).out, HasSubstr("checkpoint: s3://bucket/run/step-"));
  write("ids", "77\n");
  EXPECT_THAT(millrace_ok({"checkpoint", "forget", "out", "--table", "c", "--ids", "ids"}).out,
              HasSubstr("1 rows"));
  millrace_ok({"checkpoint", "verify", "out"});
  EXPECT_EQ(run(flags({"--output_dir", "out"})).exit_code, kCannotWrite) << "places was taken away";
  const ProgramResult elsewhere =
      run(flags({"--output_dir", "out", "--set=run.places.checkpoints=s3://bucket/other"}));
  EXPECT_EQ(elsewhere.exit_code, kCannotWrite);
  EXPECT_THAT(elsewhere.last_error(), HasSubstr("the name of another place, s3://bucket/run"));
}

TEST_F(S3Test, ABucketThatCannotHoldCheckpointsIsNamedBeforeTheFirstStep) {
  write("a.csv", "label,c\n1,2\n0,3\n");
  write("job.textproto", absl::StrFormat(kFilesJob, "a.csv"));
  const auto refused = [&](const std::string& place, int exit_code, const std::string& why) {
    const ProgramResult result = run({"--set", absl::StrCat("run.places.", place)});
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_THAT(result.last_error(), HasSubstr(why));
    EXPECT_FALSE(std::filesystem::exists(path("out/logs")));
  };
  refused("checkpoints=hdfs://node/run", kUsage, "what is there is only read");
  refused("checkpoints=s3://KEY:SECRET@bucket/run", kUsage, "has its password where");
  refused("checkpoints=s3://no-such-bucket/run", kNotAnswered, "s3://no-such-bucket/run/lock");
  refused("logs=s3://bucket/logs", kUsage, "cannot be");
  refused("checkpoints=s3:/bucket/run", kUsage, "is no URI");
  refused("checkpoints=s3://bucket", kUsage, "without a name in the bucket");
  refused("lease_seconds=0", kUsage, "lease_seconds");
}

TEST_F(S3Test, WhatIsNotThereIsNamed) {
  const auto train = [&](const std::string& path) {
    write("job.textproto", absl::StrFormat(kFilesJob, path));
    return run();
  };
  const ProgramResult bucket = train("s3://no-such-bucket/a.csv");
  EXPECT_THAT(bucket.last_error(), HasSubstr("s3://no-such-bucket/a.csv"));
  EXPECT_EQ(bucket.exit_code, kNoInput);
  server_->send(SIGKILL);
  server_->finish();
  server_.reset();
  const ProgramResult down = train("s3://bucket/a.csv");
  EXPECT_THAT(down.last_error(), HasSubstr("s3://bucket/a.csv"));
  EXPECT_NE(down.exit_code, 0);
}

}  // namespace
}  // namespace millrace
