#include "job/report/report_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "io/transform/hash_functions.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

JobConfig parse(absl::string_view text) {
  JobConfig config;
  EXPECT_OK(parse_text(text, "the test", &config));
  return config;
}

TEST(ReportOptionsTest, Slices) {
  const JobConfig config = parse(R"(train {
    feature { name: "label" kind: LABEL }
    feature { name: "a" } feature { name: "b" }
    table { name: "a" dim: 2 } table { name: "b" dim: 2 }
    slice { feature: "b" id: [3, 4] metric: "auc" }
    slice { feature: "a" max_ids: 5 } })");
  ASSERT_OK_AND_ASSIGN(const FeatureSchema schema, FeatureSchema::create(config.train()));
  ASSERT_OK_AND_ASSIGN(const std::vector<SliceOptions> slices,
                       slice_options(config.train(), schema, FileSystem::local()));
  ASSERT_EQ(slices.size(), 2);
  EXPECT_EQ(slices[0].name, "b");
  EXPECT_EQ(slices[0].feature, 1);
  EXPECT_THAT(slices[0].ids, ElementsAre(3, 4));
  EXPECT_THAT(slices[0].metrics, ElementsAre("auc"));
  EXPECT_EQ(slices[1].feature, 0);
  EXPECT_EQ(slices[1].max_ids, 5);
}

