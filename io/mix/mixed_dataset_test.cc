#include "io/mix/mixed_dataset.h"

#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "io/cursor_state.h"
#include "io/feature_schema.h"
#include "tests/io_testing/batches.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Source s has examples s * kStride, s * kStride + 1, ...
constexpr int64_t kStride = 1000000;

// The number of occurrences of each example.
using Times = std::map<int64_t, int64_t>;

Times times_of(const std::vector<Batch>& batches, int64_t source) {
  Times times;
  for (const Batch& batch : batches) {
    for (const int64_t id : ids_of(batch)) {
      if (id / kStride == source) ++times[id];
    }
  }
  return times;
}

int64_t total(const Times& times) {
  int64_t sum = 0;
  for (const auto& [id, count] : times) sum += count;
  return sum;
}

// The number of examples of each of `sources` in a batch.
std::vector<int64_t> counts_of(const Batch& batch, int64_t sources) {
  std::vector<int64_t> counts(sources, 0);
  for (const int64_t id : ids_of(batch)) ++counts[id / kStride];
  return counts;
}

class MixedDatasetTest : public testing::Test {
 protected:
  MixedDatasetTest() {
    TrainConfig features;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "feature { name: 'label' kind: LABEL } feature { name: 'i1' kind: DENSE } "
        "feature { name: 'id' kind: EXAMPLE_ID }",
        &features));
    options_.schema = *FeatureSchema::create(features);
    options_.files = &files_;
    options_.data.set_batch_size(16);
  }

  // Files of at most 200 rows. `more`: of the source.
  void add_source(int64_t rows, double proportion, const std::string& more = "") {
    const int64_t source = options_.data.mix().source_size();
    for (int64_t row = 0; row < rows; row += 200) {
      std::string text = "label,i1,id\n";
      for (int64_t i = row; i < std::min(row + 200, rows); ++i) {
        absl::StrAppend(&text, i % 3 == 0 ? 1 : 0, ",", i % 7, ",", source * kStride + i, "\n");
      }
      files_.put(absl::StrCat("s", source, "/", 1000 + row, ".csv"), text);
    }
    MixSourceConfig& config = *options_.data.mutable_mix()->add_source();
    config.mutable_data()->add_path(absl::StrCat("s", source, "/*.csv"));
    config.set_proportion(proportion);
    EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(more, &config)) << more;
  }

  absl::StatusOr<std::vector<Batch>> read_epoch(int64_t epoch = 0) const {
    ASSIGN_OR_RETURN(const auto data, open_mixed_dataset(options_));
    RETURN_IF_ERROR(data->start_epoch(epoch));
    return read_rest(*data);
  }
  void expect_exact_restores(int64_t epoch, size_t step = 1);
  std::vector<Batch> read_with_worlds(const std::vector<std::pair<int64_t, int64_t>>& lives);

  MemoryFileSystem files_;
  DatasetOptions options_;
};

// Expects that resuming after each batch gives the rest of the epoch, byte for byte.
void MixedDatasetTest::expect_exact_restores(int64_t epoch, size_t step) {
  options_.reader_threads = 2;
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch(epoch));
  ASSERT_GT(batches.size(), 4u);
  for (const int threads : {1, 4}) {
    options_.reader_threads = threads;
    options_.prefetch_batches = threads;
    ASSERT_OK_AND_ASSIGN(const auto data, open_mixed_dataset(options_));
    for (size_t i = 0; i < batches.size(); i += step) {
      ASSERT_OK_AND_ASSIGN(const Cursor cursor, from_state(to_state(batches[i].cursor)));
      SCOPED_TRACE(absl::StrCat("from ", i, " on"));
      ASSERT_NO_FATAL_FAILURE(expect_rest(*data, cursor, absl::MakeSpan(batches).subspan(i + 1)));
    }
  }
}

TEST_F(MixedDatasetTest, EveryBatchHoldsItsShares) {
  add_source(900, 3);
  add_source(300, 1, "data { shuffle_rows: 500 }");
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch());
  ASSERT_EQ(batches.size(), 75u);
  for (const Batch& batch : batches) EXPECT_THAT(counts_of(batch, 2), ElementsAre(12, 4));
  EXPECT_THAT(times_of(batches, 0),
              AllOf(SizeIs(900), Each(testing::Field(&Times::value_type::second, 1))));
  EXPECT_THAT(times_of(batches, 1), SizeIs(300));
}

