// Checks the promises of datasets for datasets of files, and checks the suite with a dataset
// breaking a promise.

#include "io/epoch/dataset_conformance.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/random/philox.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "io/epoch/batch_dataset.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

FeatureSchema test_schema() {
  TrainConfig features;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "feature { name: 'label' kind: LABEL } feature { name: 'i1' kind: DENSE } "
      "feature { name: 'c1' } feature { name: 'c2' } feature { name: 'id' kind: EXAMPLE_ID }",
      &features));
  absl::StatusOr<FeatureSchema> schema = FeatureSchema::create(features);
  EXPECT_OK(schema);
  return *std::move(schema);
}

// Three files of 97 examples together.
MemoryFileSystem& csv_files() {
  static MemoryFileSystem* const files = [] {
    auto* const made = new MemoryFileSystem();
    int64_t row = 0;
    for (const int64_t rows : {40, 7, 50}) {
      std::string text = "label,i1,c1,c2,id\n";
      for (const int64_t end = row + rows; row < end; ++row) {
        absl::StrAppend(&text, row % 2, ",", row % 7, ",", row % 5, ",", row * 31, ",", row, "\n");
      }
      made->put(absl::StrCat("data/", row, ".csv"), text);
    }
    return made;
  }();
  return *files;
}

DatasetConformance of_files(int64_t shuffle_rows) {
  DatasetConformance conformance;
  conformance.options.schema = test_schema();
  conformance.options.data.add_path("data/*.csv");
  conformance.options.data.set_shuffle_rows(shuffle_rows);
  conformance.options.files = &csv_files();
  conformance.make = [](const DatasetOptions& options) {
    absl::StatusOr<std::unique_ptr<BatchDataset>> data = open_dataset(options);
    EXPECT_OK(data);
    return *std::move(data);
  };
  conformance.examples = 97;
  return conformance;
}

[[maybe_unused]] const bool kFiles = register_dataset_conformance("Files", of_files(0));
[[maybe_unused]] const bool kShuffledFiles =
    register_dataset_conformance("ShuffledFiles", of_files(30));

// Examples 0 … 59, reshuffled in each epoch. Breaks one promise on request.
class FaultyDataset : public Dataset {
 public:
  enum class Fault {
    kNone,
    kCountsItsEpochs,
    kDependsOnThreads,
    kHasNoLabels,
    kLargeBatches,
    kReadsAllOnEachRank,
    kBeginsAgain,
    kKeepsTheRemainder,
    kNumbersItsInstances,
    kIgnoresCancel,
    kCursorsAreLate,
    kForgetsTheEpoch,
    kIgnoresOtherRanks,
    kTakesForeignCursors,
  };
  static constexpr int64_t kExamples = 60;

  FaultyDataset(Fault fault, DatasetOptions options)
      : fault_(fault), options_(std::move(options)) {}

  absl::Status start_epoch(int64_t epoch) override {
    epoch_ = epoch;
    if (fault_ == Fault::kCountsItsEpochs) epoch_ = started_++;
    const RowInterval all{0, kExamples};
    const bool whole = fault_ == Fault::kReadsAllOnEachRank;
    left_ = deal_rows({&all, 1}, whole ? 0 : options_.rank, whole ? 1 : options_.world_size);
    return absl::OkStatus();
  }

