#include "proto/config_reader.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "proto/model_configs.pb.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

TrainConfig expanded(absl::string_view text) {
  TrainConfig config;
  EXPECT_OK(parse_text(text, "test", &config));
  expand_names(&config);
  return config;
}

TEST(ParseTextTest, ErrorsNameSourceLineAndColumn) {
  JobConfig config;
  EXPECT_THAT(parse_text("train {\n  sed: 3\n}", "job.textproto", &config),
              StatusIs(kInvalid,
                       "job.textproto:2:6: TrainConfig has no field \"sed\"; did you "
                       "mean \"seed\"?"));
}

TEST(ParseTextTest, MergesAndLeavesTheMessageAloneOnErrors) {
  JobConfig config;
  ASSERT_OK(parse_text("train { seed: 3 max_epochs: 2 }", "a", &config));
  ASSERT_OK(parse_text("train { seed: 4 }", "b", &config));
  EXPECT_EQ(config.train().seed(), 4u);
  EXPECT_EQ(config.train().max_epochs(), 2);
  EXPECT_FALSE(parse_text("train { seed: 5 bad: 1 }", "c", &config).ok());
  EXPECT_EQ(config.train().seed(), 4u);
}

TEST(ReadJobConfigTest, ReadsAFile) {
  const std::string path = testing::TempDir() + "/config_reader_test.textproto";
  ASSERT_OK(write_file_atomically(FileSystem::local(), path,
                                  "# a comment\ntrain { seed: 7 }\nrun { output_dir: \"x\" }\n"));
  ASSERT_OK_AND_ASSIGN(const JobConfig config, read_job_config(FileSystem::local(), path));
  EXPECT_EQ(config.train().seed(), 7u);
  EXPECT_EQ(config.run().output_dir(), "x");
}

TEST(ReadJobConfigTest, ErrorsNameTheFile) {
  const std::string path = testing::TempDir() + "/config_reader_test_bad.textproto";
  ASSERT_OK(write_file_atomically(FileSystem::local(), path, "train { seed: x }"));
  EXPECT_THAT(read_job_config(FileSystem::local(), path),
              StatusIs(kInvalid, HasSubstr(path + ":1:15: ")));
  EXPECT_THAT(read_job_config(FileSystem::local(), path + ".missing"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(".missing")));
  EXPECT_THAT(read_job_config(FileSystem::local(), testing::TempDir()),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

class IncludeTest : public testing::Test {
 protected:
  void write(const std::string& name, absl::string_view text) {
    ASSERT_OK(files_.create_directories(directory_of(join_path(directory_, name))));
    ASSERT_OK(write_file_atomically(files_, join_path(directory_, name), text));
  }
  absl::StatusOr<JobConfig> read(const std::string& name) {
    return read_job_config(files_, join_path(directory_, name));
  }

  FileSystem& files_ = FileSystem::local();
  const std::string directory_ =
      testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(IncludeTest, MergesUnderTheFileThatIncludes) {
  ASSERT_EQ(setenv("MILLRACE_TEST_PARTS", "parts", 1), 0);
  write("job.textproto", R"(include: ["base.textproto", "${env:MILLRACE_TEST_PARTS}/sgd.textproto"]
                            train { max_steps: 7 feature { name: "c" } })");
  write("base.textproto", R"(train { seed: 2 max_steps: 3 feature { name: "a" }
                                     optimizer { learning_rate: 0.5 adam {} } }
                             run { output_dir: "base" })");
  write("parts/sgd.textproto", R"(include: "more.textproto" train { optimizer { sgd {} } })");
  write("parts/more.textproto", R"(train { feature { name: "b" } seed: 4 })");
  ASSERT_OK_AND_ASSIGN(const JobConfig config, read("job.textproto"));
  EXPECT_EQ(config.include_size(), 0);
  EXPECT_EQ(config.train().seed(), 4u) << "a later file wins";
  EXPECT_EQ(config.train().max_steps(), 7) << "the including file wins";
  EXPECT_TRUE(config.train().optimizer().has_sgd());
  EXPECT_EQ(config.train().optimizer().learning_rate(), 0.5);
  EXPECT_EQ(config.run().output_dir(), "base");
  ASSERT_EQ(config.train().feature_size(), 3) << "lists append";
  EXPECT_EQ(config.train().feature(0).name(), "a");
  EXPECT_EQ(config.train().feature(1).name(), "b");
  EXPECT_EQ(config.train().feature(2).name(), "c");
}

TEST_F(IncludeTest, ErrorsNameTheFiles) {
  write("circle.textproto", R"(include: "other.textproto")");
  write("other.textproto", R"(include: "circle.textproto")");
  EXPECT_THAT(
      read("circle.textproto"),
      StatusIs(kInvalid, AllOf(HasSubstr("in a circle: "), HasSubstr("circle.textproto, then "),
                               HasSubstr("; remove one include"))));
  write("missing.textproto", R"(include: "nowhere.textproto")");
  EXPECT_THAT(
      read("missing.textproto"),
      StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("missing.textproto: include[0]: "),
                                                  HasSubstr("nowhere.textproto"))));
  write("wrong.textproto", R"(include: "bad.textproto")");
  write("bad.textproto", "train {\n  sed: 1 }");
  EXPECT_THAT(read("wrong.textproto"), StatusIs(kInvalid, HasSubstr("bad.textproto:2:6: ")));
  for (int i = 0; i < 20; ++i) {
    write(absl::StrCat("deep", i, ".textproto"),
          absl::StrCat("include: \"deep", i + 1, ".textproto\""));
  }
  EXPECT_THAT(read("deep0.textproto"),
              StatusIs(kInvalid, HasSubstr("files include one another more than 16 deep: ")));
}

