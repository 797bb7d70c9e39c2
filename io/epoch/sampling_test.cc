// Sampling as a dataset does it: the rows of its batches, and its resume positions.
#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "io/epoch/batch_dataset.h"
#include "io/feature_schema.h"
#include "tests/io_testing/batches.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kFiles = 6;
constexpr int64_t kFileRows = 500;
constexpr int64_t kRows = kFiles * kFileRows;

float label_of(int64_t id) { return id % 5 == 0 ? 1 : 0; }
float weight_of(int64_t id) { return static_cast<float>(1 + id % 3); }

class SamplingTest : public testing::Test {
 protected:
  SamplingTest() {
    for (int64_t file = 0; file < kFiles; ++file) {
      std::string text = "label,other,i1,w,id\n";
      for (int64_t id = file * kFileRows; id < (file + 1) * kFileRows; ++id) {
        absl::StrAppend(&text, label_of(id), ",", 1 - label_of(id), ",", id % 7, ",", weight_of(id),
                        ",", id, "\n");
      }
      files_.put(absl::StrCat("part-", file, ".csv"), text);
    }
    options_.files = &files_;
    set_features("");
  }

  void set_features(const std::string& more) {
    TrainConfig features;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("feature { name: 'label' kind: LABEL } feature { name: 'i1' kind: DENSE } "
                     "feature { name: 'id' kind: EXAMPLE_ID } ",
                     more),
        &features));
    options_.schema = *FeatureSchema::create(features);
  }
  void set_data(const std::string& text) {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("path: 'part-*.csv' batch_size: 16 ", text), &options_.data))
        << text;
  }

  absl::StatusOr<std::vector<Batch>> read_epoch(int64_t epoch = 0) const {
    ASSIGN_OR_RETURN(const auto data, open_dataset(options_));
    RETURN_IF_ERROR(data->start_epoch(epoch));
    return read_rest(*data);
  }

  MemoryFileSystem files_;
  DatasetOptions options_;
};

// Returns the weight of each example (1 without weights).
std::map<int64_t, float> weights_of(const std::vector<Batch>& batches) {
  std::map<int64_t, float> weights;
  for (const Batch& batch : batches) {
    const int64_t* ids = batch.example_ids.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < batch.size; ++i) {
      const float weight =
          batch.weights.defined() ? batch.weights.const_data_ptr<float>()[i] : 1.0f;
      EXPECT_TRUE(weights.emplace(ids[i], weight).second) << ids[i] << " came twice";
    }
  }
  return weights;
}

std::set<int64_t> ids_of(const std::vector<Batch>& batches) {
  std::set<int64_t> ids;
  for (const auto& [id, weight] : weights_of(batches)) ids.insert(id);
  return ids;
}

double bound(double rows, double rate) { return 5 * std::sqrt(rows * rate * (1 - rate)); }

TEST_F(SamplingTest, TheSameRowsWhateverTheOrderAndTheThreads) {
  set_data("sample { rate: 0.3 negative_rate: 0.5 }");
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> plain, read_epoch(2));
  const std::set<int64_t> ids = ids_of(plain);
  EXPECT_NEAR(static_cast<double>(ids.size()), kRows * (0.2 * 0.3 + 0.8 * 0.15),
              bound(kRows, 0.18));
  for (const Batch& batch : plain) EXPECT_TRUE(batch.size == 16 || &batch == &plain.back());
  for (const int threads : {1, 4}) {
    for (const int64_t shuffle_rows : {0, 300, 100000}) {
      options_.reader_threads = threads;
      options_.data.set_shuffle_rows(shuffle_rows);
      ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch(2));
      EXPECT_EQ(ids_of(batches), ids);
    }
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> other, read_epoch(3));
  EXPECT_NE(ids_of(other), ids) << "each epoch has another sample";
  options_.data.mutable_sample()->set_resample(false);
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> first, read_epoch(2));
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> second, read_epoch(3));
  EXPECT_EQ(ids_of(first), ids_of(second));
}

TEST_F(SamplingTest, RestoringAtEveryBatchGivesTheRestByteForByte) {
  for (const char* text : {"sample { rate: 0.4 }", "sample { negative_rate: 0.1 }",
                           "sample { rate: 0.05 } split { to: 0.7 } shuffle_rows: 900",
                           "sample { rate: 0.9 negative_rate: 0.3 } shuffle_rows: 700"}) {
    set_data(text);
    ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch(1));
    ASSERT_GT(batches.size(), 3u);
    for (const int threads : {1, 4}) {
      options_.reader_threads = threads;
      ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options_));
      for (size_t i = 0; i < batches.size(); ++i) {
        SCOPED_TRACE(absl::StrCat("from ", i, " on"));
        ASSERT_NO_FATAL_FAILURE(
            expect_rest(*data, batches[i].cursor, absl::MakeSpan(batches).subspan(i + 1)));
      }
    }
  }
}

