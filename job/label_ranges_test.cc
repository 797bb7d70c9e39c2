#include "job/label_ranges.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/status_matchers.h"
#include "framework/model/model_registry.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

absl::StatusOr<std::shared_ptr<Model>> make_none(const ModelConfig&, const ModelResources&) {
  return absl::UnimplementedError("");
}
const bool kReader = register_model("reader", &make_none, ModelLabels::kOfTasks);
const bool kOther = register_model("other", &make_none);
const bool kProbabilities = register_model("click", &make_none, ModelLabels::kProbabilities);

TrainConfig config(const std::string& text) {
  EXPECT_TRUE(kReader && kOther && kProbabilities);
  TrainConfig train;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "feature { name: 'a' kind: LABEL } feature { name: 'b' kind: LABEL }" + text, &train));
  return train;
}

TEST(LabelRangesTest, BinaryLabelsAreBinaryForEveryModel) {
  for (const char* model : {"model { name: 'reader' }", "model { name: 'other' }"}) {
    EXPECT_EQ(label_range(config(model)), LabelRange::kBinary);
    EXPECT_THAT(label_ranges(config(model)), IsOkAndHolds(IsEmpty()));
  }
}

TEST(LabelRangesTest, TheModelDecidesWhereItDoesNotReadTasks) {
  const TrainConfig click = config("binary_labels: false model { name: 'click' }");
  EXPECT_EQ(label_range(click), LabelRange::kProbability);
  EXPECT_THAT(label_ranges(click), IsOkAndHolds(IsEmpty()));
  EXPECT_EQ(label_range(config("binary_labels: false model { name: 'other' }")), LabelRange::kAny);
}

TEST(LabelRangesTest, TheLossDecidesForItsLabel) {
  EXPECT_THAT(label_ranges(config(R"(binary_labels: false model { name: 'reader' }
                                     task { label: 'b' huber {} })")),
              IsOkAndHolds(UnorderedElementsAre(Pair("a", LabelRange::kProbability),
                                                Pair("b", LabelRange::kAny))));
  EXPECT_THAT(label_ranges(config(R"(binary_labels: false model { name: 'reader' }
                                     feature { name: 'g' kind: GROUP_ID }
                                     task { label: 'a' softmax {} }
                                     task { label: 'b' focal {} })")),
              IsOkAndHolds(UnorderedElementsAre(Pair("a", LabelRange::kNotNegative),
                                                Pair("b", LabelRange::kProbability))));
}

TEST(LabelRangesTest, ATaskOfNoLabel) {
  EXPECT_THAT(label_ranges(config(R"(binary_labels: false model { name: 'reader' }
                                     task { label: 'c' })"))
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"c\"")));
}

}  // namespace
}  // namespace millrace