TEST_F(MixedDatasetTest, SharesThatAreNotWholeAreRightOnTheWhole) {
  add_source(2000, 1, "repeat: true");
  add_source(4000, 99.5);
  add_source(50, 0.01, "repeat: true");
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch());
  std::vector<int64_t> sums(3, 0);
  for (size_t i = 0; i + 1 < batches.size(); ++i) {
    ASSERT_EQ(batches[i].size, 16);
    const std::vector<int64_t> counts = counts_of(batches[i], 3);
    for (int s = 0; s < 3; ++s) sums[s] += counts[s];
  }
  const double all = 16.0 * static_cast<double>(batches.size() - 1);
  EXPECT_NEAR(sums[0], all * 1 / 100.51, 4);
  EXPECT_NEAR(sums[1], all * 99.5 / 100.51, 4);
  EXPECT_NEAR(sums[2], all * 0.01 / 100.51, 2);
  EXPECT_THAT(times_of(batches, 1), SizeIs(4000)) << "all of the source that ends the epoch";
}

TEST_F(MixedDatasetTest, TheFirstThatEndsEndsTheEpoch) {
  add_source(903, 3);
  add_source(1000, 1);
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch());
  ASSERT_EQ(batches.size(), 76u);
  EXPECT_THAT(counts_of(batches.back(), 2), ElementsAre(3, 1)) << "smaller in the same proportions";
  EXPECT_THAT(times_of(batches, 0), SizeIs(903));
  EXPECT_THAT(times_of(batches, 1), SizeIs(301));
  options_.data.set_drop_remainder(true);
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> whole, read_epoch());
  EXPECT_EQ(whole.size(), 75u);
}

TEST_F(MixedDatasetTest, UntilAllEndOthersFillThePlaces) {
  options_.data.mutable_mix()->set_until(MixConfig::ALL_END);
  add_source(100, 2);
  add_source(300, 1);
  add_source(500, 1);
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch());
  for (int source = 0; source < 3; ++source) {
    EXPECT_EQ(total(times_of(batches, source)), 100 + 200 * source) << source;
    EXPECT_THAT(times_of(batches, source), SizeIs(100 + 200 * source));
  }
  ASSERT_EQ(batches.size(), 57u) << "900 examples: all batches but the last are full";
  for (size_t i = 0; i < 56; ++i) EXPECT_EQ(batches[i].size, 16);
  EXPECT_EQ(batches.back().size, 4);
  EXPECT_THAT(counts_of(batches[11], 3), ElementsAre(8, 4, 4));
  EXPECT_THAT(counts_of(batches[12], 3), ElementsAre(4, 6, 6)) << "4 were left";
  EXPECT_THAT(counts_of(batches[13], 3), ElementsAre(0, 8, 8));
  EXPECT_THAT(counts_of(batches[55], 3), ElementsAre(0, 0, 16));
  options_.data.set_drop_remainder(true);
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> whole, read_epoch());
  EXPECT_EQ(whole.size(), 56u);
}

TEST_F(MixedDatasetTest, ASmallSourceRepeatsAsOftenAsALargeOneNeedsIt) {
  for (const MixConfig::Until until : {MixConfig::FIRST_ENDS, MixConfig::ALL_END}) {
    options_.data.clear_mix();
    options_.data.mutable_mix()->set_until(until);
    add_source(1000, 1);
    add_source(70, 1, "repeat: true data { shuffle_rows: 100 }");
    ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch());
    ASSERT_EQ(batches.size(), 125u);
    for (const Batch& batch : batches) EXPECT_THAT(counts_of(batch, 2), ElementsAre(8, 8));
    EXPECT_THAT(times_of(batches, 0), SizeIs(1000));
    const Times times = times_of(batches, 1);
    EXPECT_THAT(times, SizeIs(70));
    for (const auto& [id, count] : times) EXPECT_TRUE(count == 14 || count == 15) << id;
    // Each pass has its own order.
    std::vector<int64_t> order;
    for (const Batch& batch : batches) {
      for (const int64_t id : ids_of(batch)) {
        if (id >= kStride) order.push_back(id);
      }
    }
    EXPECT_FALSE(std::equal(order.begin(), order.begin() + 70, order.begin() + 70));
  }
}

TEST_F(MixedDatasetTest, TheLastBatchOfALargeSourceHasLessOfOneThatRepeatsToo) {
  for (const MixConfig::Until until : {MixConfig::FIRST_ENDS, MixConfig::ALL_END}) {
    options_.data.clear_mix();
    options_.data.mutable_mix()->set_until(until);
    add_source(105, 3);
    add_source(10, 1, "repeat: true");
    ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch());
    ASSERT_EQ(batches.size(), 9u);
    EXPECT_THAT(counts_of(batches.back(), 2), ElementsAre(9, 3));
  }
}

