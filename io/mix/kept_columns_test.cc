// Columns of the files that batches of a mix hold unchanged.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "io/feature_schema.h"
#include "io/mix/mixed_dataset.h"
#include "tests/io_testing/batches.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class KeptColumnsOfMixesTest : public testing::Test {
 protected:
  KeptColumnsOfMixesTest() {
    TrainConfig features;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "feature { name: 'label' kind: LABEL } feature { name: 'id' kind: EXAMPLE_ID }",
        &features));
    options_.schema = *FeatureSchema::create(features, {"id"});
    options_.files = &files_;
    options_.data.set_batch_size(16);
  }

  // `more`: of the source.
  void add_source(int64_t rows, double proportion, const std::string& more) {
    const int source = options_.data.mix().source_size();
    std::string text = "label,id\n";
    for (int64_t row = 0; row < rows; ++row) {
      absl::StrAppend(&text, row % 2, ",", 1000 * source + row, "\n");
    }
    const std::string path = absl::StrCat("s", source, ".csv");
    files_.put(path, text);
    MixSourceConfig& config = *options_.data.mutable_mix()->add_source();
    config.mutable_data()->add_path(path);
    config.set_proportion(proportion);
    EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(more, &config)) << more;
  }

  MemoryFileSystem files_;
  DatasetOptions options_;
};

TEST_F(KeptColumnsOfMixesTest, TheyGoWithTheirExamples) {
  add_source(900, 3, "");
  add_source(300, 1, "data { shuffle_rows: 500 }");
  ASSERT_OK_AND_ASSIGN(const auto data, open_mixed_dataset(options_));
  ASSERT_OK(data->start_epoch(0));
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_rest(*data));
  EXPECT_EQ(batches.size(), 75u);
  for (const Batch& batch : batches) {
    const Column& kept = batch.kept->front();
    ASSERT_EQ(kept.rows, batch.size);
    const std::vector<int64_t> ids = ids_of(batch);
    for (int64_t i = 0; i < batch.size; ++i) {
      ASSERT_EQ(std::string(kept.strings[kept.begin(i)]), absl::StrCat(ids[i]));
    }
  }
}

TEST_F(KeptColumnsOfMixesTest, OneTypeInAllSources) {
  add_source(100, 1, "");
  add_source(100, 1, "name: 'hex' data { csv { hexadecimal: 'id' } }");
  EXPECT_THAT(open_mixed_dataset(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"hex\": column \"id\" holds unsigned integers in s1.csv"),
                             HasSubstr(", but text in s0.csv"))));
}

}  // namespace
}  // namespace millrace