TEST(ReportOptionsTest, SlicesByText) {
  const auto slices_of = [](absl::string_view slice) {
    const JobConfig config = parse(absl::StrCat(R"(train {
      feature { name: "label" kind: LABEL } feature { name: "a" transform { hash {} } }
      feature { name: "b" } table { name: "a" dim: 2 } table { name: "b" dim: 2 }
      slice { )",
                                                slice, "} }"));
    const auto schema = FeatureSchema::create(config.train());
    EXPECT_OK(schema);
    return slice_options(config.train(), *schema, FileSystem::local());
  };
  const auto hash = static_cast<int64_t>(hash_bytes(HashTransform::XXH3, "DE", 0));
  ASSERT_OK_AND_ASSIGN(const std::vector<SliceOptions> slices,
                       slices_of(R"(feature: "a" id: 7 text: "DE")"));
  EXPECT_THAT(slices[0].ids, ElementsAre(7, hash));
  EXPECT_THAT(slices[0].id_names, ElementsAre(testing::Pair(hash, "DE")));
  EXPECT_THAT(slices_of(absl::StrCat(R"(feature: "a" text: "DE" id: )", hash)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has a slice already")));
  EXPECT_THAT(slices_of(R"(feature: "b" text: "DE")"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("makes no ids of text")));
}

TEST(ReportOptionsTest, SpansReportAtTheirEnds) {
  const JobConfig config = parse("run { report { span: EPOCH span: MOVING moving_reports: 4 } }");
  const SpanOptions spans = span_options(config.run().report());
  EXPECT_THAT(spans.spans, ElementsAre(ReportConfig::EPOCH, ReportConfig::MOVING));
  EXPECT_EQ(spans.moving_reports, 4);
  const Cadence cadence = report_cadence(config.run().report(), {.every_steps = 7});
  EXPECT_EQ(cadence.every_steps, 7);
  EXPECT_EQ(cadence.every_epochs, 1);
  EXPECT_EQ(cadence.every_windows, 0);
}

std::string cadence(const std::string& config, const std::string& set) {
  EvaluationConfig evaluation;
  EXPECT_OK(parse_text(config, "test", &evaluation));
  return evaluation_cadence(evaluation, set).to_string();
}

TEST(ReportOptionsTest, MetricsWithoutSpansAreNamed) {
  const auto warning = [](const std::string& text) {
    JobConfig config;
    EXPECT_OK(parse_text(text, "test", &config));
    return span_warning(config);
  };
  EXPECT_EQ(warning("train { metric: 'auc' }"), "");
  EXPECT_EQ(warning("train { metric: 'auc' } run { report { span: MOVING } }"), "");
  EXPECT_EQ(warning("train { metric: 'mean' } run { report { span: EPOCH } }"), "");
  EXPECT_THAT(warning("run { report { span: EPOCH } }"), testing::HasSubstr("have no auc, which"));
  EXPECT_THAT(
      warning("train { metric: ['pr_auc', 'mean', 'ndcg@5'] } run { report { span: TOTAL } }"),
      testing::HasSubstr("have no pr_auc, ndcg@5, which"));
}

TEST(EvaluationCadenceTest, ByDefaultAtTheEnd) { EXPECT_EQ(cadence("", "eval"), "at end"); }

TEST(EvaluationCadenceTest, SetsWithoutAnEntryFollowTheCommonCadence) {
  const std::string config =
      "when { every_steps: 10 } set { name: 'slow' when { every_epochs: 2 } }";
  EXPECT_EQ(cadence(config, "eval"), "every 10 steps");
  EXPECT_EQ(cadence(config, "slow"), "every 2 epochs");
}

TEST(EvaluationCadenceTest, AnEntryReplacesTheCommonCadence) {
  EXPECT_EQ(cadence("set { name: 'slow' when { every_steps: 5 } }", "slow"), "every 5 steps")
      << "not at the end too";
  EXPECT_EQ(cadence("when { every_steps: 10 } set { name: 'slow' when {} }", "slow"),
            cadence("when {}", "slow"))
      << "never";
}

constexpr char kFeatures[] = R"(
  feature { name: "label" kind: LABEL }
  feature { name: "country" }
  feature { name: "price" kind: DENSE })";

absl::Status check(const std::string& train, const std::string& run = "") {
  return check_report(parse("train {" + std::string(kFeatures) + train + "} run {" + run + "}"));
}

TEST(ReportCheckTest, GoodOnesPass) {
  EXPECT_OK(check(""));
  EXPECT_OK(check(R"(slice { feature: "country" id: [1, 2] metric: "auc" })",
                  "report { span: [EPOCH, TOTAL, MOVING] }"));
  EXPECT_OK(check(R"(feature { name: "user" kind: GROUP_ID } metric: "gauc" metric: "ndcg@10")"));
}

TEST(ReportCheckTest, MistakesOfSlices) {
  const auto expect = [](const std::string& slice, const std::string& what) {
    EXPECT_THAT(check("slice {" + slice + "}"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  expect("", "train.slice[0]: feature is missing");
  expect("feature: \"price\"", "is of kind DENSE; slices are those of a SPARSE one");
  expect("feature: \"contry\"", "did you mean \"country\"?");
  expect("feature: \"country\" max_ids: 0", "max_ids is 0");
  expect("feature: \"country\" max_ids: 1001", "max_ids is 1001");
  expect("feature: \"country\" max_ids: 3 id: 4", "id and max_ids are both given");
  expect("feature: \"country\" id: 4 id: 4", "id 4 is given twice");
  expect("feature: \"country\" max_ids: 3 text: \"DE\"", "text and max_ids are both given");
  expect("feature: \"country\" text: \"DE\" text: \"DE\"", "text \"DE\" is given twice");
  expect("feature: \"country\" id: -3 text: \"-3\"", "text \"-3\" and id -3 would have one name");
  EXPECT_OK(check(R"(slice { feature: "country" id: 3 text: "03" })"));
  for (const char* text : {"", "a/b", "a=b", "other", "none"}) {
    expect(absl::StrCat("feature: \"country\" text: \"", text, "\""), "in the name of a metric");
  }
  expect("feature: \"country\" metric: \"acu\"", "train.slice[0] \"country\".metric[0]");
  expect("feature: \"country\" metric: \"auc\" metric: \"auc\"", "the metric is named before");
  EXPECT_THAT(check(R"(slice { feature: "country" } slice { feature: "country" })"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has slices before")));
}

TEST(ReportCheckTest, MistakesOfSpans) {
  const auto expect = [](const std::string& report, const std::string& what) {
    EXPECT_THAT(check("", "report {" + report + "}"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  expect("span: EPOCH span: EPOCH", "EPOCH is given twice");
  expect("span: WINDOW", "train.train_data has no windows");
  expect("span: MOVING moving_reports: 1", "moving_reports is 1");
  expect("span: TOTAL moving_reports: 5", "there is no span MOVING");
  EXPECT_THAT(
      check(R"(feature { name: "total" kind: LABEL })", "report { span: TOTAL }"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a label is named \"total\"")));
}

TEST(ReportCheckTest, MetricsInGroupsNeedAGroup) {
  EXPECT_THAT(check("metric: \"gauc\""), StatusIs(absl::StatusCode::kInvalidArgument,
                                                  HasSubstr("no feature has kind GROUP_ID")));
  EXPECT_THAT(
      check("slice { feature: \"country\" metric: \"ndcg@5\" }"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no feature has kind GROUP_ID")));
}

}  // namespace
}  // namespace millrace