TEST_F(MixedDatasetTest, EpochsShuffleAnew) {
  add_source(160, 1, "data { shuffle_rows: 1000 }");
  add_source(160, 1, "repeat: true data { shuffle_rows: 1000 }");
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> first, read_epoch(0));
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> again, read_epoch(0));
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> second, read_epoch(1));
  EXPECT_EQ(bytes_of(first[0]), bytes_of(again[0]));
  for (int64_t source = 0; source < 2; ++source) {
    EXPECT_NE(times_of({first[0]}, source), times_of({second[0]}, source));
  }
}

TEST_F(MixedDatasetTest, RestoringAtEveryBatch) {
  add_source(400, 3, "data { shuffle_rows: 250 }");
  add_source(333, 2);
  expect_exact_restores(1);
}

TEST_F(MixedDatasetTest, RestoringAtEveryBatchUntilAllEnd) {
  options_.data.mutable_mix()->set_until(MixConfig::ALL_END);
  add_source(300, 3, "data { shuffle_rows: 250 sample { rate: 0.5 } }");
  add_source(333, 2, "data { shuffle_rows: 100 split { to: 0.8 } }");
  add_source(10, 0.001);  // far fewer than one in a batch
  expect_exact_restores(2);
}

TEST_F(MixedDatasetTest, RestoringAtEveryBatchWithRepeatsAndSamples) {
  for (const MixConfig::Until until : {MixConfig::FIRST_ENDS, MixConfig::ALL_END}) {
    options_.data.clear_mix();
    options_.data.mutable_mix()->set_until(until);
    add_source(500, 3, "data { shuffle_rows: 250 sample { rate: 0.9 negative_rate: 0.8 } }");
    add_source(7, 1.3, "repeat: true data { shuffle_rows: 20 }");
    add_source(30, 1, "repeat: true data { sample { rate: 0.3 } }");
    expect_exact_restores(5, 3);
  }
}

// Each life: a world size and how many batches each of its ranks reads at most. Returns: all of
// them.
std::vector<Batch> MixedDatasetTest::read_with_worlds(
    const std::vector<std::pair<int64_t, int64_t>>& lives) {
  std::vector<Batch> all;
  std::vector<Cursor> cursors;
  for (const auto& [world_size, count] : lives) {
    std::vector<Cursor> next;
    for (int64_t rank = 0; rank < world_size; ++rank) {
      options_.rank = rank;
      options_.world_size = world_size;
      const auto data = open_mixed_dataset(options_);
      EXPECT_OK(data);
      EXPECT_OK(cursors.empty() ? (*data)->start_epoch(2) : (*data)->seek(cursors));
      // The trainer's report of a rank without a batch.
      Cursor cursor;
      cursor.epoch = 2;
      for (int64_t i = 0; i < count; ++i) {
        absl::StatusOr<std::optional<Batch>> batch = (*data)->next();
        EXPECT_OK(batch);
        if (!batch.ok() || !batch->has_value()) {
          cursor.left = std::vector<RowInterval>();
          break;
        }
        cursor = (*batch)->cursor;
        all.push_back(**std::move(batch));
      }
      next.push_back(cursor);
    }
    cursors = next;
  }
  options_.rank = 0;
  options_.world_size = 1;
  return all;
}

TEST_F(MixedDatasetTest, AnotherWorldSizeReadsEveryExampleOnce) {
  options_.data.mutable_mix()->set_until(MixConfig::ALL_END);
  add_source(700, 3, "data { shuffle_rows: 250 }");
  add_source(310, 2);
  const std::vector<Batch> batches = read_with_worlds({{1, 7}, {3, 5}, {2, 8}, {5, 1}, {2, 1000}});
  for (int64_t source = 0; source < 2; ++source) {
    const Times times = times_of(batches, source);
    EXPECT_THAT(times, SizeIs(source == 0 ? 700 : 310));
    EXPECT_EQ(total(times), source == 0 ? 700 : 310);
  }
}

