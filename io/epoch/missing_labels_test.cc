// Data to predict from: labels and weights may miss values.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "io/epoch/batch_dataset.h"
#include "io/feature_schema.h"
#include "tests/io_testing/batches.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MissingLabelsTest : public testing::Test {
 protected:
  // A file "d.csv" whose columns are features of these kinds.
  MissingLabelsTest() {
    options_.files = &files_;
    options_.data.add_path("d.csv");
    options_.data.set_batch_size(100);
    options_.labels_may_miss = true;
  }

  void set_features(const std::string& text) {
    TrainConfig config;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
    options_.schema = *FeatureSchema::create(config);
  }

  absl::StatusOr<Batch> read() const {
    ASSIGN_OR_RETURN(const auto data, open_dataset(options_));
    RETURN_IF_ERROR(data->start_epoch(0));
    ASSIGN_OR_RETURN(const std::vector<Batch> batches, read_rest(*data));
    return batches.at(0);
  }

  MemoryFileSystem files_;
  DatasetOptions options_;
};

constexpr char kFeatures[] =
    "feature { name: 'click' kind: LABEL } feature { name: 'buy' kind: LABEL default_value: 1 } "
    "feature { name: 'w' kind: WEIGHT } feature { name: 'x' kind: DENSE }";

TEST_F(MissingLabelsTest, AreNotANumberUnlessTheFeatureHasADefault) {
  set_features(kFeatures);
  files_.put("d.csv", "click,buy,w,x\n,,,1\n1,0,2,3\n");
  ASSERT_OK_AND_ASSIGN(const Batch batch, read());
  ASSERT_EQ(batch.size, 2);
  const float* const labels = batch.labels.const_data_ptr<float>();
  EXPECT_TRUE(std::isnan(labels[0]));
  EXPECT_EQ(labels[1], 1);
  EXPECT_EQ(labels[2], 1);
  EXPECT_EQ(labels[3], 0);

  options_.labels_may_miss = false;
  EXPECT_THAT(read(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("column click: no value")));
}

TEST_F(MissingLabelsTest, ColumnsWithoutAnyValueAreThere) {
  set_features(kFeatures);
  files_.put("d.csv", "click,x\n,1\n,3\n");
  ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options_));
  EXPECT_THAT(data->missing_labels(), ElementsAre("buy"));
  ASSERT_OK_AND_ASSIGN(const Batch batch, read());
  EXPECT_TRUE(at::isnan(batch.labels).all().item<bool>());
  files_.put("d.csv", "click,buy,x\n,,1\n");
  ASSERT_OK_AND_ASSIGN(const auto both, open_dataset(options_));
  EXPECT_THAT(both->missing_labels(), IsEmpty());
}

TEST_F(MissingLabelsTest, OtherValuesAreCheckedAsBefore) {
  set_features(kFeatures);
  files_.put("d.csv", "click,buy,w,x\n,,,1\n7,0,2,3\n");
  EXPECT_THAT(read(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("label 7")));
  files_.put("d.csv", "click,buy,w,x\n,,,\n");
  EXPECT_THAT(read(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("column x: no value")));
}

TEST_F(MissingLabelsTest, ALabelThatSaysWhatIsMissingHasAValueInEachRow) {
  set_features(
      "feature { name: 'click' kind: LABEL transform { is_missing {} } } "
      "feature { name: 'x' kind: DENSE }");
  files_.put("d.csv", "click,x\n,1\n5,3\n");
  ASSERT_OK_AND_ASSIGN(const Batch batch, read());
  EXPECT_EQ(batch.labels[0].item<float>(), 1);
  EXPECT_EQ(batch.labels[1].item<float>(), 0);
}

}  // namespace
}  // namespace millrace