  absl::Status seek(absl::Span<const Cursor> cursors) override {
    std::vector<PassPosition> ranks;
    for (const Cursor& cursor : cursors) {
      if (cursor.mix() != nullptr) return absl::InvalidArgumentError("a mix");
      ranks.push_back({cursor.epoch, cursor.rows_left()});
    }
    if (ranks.empty()) return absl::InvalidArgumentError("no cursors");
    epoch_ = fault_ == Fault::kForgetsTheEpoch ? 0 : ranks[0].epoch;
    const int64_t rows = fault_ == Fault::kTakesForeignCursors ? kExamples * 1'000'000 : kExamples;
    ASSIGN_OR_RETURN(const std::vector<RowInterval> all, merge_rows_left(ranks, rows));
    if (static_cast<int64_t>(ranks.size()) == options_.world_size) {
      left_ = ranks[static_cast<size_t>(options_.rank)].rows_left;
    } else if (fault_ == Fault::kIgnoresOtherRanks) {
      left_ = deal_rows(ranks[0].rows_left, options_.rank, options_.world_size);
    } else {
      left_ = deal_rows(all, options_.rank, options_.world_size);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<Batch>> next() override {
    if (cancelled_ && fault_ != Fault::kIgnoresCancel) return absl::CancelledError("cancelled");
    const std::vector<RowInterval> before = left_;
    const int64_t batch_size =
        options_.data.batch_size() + (fault_ == Fault::kLargeBatches ? 1 : 0);
    std::vector<int64_t> ids;
    while (static_cast<int64_t>(ids.size()) < batch_size && !left_.empty()) {
      ids.push_back(example_at(left_.front().begin));
      if (++left_.front().begin == left_.front().end) left_.erase(left_.begin());
    }
    const bool is_remainder = static_cast<int64_t>(ids.size()) < batch_size;
    const bool dropped =
        is_remainder && options_.data.drop_remainder() && fault_ != Fault::kKeepsTheRemainder;
    if (ids.empty() || dropped) {
      left_.clear();
      if (fault_ == Fault::kBeginsAgain) EXPECT_OK(start_epoch(epoch_));
      return std::nullopt;
    }
    Batch batch = batch_of(ids);
    batch.cursor.epoch = epoch_;
    batch.cursor.left = fault_ == Fault::kCursorsAreLate ? before : left_;
    return batch;
  }

  absl::StatusOr<DataIdentity> identity() const override {
    static std::atomic<int64_t> instances = 0;
    DataIdentity identity;
    identity.add_file()->set_name("examples");
    if (fault_ == Fault::kNumbersItsInstances) identity.mutable_file(0)->set_size(++instances);
    return identity;
  }
  void cancel() override { cancelled_ = true; }

 private:
  // The example at a place of the open epoch.
  int64_t example_at(int64_t place) const {
    const uint64_t seed = fault_ == Fault::kDependsOnThreads
                              ? static_cast<uint64_t>(options_.reader_threads)
                              : options_.seed;
    std::vector<std::pair<uint64_t, int64_t>> order;
    for (int64_t i = 0; i < kExamples; ++i) {
      order.emplace_back(philox64(seed, static_cast<uint64_t>(epoch_), static_cast<uint64_t>(i)),
                         i);
    }
    std::sort(order.begin(), order.end());
    return order[static_cast<size_t>(place % kExamples)].second;
  }
  Batch batch_of(const std::vector<int64_t>& ids) const {
    Batch batch;
    batch.size = static_cast<int64_t>(ids.size());
    batch.example_ids = at::tensor(ids, at::kLong);
    batch.sparse.values = batch.example_ids.repeat({2});
    batch.sparse.offsets = at::arange(2 * batch.size + 1, at::kLong);
    batch.dense = batch.example_ids.to(at::kFloat).view({-1, 1});
    if (fault_ != Fault::kHasNoLabels) batch.labels = at::zeros({batch.size, 1});
    return batch;
  }

  const Fault fault_;
  const DatasetOptions options_;
  int64_t started_ = 0;
  int64_t epoch_ = 0;
  std::vector<RowInterval> left_;  // places of the epoch
  std::atomic<bool> cancelled_ = false;
};

std::vector<std::string> failing(FaultyDataset::Fault fault) {
  DatasetConformance conformance;
  conformance.options.schema = test_schema();
  conformance.make = [=](const DatasetOptions& options) {
    return std::make_unique<FaultyDataset>(fault, options);
  };
  conformance.examples = FaultyDataset::kExamples;
  return failing_properties(dataset_properties(conformance));
}

TEST(DatasetConformanceTest, EachFaultFailsItsProperty) {
  using Fault = FaultyDataset::Fault;
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kCountsItsEpochs), IsSupersetOf({"EpochsAreTheSameEachTime"}));
  EXPECT_THAT(failing(Fault::kDependsOnThreads), ElementsAre("ThreadsDecideNothing"));
  EXPECT_THAT(failing(Fault::kHasNoLabels), ElementsAre("BatchesHaveTheirForm"));
  EXPECT_THAT(failing(Fault::kLargeBatches), IsSupersetOf({"BatchesHaveTheirForm"}));
  EXPECT_THAT(failing(Fault::kReadsAllOnEachRank), IsSupersetOf({"RanksHaveEveryExampleOnce"}));
  EXPECT_THAT(failing(Fault::kBeginsAgain), ElementsAre("StaysAtTheEnd"));
  EXPECT_THAT(failing(Fault::kKeepsTheRemainder), ElementsAre("DropsTheRemainder"));
  EXPECT_THAT(failing(Fault::kNumbersItsInstances), ElementsAre("IdentityIsTheSame"));
  EXPECT_THAT(failing(Fault::kIgnoresCancel), ElementsAre("CancelEndsNext"));
  EXPECT_THAT(failing(Fault::kCursorsAreLate), IsSupersetOf({"ContinuesAfterEachBatch"}));
  EXPECT_THAT(failing(Fault::kForgetsTheEpoch), IsSupersetOf({"ContinuesAfterEachBatch"}));
  EXPECT_THAT(failing(Fault::kIgnoresOtherRanks), ElementsAre("ContinuesWithOtherRanks"));
  EXPECT_THAT(failing(Fault::kTakesForeignCursors), ElementsAre("RefusesForeignCursors"));
}

TEST(DatasetConformanceTest, MissingPositionsMustBeSaid) {
  DatasetConformance conformance = of_files(0);
  conformance.has_positions = false;
  EXPECT_THAT(failing_properties(dataset_properties(conformance)),
              ElementsAre("SaysThatItHasNoPositions"));
}

}  // namespace
}  // namespace millrace