TEST_F(MixedDatasetTest, AnotherWorldSizeReadsEveryExampleOfAPassOnce) {
  add_source(3000, 1, "data { shuffle_rows: 250 }");
  add_source(31, 1, "repeat: true data { shuffle_rows: 50 }");
  const std::vector<Batch> batches =
      read_with_worlds({{1, 9}, {3, 11}, {2, 8}, {4, 13}, {1, 1000}});
  EXPECT_THAT(times_of(batches, 0), SizeIs(3000));
  EXPECT_EQ(total(times_of(batches, 0)), 3000);
  // All passes but the last are whole.
  const Times times = times_of(batches, 1);
  EXPECT_THAT(times, SizeIs(31));
  const auto [least, most] = std::minmax_element(
      times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  EXPECT_LE(most->second - least->second, 1);
  EXPECT_NEAR(total(times), 3000, 20);
}

TEST_F(MixedDatasetTest, RanksShareSourcesAndPasses) {
  add_source(960, 1);
  add_source(3, 1, "repeat: true");  // fewer than ranks
  const std::vector<Batch> batches = read_with_worlds({{4, 1000}});
  EXPECT_EQ(batches.size(), 120u);
  EXPECT_THAT(times_of(batches, 0), SizeIs(960));
  for (const auto& [id, count] : times_of(batches, 1)) EXPECT_NEAR(count, 320, 4) << id;
}

TEST_F(MixedDatasetTest, WeightsOfOneSourceAlone) {
  add_source(400, 1, "data { sample { negative_rate: 0.5 } }");
  add_source(400, 1);
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch());
  for (const Batch& batch : batches) {
    ASSERT_TRUE(batch.weights.defined());
    for (int64_t i = 0; i < batch.size; ++i) {
      const int64_t id = ids_of(batch)[i];
      EXPECT_EQ(batch.weights.const_data_ptr<float>()[i], id < kStride && id % 3 != 0 ? 2 : 1);
    }
  }
}

TEST_F(MixedDatasetTest, ExampleIdsOfFilesOfAllSources) {
  add_source(300, 1);
  add_source(300, 1);
  TrainConfig features;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "feature { name: 'label' kind: LABEL } feature { name: 'i1' kind: DENSE }", &features));
  options_.schema = *FeatureSchema::create(features);
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch());
  std::map<int64_t, int64_t> rows_of_file;
  std::set<int64_t> ids;
  for (const Batch& batch : batches) {
    for (const int64_t id : ids_of(batch)) {
      ids.insert(id);
      ++rows_of_file[id >> 40];
    }
  }
  EXPECT_THAT(ids, SizeIs(600));
  EXPECT_THAT(rows_of_file, ElementsAre(std::pair(0, 200), std::pair(1, 100), std::pair(2, 200),
                                        std::pair(3, 100)));
  ASSERT_OK_AND_ASSIGN(const auto data, open_mixed_dataset(options_));
  ASSERT_OK_AND_ASSIGN(const DataIdentity identity, data->identity());
  EXPECT_EQ(identity.file_size(), 4);
}

TEST_F(MixedDatasetTest, TypesOfHashedColumnsAreThoseThatAllSourcesHave) {
  TrainConfig features;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "feature { name: 'label' kind: LABEL } feature { name: 'i1' transform { hash {} } } "
      "feature { name: 'id' transform { hash {} } }",
      &features));
  options_.schema = *FeatureSchema::create(features);
  add_source(30, 1);
  add_source(30, 1, "data { csv { hexadecimal: 'id' } }");
  ASSERT_OK_AND_ASSIGN(const auto data, open_mixed_dataset(options_));
  ASSERT_OK_AND_ASSIGN(const DataIdentity identity, data->identity());
  ASSERT_EQ(identity.column_size(), 2);
  EXPECT_EQ(identity.column(0).name(), "i1");
  EXPECT_EQ(identity.column(0).cells(), DataIdentity::TEXT);
  EXPECT_EQ(identity.column(0).file(), "1000.csv");
  EXPECT_EQ(identity.column(1).name(), "id");
  EXPECT_EQ(identity.column(1).cells(), DataIdentity::UNKNOWN_CELLS);
}

TEST_F(MixedDatasetTest, BadExamplesOfAllSourcesAreCounted) {
  add_source(200, 1, "data { bad_data: SKIP max_bad_fraction: 0.1 }");
  add_source(200, 1, "data { bad_data: SKIP max_bad_fraction: 0.1 }");
  for (const char* path : {"s0/1000.csv", "s1/1000.csv"}) {
    ASSERT_OK_AND_ASSIGN(std::string text, read_file(files_, path));
    files_.put(path, text + "2,1,7\nx,1,8\n");
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch());
  int64_t bad = 0;
  for (const Batch& batch : batches) bad += batch.bad_examples;
  EXPECT_EQ(bad, 4);
  EXPECT_EQ(batches.size(), 25u);
}

