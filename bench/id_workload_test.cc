#include "bench/id_workload.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/status_matchers.h"
#include "embedding/id_map/id_hash.h"

namespace millrace {
namespace {

using testing::HasSubstr;

constexpr const char* kKinds[] = {"random", "strided", "low_bits_equal", "high_bits_equal",
                                  "adversarial"};

TEST(BenchmarkIds, AreDistinctAndContinue) {
  for (const char* kind : kKinds) {
    ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> all, benchmark_ids(kind, 0, 5000));
    EXPECT_EQ(std::set<int64_t>(all.begin(), all.end()).size(), 5000) << kind;
    ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> behind, benchmark_ids(kind, 2000, 3000));
    EXPECT_TRUE(std::equal(behind.begin(), behind.end(), all.begin() + 2000)) << kind;
  }
}

TEST(BenchmarkIds, LookLikeTheirName) {
  ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> strided, benchmark_ids("strided", 3, 1));
  EXPECT_THAT(strided, testing::ElementsAre(3 * 4096));
  ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> low, benchmark_ids("low_bits_equal", 3, 1));
  EXPECT_THAT(low, testing::ElementsAre(int64_t{3} << 32));
  ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> high, benchmark_ids("high_bits_equal", 3, 1));
  EXPECT_THAT(high, testing::ElementsAre(std::numeric_limits<int64_t>::min() + 3));
  ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> hostile, benchmark_ids("adversarial", 0, 100));
  const IdHash known(1);
  for (const int64_t id : hostile) EXPECT_EQ(known(id) & 0x1fc0, 0);
  ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> random, benchmark_ids("random", 0, 1000));
  int64_t negative = 0, odd = 0;
  for (const int64_t id : random) {
    negative += id < 0;
    odd += id & 1;
  }
  EXPECT_NEAR(static_cast<double>(negative), 500, 100);
  EXPECT_NEAR(static_cast<double>(odd), 500, 100);
}

TEST(BenchmarkIds, BadArgumentsAreRefused) {
  EXPECT_THAT(benchmark_ids("randon", 0, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("random")));
  EXPECT_THAT(benchmark_ids("random", 0, (int64_t{1} << 31) + 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2^31")));
  EXPECT_THAT(benchmark_ids("random", 0, -1), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(DrawIds, FollowZipf) {
  ASSERT_OK_AND_ASSIGN(const std::vector<int64_t> ids, benchmark_ids("random", 0, 1000));
  std::map<int64_t, double> counts;
  constexpr int64_t kCount = 100000;
  for (const int64_t id : draw_ids(ids, 1, kCount)) ++counts[id];
  std::vector<double> sorted;
  for (const auto& [id, count] : counts) {
    EXPECT_TRUE(std::find(ids.begin(), ids.end(), id) != ids.end());
    sorted.push_back(count);
  }
  std::sort(sorted.rbegin(), sorted.rend());
  // 1000 ranks of weight 1 / k: 7.485 in all.
  EXPECT_NEAR(sorted[0], kCount / 7.485, 700);
  EXPECT_NEAR(sorted[9], kCount / 74.85, 200);
}

TEST(DrawIds, AllAlikeWithoutZipf) {
  const std::vector<int64_t> ids = {5, 6, 7, 8};
  std::map<int64_t, int> counts;
  for (const int64_t id : draw_ids(ids, 0, 4000)) ++counts[id];
  for (const int64_t id : ids) EXPECT_NEAR(counts[id], 1000, 150);
}

}  // namespace
}  // namespace millrace
