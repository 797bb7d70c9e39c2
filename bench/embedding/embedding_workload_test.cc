#include "bench/embedding/embedding_workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::HasSubstr;

EmbeddingShape small() {
  EmbeddingShape shape;
  shape.tables = 2;
  shape.rows = 50;
  shape.dim = 4;
  shape.batch = 10000;
  shape.ids_per_feature = 2;
  return shape;
}

TEST(EmbeddingWorkload, RowsFollowZipfsLaw) {
  ASSERT_OK_AND_ASSIGN(const EmbeddingWorkload workload, EmbeddingWorkload::create(small()));
  const std::vector<int64_t> rows = workload.batch_rows(3);
  ASSERT_EQ(rows.size(), 2 * 10000 * 2);
  double total = 0;
  for (int rank = 1; rank <= 50; ++rank) total += std::pow(rank, -1.05);
  for (int table = 0; table < 2; ++table) {
    std::vector<int> counts(50);
    for (int i = 0; i < 20000; ++i) ++counts.at(rows[table * 20000 + i]);
    std::sort(counts.rbegin(), counts.rend());
    for (const int rank : {1, 2, 5, 20}) {
      const double expected = 20000 * std::pow(rank, -1.05) / total;
      EXPECT_NEAR(counts[rank - 1], expected, 6 * std::sqrt(expected)) << rank;
    }
  }
}

TEST(EmbeddingWorkload, WithoutSkewAllRowsAreAlike) {
  EmbeddingShape shape = small();
  shape.zipf = 0;
  ASSERT_OK_AND_ASSIGN(const EmbeddingWorkload workload, EmbeddingWorkload::create(shape));
  const std::vector<int64_t> rows = workload.batch_rows(0);
  for (int64_t row = 0; row < 50; ++row) {
    EXPECT_NEAR(std::count(rows.begin(), rows.end(), row), 800, 6 * std::sqrt(800)) << row;
  }
}

TEST(EmbeddingWorkload, FrequentRowsDifferBetweenTablesAndBatchesDiffer) {
  ASSERT_OK_AND_ASSIGN(const EmbeddingWorkload workload, EmbeddingWorkload::create(small()));
  EXPECT_NE(workload.rows_by_arrival(0), workload.rows_by_arrival(1));
  EXPECT_NE(workload.batch_rows(0), workload.batch_rows(1));
  EXPECT_EQ(workload.batch_rows(0), workload.batch_rows(0));
}

TEST(EmbeddingWorkload, EveryRowArrivesOnceFrequentOnesEarly) {
  EmbeddingShape shape = small();
  shape.rows = 20000;
  ASSERT_OK_AND_ASSIGN(const EmbeddingWorkload workload, EmbeddingWorkload::create(shape));
  const std::vector<int64_t> arrival = workload.rows_by_arrival(1);
  EXPECT_EQ(arrival.size(), 20000);
  EXPECT_EQ(std::set<int64_t>(arrival.begin(), arrival.end()).size(), 20000);
  // Most ids of a batch are among the first tenth.
  const std::set<int64_t> early(arrival.begin(), arrival.begin() + 2000);
  const std::vector<int64_t> rows = workload.batch_rows(0);
  const auto found = std::count_if(rows.begin() + 20000, rows.end(),
                                   [&](int64_t row) { return early.count(row) > 0; });
  EXPECT_GT(found, 20000 / 2);
}

TEST(EmbeddingWorkload, HashedIdsAreDistinctAndUseAllBits) {
  ASSERT_OK_AND_ASSIGN(const EmbeddingWorkload workload, EmbeddingWorkload::create(small()));
  std::set<int64_t> ids;
  int64_t all = 0, any = -1;
  for (int64_t table = 0; table < 2; ++table) {
    for (int64_t row = 0; row < 50; ++row) {
      const int64_t id = workload.id(table, row);
      ids.insert(id);
      all |= id;
      any &= id;
    }
  }
  EXPECT_EQ(ids.size(), 100);
  EXPECT_EQ(all, -1);
  EXPECT_EQ(any, 0);
}

TEST(EmbeddingWorkload, StaticIdsAreRows) {
  EmbeddingShape shape = small();
  shape.ids = "static";
  ASSERT_OK_AND_ASSIGN(const EmbeddingWorkload workload, EmbeddingWorkload::create(shape));
  EXPECT_EQ(workload.id(1, 17), 17);
}

TEST(EmbeddingWorkload, GradientIsSmallAndCentred) {
  ASSERT_OK_AND_ASSIGN(const EmbeddingWorkload workload, EmbeddingWorkload::create(small()));
  const std::vector<float> gradient = workload.gradient();
  ASSERT_EQ(gradient.size(), 10000 * 2 * 4);
  double sum = 0;
  for (const float value : gradient) {
    ASSERT_LE(std::abs(value), 0.01f);
    sum += value;
  }
  EXPECT_NEAR(sum / 80000, 0, 6 * 0.01 / std::sqrt(3 * 80000));
}

TEST(EmbeddingWorkload, BadShapesAreRefusedByFlag) {
  auto refused = [](auto change, const char* flag) {
    EmbeddingShape shape = small();
    change(shape);
    EXPECT_THAT(EmbeddingWorkload::create(shape).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(flag)));
  };
  refused([](EmbeddingShape& shape) { shape.tables = 0; }, "--tables is 0");
  refused([](EmbeddingShape& shape) { shape.rows = -1; }, "--rows is -1");
  refused([](EmbeddingShape& shape) { shape.rows = (int64_t{1} << 31) + 1; }, "--rows");
  refused([](EmbeddingShape& shape) { shape.dim = 0; }, "--dim");
  refused([](EmbeddingShape& shape) { shape.batch = 0; }, "--batch");
  refused([](EmbeddingShape& shape) { shape.ids_per_feature = 0; }, "--ids_per_feature");
  refused([](EmbeddingShape& shape) { shape.zipf = -1; }, "--zipf");
  refused([](EmbeddingShape& shape) { shape.ids = "dense"; }, "--ids is \"dense\"");
}

}  // namespace
}  // namespace millrace