TEST(ExpandNamesTest, RangesBecomeOneEntryForEachNumber) {
  const TrainConfig config = expanded(R"(
      feature { name: "c{8..10}" column: "cat_{}" table: "t{}" transform { modulo { divisor: 9 } } }
      feature { name: "label" kind: LABEL }
      table { name: "t{8..10}" dim: 4 })");
  ASSERT_EQ(config.feature_size(), 4);
  EXPECT_EQ(config.feature(0).name(), "c8");
  EXPECT_EQ(config.feature(2).name(), "c10");
  EXPECT_EQ(config.feature(2).column(), "cat_10");
  EXPECT_EQ(config.feature(2).table(), "t10");
  EXPECT_EQ(config.feature(2).transform(0).modulo().divisor(), 9u);
  EXPECT_EQ(config.feature(3).name(), "label");
  ASSERT_EQ(config.table_size(), 3);
  EXPECT_EQ(config.table(1).name(), "t9");
  EXPECT_EQ(config.table(1).dim(), 4);
}

TEST(ExpandNamesTest, FeaturesWithoutATableGetOneOfTheirName) {
  const TrainConfig config = expanded(R"(
      feature { name: "user" }
      feature { name: "c{1..2}" }
      feature { name: "shared" table: "user" }
      feature { name: "label" kind: LABEL }
      table { name: "user" dim: 32 }
      default_table { dim: 8 })");
  ASSERT_EQ(config.table_size(), 3);
  EXPECT_EQ(config.table(0).dim(), 32);
  EXPECT_EQ(config.table(1).name(), "c1");
  EXPECT_EQ(config.table(2).name(), "c2");
  EXPECT_EQ(config.table(2).dim(), 8);
  EXPECT_FALSE(config.has_default_table());
}

TEST(ExpandNamesTest, NoTableIsMadeForANameThatAFeatureGives) {
  const TrainConfig config = expanded(R"(feature { name: "a" table: "misspelt" })");
  EXPECT_EQ(config.table_size(), 0);
}

TEST(ExpandNamesTest, ADefaultTableThatIsWrongStays) {
  EXPECT_TRUE(expanded("feature { name: 'a' } default_table { name: 'b' }").has_default_table());
  EXPECT_TRUE(expanded("feature { name: 'a' } table { name: 'a' } default_table { dim: 2 }")
                  .has_default_table());
}

TEST(ExpandNamesTest, ColumnAndTableDefaultToTheName) {
  const TrainConfig config = expanded(R"(
      feature { name: "c{1..2}" }
      feature { name: "user" column: "user_id" table: "users" }
      feature { name: "price" kind: DENSE })");
  EXPECT_EQ(config.feature(1).column(), "c2");
  EXPECT_EQ(config.feature(1).table(), "c2");
  EXPECT_EQ(config.feature(2).column(), "user_id");
  EXPECT_EQ(config.feature(2).table(), "users");
  EXPECT_EQ(config.feature(3).column(), "price");
  EXPECT_FALSE(config.feature(3).has_table()) << "only sparse features look up a table";
}

TEST(ExpandNamesTest, SeveralRangesAndIdempotence) {
  TrainConfig config = expanded(R"(feature { name: "f{1..2}_{3..4}" column: "x{}" })");
  std::vector<std::string> names, columns;
  for (const FeatureConfig& feature : config.feature()) {
    names.push_back(feature.name());
    columns.push_back(feature.column());
  }
  EXPECT_THAT(names, ElementsAre("f1_3", "f1_4", "f2_3", "f2_4"));
  EXPECT_THAT(columns, ElementsAre("x1", "x1", "x2", "x2")) << "{} is the first range";
  const std::string once = to_text(config);
  expand_names(&config);
  EXPECT_EQ(to_text(config), once);
}