TEST_F(MixedDatasetTest, ErrorsComeInTheirTurnAndNameTheFile) {
  add_source(160, 1);
  add_source(100, 1, "repeat: true");
  ASSERT_OK_AND_ASSIGN(std::string text, read_file(files_, "s1/1000.csv"));
  files_.put("s1/1000.csv", text + "7,1,2\n");
  ASSERT_OK_AND_ASSIGN(const auto data, open_mixed_dataset(options_));
  ASSERT_OK(data->start_epoch(0));
  EXPECT_THAT(data->next(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("s1/1000.csv, ")));
}

TEST_F(MixedDatasetTest, ASourceThatRepeatsNothingIsAnError) {
  add_source(160, 1);
  add_source(5, 1, "repeat: true data { sample { rate: 1e-12 } }");
  EXPECT_THAT(read_epoch(), StatusIs(absl::StatusCode::kDataLoss,
                                     AllOf(HasSubstr("repeats, but"), HasSubstr("no example"))));
}

TEST_F(MixedDatasetTest, OpensWithClearErrors) {
  EXPECT_THAT(open_mixed_dataset(options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no mix")));
  add_source(10, 1, "repeat: true");
  EXPECT_THAT(open_mixed_dataset(options_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("all sources repeat")));
  add_source(10, 1, "name: 'clicks' data { path: 'none.csv' }");
  EXPECT_THAT(open_mixed_dataset(options_),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("mix.source[1] \"clicks\""), HasSubstr("none.csv"))));
}

MixPosition& mix_of(Cursor& cursor) { return std::get<MixPosition>(cursor.left); }

TEST_F(MixedDatasetTest, RefusesCursorsThatDoNotFit) {
  add_source(200, 1);
  add_source(100, 1, "repeat: true");
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch(1));
  ASSERT_OK_AND_ASSIGN(const auto data, open_mixed_dataset(options_));
  const auto fails = [&data](const std::vector<Cursor>& cursors, const char* what) {
    EXPECT_THAT(data->seek(cursors), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  const Cursor good = batches[3].cursor;
  fails({}, "no cursors");
  Cursor bad = good;
  bad.fingerprint ^= 1;
  fails({bad}, "of other data");
  bad = good;
  mix_of(bad).sources.pop_back();
  fails({bad}, "of other data");
  bad = good;
  mix_of(bad).sources[0].front().fingerprint ^= 1;
  fails({bad}, "mix.source[0]: the cursors are of other data");
  bad = good;
  mix_of(bad).sources[0].front().epoch = 7;
  fails({bad}, "a part of epoch 7");
  bad = good;
  mix_of(bad).sources[1].front().epoch = 1;
  fails({bad}, "not of passes of epoch 1");
  bad = good;
  bad.epoch = 2;
  fails({good, bad}, "must be of one");
  fails({good, good}, "in two cursors");
  Cursor plain;
  plain.left = std::vector<RowInterval>{{0, 5}};
  fails({plain}, "of other data");
  options_.data.mutable_mix()->mutable_source(0)->mutable_data()->set_shuffle_rows(9);
  ASSERT_OK_AND_ASSIGN(const auto other, open_mixed_dataset(options_));
  EXPECT_THAT(other->seek({good}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(MixedDatasetTest, CancelIsForGood) {
  add_source(20000, 1);
  add_source(10, 1, "repeat: true");
  ASSERT_OK_AND_ASSIGN(const auto data, open_mixed_dataset(options_));
  EXPECT_THAT(data->next(), StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK(data->start_epoch(0));
  ASSERT_OK(data->next());
  std::thread([&] { data->cancel(); }).join();
  EXPECT_THAT(data->next(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(data->start_epoch(1), StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(MixedDatasetTest, EpochsMayBeginAtAnyTime) {
  add_source(320, 1);
  add_source(10, 1, "repeat: true");
  options_.prefetch_batches = 1;
  ASSERT_OK_AND_ASSIGN(const auto data, open_mixed_dataset(options_));
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK(data->start_epoch(i));
    for (int k = 0; k < i; ++k) ASSERT_OK(data->next());
  }
  ASSERT_OK(data->start_epoch(0));
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_rest(*data));
  EXPECT_EQ(batches.size(), 40u);
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::optional<Batch> end, data->next());
    EXPECT_FALSE(end.has_value());
  }
}

}  // namespace
}  // namespace millrace