TEST_F(SamplingTest, AnotherWorldSizeReadsEveryRowOfTheSampleOnce) {
  set_data("sample { rate: 0.5 negative_rate: 0.5 } shuffle_rows: 600");
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> whole, read_epoch(1));
  std::vector<Batch> all;
  std::vector<Cursor> cursors;
  for (const auto& [world_size, count] : {std::pair(1, 10), std::pair(3, 6), std::pair(2, 1000)}) {
    std::vector<Cursor> next;
    for (int64_t rank = 0; rank < world_size; ++rank) {
      options_.rank = rank;
      options_.world_size = world_size;
      ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options_));
      ASSERT_OK(cursors.empty() ? data->start_epoch(1) : data->seek(cursors));
      for (int i = 0; i < count; ++i) {
        ASSERT_OK_AND_ASSIGN(std::optional<Batch> batch, data->next());
        if (!batch.has_value()) break;
        all.push_back(*std::move(batch));
      }
      next.push_back(all.back().cursor);
    }
    cursors = next;
  }
  EXPECT_EQ(weights_of(all), weights_of(whole));
}

TEST_F(SamplingTest, NegativesThatAreKeptStandForAll) {
  set_data("sample { negative_rate: 0.25 } shuffle_rows: 1000");
  // Over many epochs, so that the bounds are narrow.
  constexpr int64_t kEpochs = 20;
  double sum = 0, kept = 0;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch(epoch));
    int64_t positives = 0;
    for (const auto& [id, weight] : weights_of(batches)) {
      EXPECT_EQ(weight, label_of(id) == 0 ? 4 : 1);
      positives += label_of(id) == 1 ? 1 : 0;
      if (label_of(id) == 1) continue;
      sum += weight;
      kept += 1;
    }
    EXPECT_EQ(positives, kRows / 5) << "all of them are kept";
  }
  const double negatives = kEpochs * kRows * 0.8;
  EXPECT_NEAR(kept, negatives * 0.25, bound(negatives, 0.25));
  EXPECT_NEAR(sum, negatives, 4 * bound(negatives, 0.25));
}

TEST_F(SamplingTest, WeightsOfTheDataAreMultiplied) {
  set_features("feature { name: 'w' kind: WEIGHT }");
  set_data("sample { negative_rate: 0.5 } split { to: 0.5 }");
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch());
  for (const auto& [id, weight] : weights_of(batches)) {
    EXPECT_EQ(weight, weight_of(id) * (label_of(id) == 0 ? 2 : 1));
  }
  options_.data.mutable_sample()->set_correct_weights(false);
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> raw, read_epoch());
  EXPECT_EQ(ids_of(raw), ids_of(batches));
  for (const auto& [id, weight] : weights_of(raw)) EXPECT_EQ(weight, weight_of(id));
}

TEST_F(SamplingTest, ByAnotherLabel) {
  set_features("feature { name: 'other' kind: LABEL }");
  set_data("sample { negative_rate: 0.25 label: 'other' correct_weights: false }");
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch());
  int64_t zeros = 0, ones = 0;
  for (const int64_t id : ids_of(batches)) ++(label_of(id) == 1 ? zeros : ones);
  EXPECT_EQ(ones, kRows * 4 / 5) << "the other label is 1 where the first is 0";
  EXPECT_NEAR(zeros, kRows / 5 * 0.25, bound(kRows / 5, 0.25));
  EXPECT_FALSE(batches.front().weights.defined());
}

TEST_F(SamplingTest, WhatIsLeftOutIsNotBad) {
  files_.put("part-0.csv", "label,other,i1,w,id\n0,1,1,1,0\n0.5,1,1,1,1\n1,1,1,1,2\n");
  set_data("bad_data: SKIP sample { negative_rate: 1e-9 }");
  options_.labels = LabelRange::kAny;
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch());
  int64_t bad = 0;
  for (const Batch& batch : batches) bad += batch.bad_examples;
  EXPECT_EQ(bad, 1);
  EXPECT_EQ(ids_of(batches).size(), 1 + (kFiles - 1) * 100u);
  options_.data.clear_bad_data();
  EXPECT_THAT(read_epoch(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("part-0.csv, line 3, column label: label 0.5, but sample.")));
}

TEST_F(SamplingTest, ErrorsBeforeAnythingIsRead) {
  set_data("sample { rate: 2 }");
  EXPECT_THAT(open_dataset(options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sample: rate is 2")));
  set_data("sample { label: 'no' }");
  EXPECT_THAT(open_dataset(options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no label \"no\"")));
  for (int64_t file = 0; file < kFiles; ++file) {
    files_.put(absl::StrCat("part-", file, ".csv"), "i1,id\n1,2\n");
  }
  options_.labels_may_miss = true;
  set_data("sample { negative_rate: 0.5 }");
  EXPECT_THAT(open_dataset(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("needs label \"label\""), HasSubstr("no column"))));
  set_data("sample { rate: 0.5 }");
  EXPECT_OK(open_dataset(options_));
}

TEST_F(SamplingTest, ACursorOfAnotherSampleIsRefused) {
  set_data("sample { rate: 0.5 }");
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch());
  for (const char* text : {"", "sample { rate: 0.4 }", "sample { rate: 0.5 resample: false }",
                           "sample { rate: 0.5 negative_rate: 0.5 }"}) {
    set_data(text);
    ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options_));
    EXPECT_THAT(data->seek({batches[0].cursor}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sample")));
  }
  set_data("sample { rate: 0.5 }");
  options_.seed = 2;
  ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options_));
  EXPECT_THAT(data->seek({batches[0].cursor}), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace millrace