TEST(ExpandNamesTest, ColumnsOfData) {
  TrainConfig config = expanded(R"(
      train_data { csv { column: ["label", "c{1..2}"] hexadecimal: "c{1..2}" }
                   tfrecord { column { name: "i{1..2}" type: FLOAT } } }
      eval_data { data { csv { column: "x{7..8}" } } })");
  EXPECT_THAT(config.train_data().csv().column(), ElementsAre("label", "c1", "c2"));
  EXPECT_THAT(config.train_data().csv().hexadecimal(), ElementsAre("c1", "c2"));
  ASSERT_EQ(config.train_data().tfrecord().column_size(), 2);
  EXPECT_EQ(config.train_data().tfrecord().column(1).name(), "i2");
  EXPECT_EQ(config.train_data().tfrecord().column(1).type(), TfRecordConfig::FLOAT);
  EXPECT_THAT(config.eval_data(0).data().csv().column(), ElementsAre("x7", "x8"));
  EXPECT_FALSE(config.eval_data(0).data().has_tfrecord());
}

TEST(ExpandNamesTest, WhatIsNoRangeStays) {
  // A product of ranges that exceeds the memory of a machine stays unchanged, too.
  const TrainConfig huge = expanded(R"(feature { name: "c{1..1000000}_{1..1000000}_{1..9}" })");
  ASSERT_EQ(huge.feature_size(), 1);
  const TrainConfig config = expanded(R"(feature { name: "c{}" } feature { name: "c{3..1}" })");
  EXPECT_EQ(config.feature(0).name(), "c{}");
  EXPECT_EQ(config.feature(1).name(), "c{3..1}");
}

TEST(ToTextTest, ReadsBackEqual) {
  JobConfig config;
  ASSERT_OK(parse_text(R"(
      train { seed: 18446744073709551615
              optimizer { learning_rate: 0.1 adam { epsilon: 1e-300 } }
              feature { name: "größe\n\"" transform { clip { min: -inf max: 3 } } }
              model { name: "deepfm" [millrace.deepfm] { hidden: [8, 4] dropout: 0.3 } } })",
                       "test", &config));
  const std::string text = to_text(config);
  EXPECT_THAT(text, AllOf(HasSubstr("[millrace.deepfm] {"), HasSubstr("größe")));
  JobConfig again;
  ASSERT_OK(parse_text(text, "again", &again));
  EXPECT_EQ(again.SerializeAsString(), config.SerializeAsString());
}

TEST(ToTextWithDefaultsTest, WritesEveryDefault) {
  const std::string text = to_text_with_defaults(JobConfig());
  for (const char* part :
       {"seed: 1\n", "max_epochs: 1\n", "batch_size: 512\n", "format: AUTO\n", "jsonl: true\n",
        "learning_rate: 0.001\n", "max_in_a_row: 10\n", "output_dir: \"out\"\n", "style: AUTO\n",
        "reader_threads: 1\n", "prefetch_batches: 8\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(ToTextWithDefaultsTest, OneofsOnlyWhenSetExtensionsToo) {
  JobConfig config;
  EXPECT_THAT(to_text_with_defaults(config), Not(HasSubstr("beta1")));
  ASSERT_OK(parse_text(R"(train { optimizer { adam { beta1: 0.8 } }
                                  model { [millrace.deepfm] { } } table { name: "t" } })",
                       "test", &config));
  EXPECT_THAT(to_text_with_defaults(config),
              AllOf(HasSubstr("beta1: 0.8"), HasSubstr("beta2: 0.999"), HasSubstr("dropout: 0"),
                    HasSubstr("dim: 16")));
}

// A message whose absence has a meaning stays unset, so the text describes the same job.
TEST(ToTextWithDefaultsTest, MeansTheSame) {
  JobConfig config;
  ASSERT_OK(parse_text(R"(train { feature { name: "x" } table { name: "t" } })", "test", &config));
  JobConfig again;
  ASSERT_OK(parse_text(to_text_with_defaults(config), "again", &again));
  EXPECT_FALSE(again.train().feature(0).has_default_value());
  EXPECT_FALSE(again.train().feature(0).has_default_id());
  EXPECT_FALSE(again.train().feature(0).has_table());
  EXPECT_FALSE(again.train().table(0).has_optimizer());
  EXPECT_FALSE(again.train().train_data().has_split());
  EXPECT_FALSE(again.run().report().has_when());
  EXPECT_FALSE(again.run().evaluation().has_when());
  EXPECT_EQ(to_text_with_defaults(again), to_text_with_defaults(config));
}

}  // namespace
}  // namespace millrace
