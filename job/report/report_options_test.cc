#include "job/report/report_options.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace millrace
