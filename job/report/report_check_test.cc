#include "job/report/report_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr char kFeatures[] = R"(
  feature { name: "label" kind: LABEL }
  feature { name: "country" }
  feature { name: "price" kind: DENSE })";

absl::Status check(const std::string& train, const std::string& run = "") {
  JobConfig config;
  EXPECT_OK(parse_text("train {" + std::string(kFeatures) + train + "} run {" + run + "}",
                       "the test", &config));
  return check_report(config);
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
