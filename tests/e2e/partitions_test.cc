// Tests jobs on files in directories NAME=VALUE. One file stores ids as floating-point numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "tests/e2e/program_test.h"
#include "tests/e2e/small_job.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

struct Part {
  std::string day;
  std::string country;  // as in the name of the directory
  bool has_doubles;     // c1
};

const std::vector<Part> kParts = {{"2024-01-01", "fr", false},
                                  {"2024-01-01", "u%20k", true},
                                  {"2024-01-02", "fr", true},
                                  {"2024-01-02", "u%20k", false}};

class PartitionsTest : public ProgramTest {
 protected:
  // Returns 200 rows, some of which lack c1.
  static TestTable table(const Part& part) {
    TestColumn::Rows<int64_t> label, ids;
    TestColumn::Rows<double> numbers, doubles;
    for (int64_t row = 0; row < 200; ++row) {
      label.push_back({row * 7 % 10 < 3});
      numbers.push_back({0.01 * static_cast<double>(row)});
      ids.emplace_back();
      if (row % 9 != 0) ids.back().push_back(row * 7 % 10);
      doubles.emplace_back(ids.back().begin(), ids.back().end());
    }
    TestColumn c1{.name = "c1", .rows = ids};
    if (part.has_doubles) c1.rows = doubles;
    return {{{.name = "label", .rows = label}, {.name = "i1", .rows = numbers}, c1}};
  }

  std::string write_table(const std::string& name, const TestTable& table) const {
    const std::string directory = std::filesystem::path(path(name)).parent_path().string();
    EXPECT_OK(FileSystem::local().create_directories(directory));
    EXPECT_OK(write_data_file(table, DataConfig::PARQUET, 64, path(name)));
    return name;
  }

  // Writes files "data/day=D/country=C/hour=H/part.parquet".
  void write_partitions() const {
    for (size_t i = 0; i < kParts.size(); ++i) {
      write_table(absl::StrCat("data/day=", kParts[i].day, "/country=", kParts[i].country,
                               "/hour=", i, "/part.parquet"),
                  table(kParts[i]));
    }
  }
  // Writes the same data as files that contain all columns.
  void write_plain() const {
    for (size_t i = 0; i < kParts.size(); ++i) {
      TestTable plain = table({.has_doubles = false});
      const std::string country = kParts[i].country == "fr" ? "fr" : "u k";
      plain.columns.push_back(
          {.name = "country", .rows = TestColumn::Rows<std::string>(200, {country})});
      plain.columns.push_back(
          {.name = "hour", .rows = TestColumn::Rows<int64_t>(200, {static_cast<int64_t>(i)})});
      write_table(absl::StrCat("plain/", i, "/part.parquet"), plain);
    }
  }

  static std::string job(const std::string& paths) {
    return small_job({.train_path = paths,
                      .eval_path = paths,
                      .dense = {"i1", "hour"},
                      .train_data = "shuffle_rows: 300",
                      .train = "feature { name: 'country' transform { hash {} } } "
                               "table { name: 'country' dim: 4 } max_epochs: 2"});
  }

  std::string train(const std::string& paths) const {
    std::filesystem::remove_all(path("out"));
    write("job.textproto", job(paths));
    millrace_ok({"train", "job.textproto"});
    return content_of("out");
  }

  // Trains one epoch on a part of the partitions.
  void train_on_split(const std::string& split) const {
    write_partitions();
    SmallJob job{.train_path = "data/**/*.parquet", .eval_path = "data/**/*.parquet"};
    job.train_data = absl::StrCat("split { ", split, " }");
    job.train = "max_epochs: 1";
    write("job.textproto", small_job(job));
    millrace_ok({"train", "job.textproto"});
  }
};

TEST_F(PartitionsTest, TrainsTheModelOfFilesWithAllColumns) {
  write_partitions();
  write_plain();
  const std::string partitioned = train("data/**/*.parquet");
  EXPECT_FALSE(partitioned.empty());
  EXPECT_EQ(partitioned, train("plain/*/*.parquet"));
}

TEST_F(PartitionsTest, SplitsByAPartition) {
  train_on_split("by: ORDER_OF_COLUMN column: 'hour' to: 3");
  EXPECT_EQ(read_json("out/summary.json")["examples"], 600);
}

TEST_F(PartitionsTest, SplitsByThePartitionOfADate) {
  train_on_split("by: ORDER_OF_COLUMN column: 'day' to: 20240102");
  EXPECT_EQ(read_json("out/summary.json")["examples"], 400) << "those of 2024-01-01";
}

TEST_F(PartitionsTest, AFirstConfigurationTrains) {
  write_partitions();
  const std::string look = millrace_ok({"data", "data/**/*.parquet"}).out;
  EXPECT_THAT(look, AllOf(HasSubstr("4 files, 800 rows, 6 columns"),
                          HasSubstr("partition: day, country, hour"),
                          HasSubstr("mixed: c1: int64 in 2 files, double in 2")));
  const Json columns =
      Json::parse(millrace_ok({"data", "data/**/*.parquet", "--json"}).out)["data"]["columns"];
  EXPECT_EQ(columns[2]["type"], "int64 in 2 files, double in 2");
  EXPECT_EQ(columns[2]["kind"], "number");
  EXPECT_EQ(columns[3]["type"], "partition");
  millrace_ok({"config", "init", "data/**/*.parquet", "--output", "job.textproto"});
  const std::string config = read("job.textproto");
  EXPECT_THAT(config, AllOf(HasSubstr("  #   day: a partition by time"),
                            HasSubstr("feature { name: \"country\" transform { hash {} } }"),
                            HasSubstr("name: \"c1\"")));
  millrace_ok({"config", "check", "job.textproto"});
  millrace_ok({"train", "job.textproto", "--threads", "1"});
  EXPECT_EQ(read_json("out/job/summary.json")["outcome"], "completed");
}

TEST_F(PartitionsTest, BadPartitionsAndTypesNameTheFiles) {
  write_partitions();
  write_table("data/day=2024-01-03/country=fr/hour=late/part.parquet", table(kParts[0]));
  write("job.textproto", job("data/**/*.parquet"));
  const ProgramResult late = millrace({"train", "job.textproto"});
  EXPECT_EQ(late.exit_code, kBadData) << late.err;
  EXPECT_THAT(late.err, AllOf(HasSubstr("hour=late/part.parquet: column hour of directory "
                                        "hour=late: \"late\" is no number")));
  TestTable texts = table(kParts[0]);
  texts.columns[2].rows = TestColumn::Rows<std::string>(200, {"a"});
  write_table("texts/a.parquet", texts);
  write_table("texts/b.parquet", table(kParts[1]));
  write("job.textproto", small_job({.train_path = "texts/*.parquet", .eval_path = "texts/*"}));
  const ProgramResult mixed = millrace({"train", "job.textproto"});
  EXPECT_EQ(mixed.exit_code, kUsage) << mixed.err;
  EXPECT_THAT(mixed.err, AllOf(HasSubstr("texts/b.parquet, column \"c1\" holds numbers (double)"),
                               HasSubstr("text (string) in texts/a.parquet")));
}

}  // namespace
}  // namespace millrace
