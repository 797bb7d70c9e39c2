#include "io/epoch/dataset_conformance.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "tests/io_testing/batches.h"

namespace millrace {
namespace {

constexpr int64_t kBatchSize = 7;

DatasetOptions options_of(const DatasetConformance& c, int64_t rank = 0, int64_t world_size = 1) {
  DatasetOptions options = c.options;
  options.data.set_batch_size(kBatchSize);
  options.data.set_drop_remainder(false);
  options.rank = rank;
  options.world_size = world_size;
  return options;
}

std::unique_ptr<Dataset> make_one(const DatasetConformance& c, int64_t rank = 0,
                                  int64_t world_size = 1) {
  return c.make(options_of(c, rank, world_size));
}

// Reads an epoch. Errors: as the dataset; OutOfRange for one that does not end.
absl::StatusOr<std::vector<Batch>> read_epoch(const DatasetConformance& c, Dataset& data,
                                              int64_t epoch) {
  RETURN_IF_ERROR(data.start_epoch(epoch));
  std::vector<Batch> batches;
  while (static_cast<int64_t>(batches.size()) <= c.examples) {
    ASSIGN_OR_RETURN(std::optional<Batch> batch, data.next());
    if (!batch.has_value()) return batches;
    batches.push_back(*std::move(batch));
  }
  return absl::OutOfRangeError("an epoch has more batches than examples");
}

std::vector<std::string> bytes_of_all(const std::vector<Batch>& batches) {
  std::vector<std::string> bytes;
  for (const Batch& batch : batches) bytes.push_back(bytes_of(batch));
  return bytes;
}

// Appends the ids of the examples of some batches.
void append_ids(const std::vector<Batch>& batches, std::vector<int64_t>* ids) {
  for (const Batch& batch : batches) {
    for (const int64_t id : ids_of(batch)) ids->push_back(id);
  }
}

// The sorted ids of an epoch, read by a single rank.
std::vector<int64_t> expected_ids(const DatasetConformance& c, int64_t epoch) {
  const absl::StatusOr<std::vector<Batch>> batches = read_epoch(c, *make_one(c), epoch);
  EXPECT_OK(batches);
  std::vector<int64_t> ids;
  if (batches.ok()) append_ids(*batches, &ids);
  std::sort(ids.begin(), ids.end());
  return ids;
}

// True without a message, since batches are large.
bool are_equal(const std::vector<Batch>& a, const std::vector<Batch>& b) {
  return bytes_of_all(a) == bytes_of_all(b);
}

void check_epochs(const DatasetConformance& c) {
  const auto data = make_one(c);
  for (const int64_t epoch : {0, 1, 0}) {
    ASSERT_OK_AND_ASSIGN(const auto first, read_epoch(c, *data, epoch));
    ASSERT_OK_AND_ASSIGN(const auto second, read_epoch(c, *data, epoch));
    EXPECT_TRUE(are_equal(first, second)) << "epoch " << epoch << ", a second time";
    ASSERT_OK(data->start_epoch(epoch + 5));
    ASSERT_OK(data->next());  // what is left of this epoch is dropped
    ASSERT_OK_AND_ASSIGN(const auto third, read_epoch(c, *data, epoch));
    EXPECT_TRUE(are_equal(first, third)) << "epoch " << epoch << ", within another one";
    ASSERT_OK_AND_ASSIGN(const auto other, read_epoch(c, *make_one(c), epoch));
    EXPECT_TRUE(are_equal(first, other)) << "epoch " << epoch << ", a second instance";
  }
}

void check_threads(const DatasetConformance& c) {
  ASSERT_OK_AND_ASSIGN(const auto expected, read_epoch(c, *make_one(c), 1));
  for (const int threads : {1, 3}) {
    for (const int64_t prefetched : {1, 4}) {
      DatasetOptions options = options_of(c);
      options.reader_threads = threads;
      options.prefetch_batches = prefetched;
      ASSERT_OK_AND_ASSIGN(const auto batches, read_epoch(c, *c.make(options), 1));
      EXPECT_TRUE(are_equal(batches, expected))
          << threads << " threads, " << prefetched << " prefetched batches";
    }
  }
}

// Expects a tensor of this type and shape, in memory of its own order.
void expect_tensor(const at::Tensor& tensor, at::ScalarType type, const std::vector<int64_t>& sizes,
                   const char* name) {
  ASSERT_TRUE(tensor.defined()) << name;
  EXPECT_EQ(tensor.scalar_type(), type) << name;
  EXPECT_EQ(tensor.sizes().vec(), sizes) << name;
  EXPECT_TRUE(tensor.is_contiguous() && tensor.is_cpu()) << name;
}

void expect_sparse_form(const KeyedJagged& sparse, int64_t offsets) {
  ASSERT_NO_FATAL_FAILURE(expect_tensor(sparse.offsets, at::kLong, {offsets}, "sparse.offsets"));
  const int64_t* values = sparse.offsets.const_data_ptr<int64_t>();
  EXPECT_EQ(values[0], 0);
  EXPECT_TRUE(std::is_sorted(values, values + offsets)) << "offsets decrease";
  expect_tensor(sparse.values, at::kLong, {values[offsets - 1]}, "sparse.values");
  if (!sparse.weights.defined()) return;
  expect_tensor(sparse.weights, at::kFloat, {values[offsets - 1]}, "sparse.weights");
}

void expect_form(const FeatureSchema& schema, const Batch& batch) {
  ASSERT_GE(batch.size, 1);
  ASSERT_LE(batch.size, kBatchSize);
  const auto size_of = [](const auto& names) { return static_cast<int64_t>(names.size()); };
  expect_sparse_form(batch.sparse, size_of(schema.sparse()) * batch.size + 1);
  expect_tensor(batch.dense, at::kFloat, {batch.size, size_of(schema.dense())}, "dense");
  expect_tensor(batch.labels, at::kFloat, {batch.size, size_of(schema.labels())}, "labels");
  expect_tensor(batch.example_ids, at::kLong, {batch.size}, "example_ids");
  if (batch.weights.defined()) expect_tensor(batch.weights, at::kFloat, {batch.size}, "weights");
  if (batch.group_ids.defined()) {
    expect_tensor(batch.group_ids, at::kLong, {batch.size}, "group_ids");
  }
  EXPECT_GE(batch.bad_examples, 0);
  if (schema.kept_columns().empty()) return;
  ASSERT_NE(batch.kept, nullptr) << "the columns that the schema keeps are missing";
  ASSERT_EQ(batch.kept->size(), schema.kept_columns().size());
  for (const Column& column : *batch.kept) EXPECT_EQ(column.rows, batch.size);
}

void check_form(const DatasetConformance& c) {
  const auto data = make_one(c);
  for (const int64_t epoch : {0, 3}) {
    ASSERT_OK_AND_ASSIGN(const auto batches, read_epoch(c, *data, epoch));
    EXPECT_FALSE(batches.empty());
    for (const Batch& batch : batches) {
      ASSERT_NO_FATAL_FAILURE(expect_form(c.options.schema, batch));
      EXPECT_TRUE(!c.has_positions || batch.cursor.epoch == epoch)
          << "the cursor is of epoch " << batch.cursor.epoch;
    }
  }
}

void check_every_example(const DatasetConformance& c) {
  for (const int64_t epoch : {0, 1}) {
    const std::vector<int64_t> expected = expected_ids(c, epoch);
    EXPECT_EQ(static_cast<int64_t>(expected.size()), c.examples);
    EXPECT_EQ(std::set<int64_t>(expected.begin(), expected.end()).size(), expected.size())
        << "example ids are not distinct";
    for (const int64_t world_size : {2, 3}) {
      std::vector<int64_t> ids;
      for (int64_t rank = 0; rank < world_size; ++rank) {
        ASSERT_OK_AND_ASSIGN(const auto batches,
                             read_epoch(c, *make_one(c, rank, world_size), epoch));
        append_ids(batches, &ids);
      }
      std::sort(ids.begin(), ids.end());
      EXPECT_EQ(ids, expected) << "of " << world_size << " ranks, epoch " << epoch;
    }
  }
}

void check_end(const DatasetConformance& c) {
  const auto data = make_one(c);
  for (const int64_t epoch : {0, 1}) {
    ASSERT_OK_AND_ASSIGN(const auto batches, read_epoch(c, *data, epoch));
    for (int time = 0; time < 3; ++time) {
      ASSERT_OK_AND_ASSIGN(const std::optional<Batch> batch, data->next());
      EXPECT_FALSE(batch.has_value()) << "after the end of epoch " << epoch;
    }
  }
}

void check_remainder(const DatasetConformance& c) {
  for (const int64_t batch_size : {3, 7, 8}) {
    DatasetOptions options = options_of(c);
    options.data.set_batch_size(batch_size);
    options.data.set_drop_remainder(true);
    ASSERT_OK_AND_ASSIGN(const auto batches, read_epoch(c, *c.make(options), 0));
    for (const Batch& batch : batches) EXPECT_EQ(batch.size, batch_size);
    EXPECT_EQ(static_cast<int64_t>(batches.size()), c.examples / batch_size);
  }
}

void check_identity(const DatasetConformance& c) {
  const auto first = make_one(c), second = make_one(c);
  ASSERT_OK_AND_ASSIGN(const DataIdentity expected, first->identity());
  ASSERT_OK(read_epoch(c, *first, 0));
  for (Dataset* data : {first.get(), second.get()}) {
    ASSERT_OK_AND_ASSIGN(const DataIdentity identity, data->identity());
    EXPECT_EQ(identity.SerializeAsString(), expected.SerializeAsString());
  }
}

// Reads epochs without end until next() fails, or until `limit` batches came after cancel().
absl::Status read_until_cancelled(Dataset& data, std::atomic<bool>& reads,
                                  const std::atomic<bool>& cancelled, int64_t limit) {
  int64_t late = 0;
  for (int64_t epoch = 0;; ++epoch) {
    RETURN_IF_ERROR(data.start_epoch(epoch));
    while (true) {
      if (cancelled && ++late > limit) return absl::OkStatus();
      ASSIGN_OR_RETURN(const std::optional<Batch> batch, data.next());
      reads = true;
      if (!batch.has_value()) break;
    }
  }
}

void check_cancel(const DatasetConformance& c) {
  const auto is_cancelled = StatusIs(absl::StatusCode::kCancelled);
  for (const bool begun : {false, true}) {
    const auto data = make_one(c);
    ASSERT_OK(data->start_epoch(0));
    if (begun) ASSERT_OK(data->next());
    data->cancel();
    for (int time = 0; time < 3; ++time) EXPECT_THAT(data->next(), is_cancelled);
  }
  const auto data = make_one(c);
  std::atomic<bool> reads = false, cancelled = false;
  absl::Status status;
  std::thread reader([&] {
    status = read_until_cancelled(*data, reads, cancelled, c.examples);
    reads = true;  // also if the first batch failed
  });
  while (!reads) std::this_thread::yield();
  data->cancel();
  cancelled = true;
  reader.join();
  EXPECT_THAT(status, is_cancelled) << "on another thread";
}

// Returns the batches of an epoch of each of `world_size` ranks.
absl::StatusOr<std::vector<std::vector<Batch>>> read_ranks(const DatasetConformance& c,
                                                           int64_t world_size, int64_t epoch) {
  std::vector<std::vector<Batch>> ranks;
  for (int64_t rank = 0; rank < world_size; ++rank) {
    ASSIGN_OR_RETURN(ranks.emplace_back(), read_epoch(c, *make_one(c, rank, world_size), epoch));
  }
  return ranks;
}

// The cursors of all ranks after `count` batches of each. REQUIRES: count > 0.
std::vector<Cursor> cursors_after(const std::vector<std::vector<Batch>>& ranks, size_t count) {
  std::vector<Cursor> cursors;
  for (const std::vector<Batch>& batches : ranks) {
    cursors.push_back(batches.at(std::min(count, batches.size()) - 1).cursor);
  }
  return cursors;
}

// Returns what a dataset gives after a seek. Errors: as the dataset.
absl::StatusOr<std::vector<Batch>> read_from(Dataset& data, const std::vector<Cursor>& cursors) {
  RETURN_IF_ERROR(data.seek(cursors));
  return read_rest(data);
}

void check_seek(const DatasetConformance& c) {
  for (const int64_t world_size : {1, 2}) {
    for (const int64_t epoch : {0, 2}) {
      ASSERT_OK_AND_ASSIGN(const auto ranks, read_ranks(c, world_size, epoch));
      for (int64_t rank = 0; rank < world_size; ++rank) {
        const std::vector<Batch>& own = ranks[rank];
        const auto data = make_one(c, rank, world_size);
        for (size_t count = own.size(); count > 0; --count) {
          ASSERT_OK_AND_ASSIGN(const auto rest, read_from(*data, cursors_after(ranks, count)));
          const std::vector<Batch> expected(own.begin() + static_cast<int64_t>(count), own.end());
          ASSERT_TRUE(are_equal(rest, expected)) << "after batch " << count << " of epoch " << epoch
                                                 << ", rank " << rank << " of " << world_size;
          for (size_t i = 0; i < rest.size(); ++i) EXPECT_EQ(rest[i].cursor, expected[i].cursor);
        }
      }
    }
  }
}

// Reads with `to` ranks what `from` ranks left after some batches.
void check_reshard(const DatasetConformance& c, int64_t from, int64_t to) {
  ASSERT_OK_AND_ASSIGN(const auto ranks, read_ranks(c, from, 1));
  for (const size_t count : {1, 2, 100'000}) {
    std::vector<int64_t> ids;
    for (const std::vector<Batch>& batches : ranks) {
      const auto end = static_cast<int64_t>(std::min(count, batches.size()));
      append_ids({batches.begin(), batches.begin() + end}, &ids);
    }
    for (int64_t rank = 0; rank < to; ++rank) {
      ASSERT_OK_AND_ASSIGN(const auto rest,
                           read_from(*make_one(c, rank, to), cursors_after(ranks, count)));
      append_ids(rest, &ids);
    }
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(ids, expected_ids(c, 1))
        << from << " ranks, then " << to << ", after " << count << " batches";
  }
}

void check_reshards(const DatasetConformance& c) {
  for (const auto& [from, to] : {std::pair(2, 1), std::pair(1, 2), std::pair(2, 3)}) {
    ASSERT_NO_FATAL_FAILURE(check_reshard(c, from, to));
  }
}

void check_foreign(const DatasetConformance& c) {
  ASSERT_OK_AND_ASSIGN(const auto batches, read_epoch(c, *make_one(c), 0));
  const Cursor own = batches.at(0).cursor;
  std::vector<std::pair<const char*, Cursor>> foreign;
  const auto add = [&](const char* what) -> Cursor& {
    return foreign.emplace_back(what, own).second;
  };
  if (own.mix() == nullptr) {
    add("rows behind the end").left = std::vector<RowInterval>{{0, c.examples * 1000}};
    add("no rows").left = std::vector<RowInterval>{{5, 5}};
    add("rows twice").left = std::vector<RowInterval>{{1, 3}, {2, 4}};
    MixPosition mix;
    mix.sources.resize(3, SourcePosition{PassPosition{.rows_left = {{0, 1}}}});
    add("a mix").left = mix;
  } else {
    add("data that is no mix").left = std::vector<RowInterval>{{0, 1}};
  }
  if (own.fingerprint != 0) add("another fingerprint").fingerprint = own.fingerprint ^ 1;
  for (const auto& [what, cursor] : foreign) {
    const auto data = make_one(c);
    EXPECT_THAT(data->seek({&cursor, 1}), StatusIs(absl::StatusCode::kInvalidArgument)) << what;
    // The epoch begins as if nothing had happened.
    ASSERT_OK_AND_ASSIGN(const auto again, read_epoch(c, *data, 0));
    EXPECT_TRUE(are_equal(again, batches)) << "after " << what;
  }
  EXPECT_THAT(make_one(c)->seek({}), StatusIs(absl::StatusCode::kInvalidArgument)) << "no cursors";
}

void check_unimplemented(const DatasetConformance& c) {
  const Cursor cursor;
  EXPECT_THAT(make_one(c)->seek({&cursor, 1}), StatusIs(absl::StatusCode::kUnimplemented));
}

}  // namespace

std::vector<Property> dataset_properties(const DatasetConformance& conformance) {
  const auto property = properties_of(conformance);
  std::vector<Property> properties = {
      property("EpochsAreTheSameEachTime", check_epochs),
      property("ThreadsDecideNothing", check_threads),
      property("BatchesHaveTheirForm", check_form),
      property("RanksHaveEveryExampleOnce", check_every_example),
      property("StaysAtTheEnd", check_end),
      property("DropsTheRemainder", check_remainder),
      property("IdentityIsTheSame", check_identity),
      property("CancelEndsNext", check_cancel),
  };
  if (conformance.has_positions) {
    properties.push_back(property("ContinuesAfterEachBatch", check_seek));
    properties.push_back(property("ContinuesWithOtherRanks", check_reshards));
    properties.push_back(property("RefusesForeignCursors", check_foreign));
  } else {
    properties.push_back(property("SaysThatItHasNoPositions", check_unimplemented));
  }
  return properties;
}

bool register_dataset_conformance(const std::string& suite, const DatasetConformance& conformance,
                                  std::source_location place) {
  return register_properties(suite, dataset_properties(conformance), place);
}

}  // namespace millrace
