#include "framework/report/table_figures.h"

#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TableStatistics statistics(int64_t scale) {
  TableStatistics result;
  result.rows = 10 * scale;
  result.bytes = 1000 * scale;
  result.load = 0.5;
  result.candidates = 3 * scale;
  result.inserted = 7 * scale;
  result.evicted[0] = 2 * scale;
  result.occurrences = 100 * scale;
  result.unique_ids = 40 * scale;
  result.hottest = 20 * scale;
  result.unadmitted = 5 * scale;
  result.frozen = {20 * scale, 1 * scale};
  result.evaluated = {8 * scale, 2 * scale};
  return result;
}

TEST(TableFiguresTest, ReportsWhatHappenedSinceTheLastReport) {
  TableFigures figures;
  figures.add("items", statistics(3), statistics(1));
  const TableReport report = figures.reports().at("items");
  EXPECT_EQ(report.rows, 30);
  EXPECT_EQ(report.bytes, 3000);
  EXPECT_EQ(report.load, 0.5);
  EXPECT_EQ(report.candidates, 9);
  EXPECT_EQ(report.inserted, 14);
  EXPECT_EQ(report.unadmitted, 10);
  ASSERT_EQ(report.evicted.size(), 1);
  EXPECT_EQ(report.evicted.begin()->second, 4);
  EXPECT_EQ(report.unique_share, 0.4);
  EXPECT_EQ(report.hottest_share, 0.2);
  EXPECT_EQ(report.unknown_share, 6.0 / 120) << "unadmitted ones and those of a frozen table";
  EXPECT_THAT(figures.unknown_shares(), ElementsAre(Pair("items", 0.25)));
  EXPECT_EQ(figures.lookups(), 200);
  figures.add("users", statistics(4), statistics(1));
  EXPECT_EQ(figures.lookups(), 500) << "of all tables";
}

TEST(TableFiguresTest, RanksAddUp) {
  TableFigures a, b, all;
  a.add("items", statistics(1), TableStatistics());
  b.add("items", statistics(3), TableStatistics());
  const std::vector<std::string> saved = {a.save(), b.save()};
  ASSERT_OK(all.load_ranks(std::vector<absl::string_view>(saved.begin(), saved.end())));
  const TableReport report = all.reports().at("items");
  EXPECT_EQ(report.rows, 40);
  EXPECT_EQ(report.load, 0.5);
  EXPECT_EQ(report.inserted, 28);
  EXPECT_EQ(report.unique_share, 0.4);
  EXPECT_EQ(report.hottest_share, 60.0 / 400);  // a maximum
  EXPECT_EQ(all.lookups(), 400);
  EXPECT_EQ(report.unknown_share, 6.0 / 120);
  EXPECT_THAT(all.unknown_shares(), ElementsAre(Pair("items", 0.25)));
}

TEST(TableFiguresTest, TablesWithoutRowsOrLookupsHaveNoUnknownShare) {
  TableStatistics empty = statistics(1), idle = statistics(1);
  empty.rows = 0;
  idle.evaluated = {};
  TableFigures figures;
  figures.add("empty", empty, TableStatistics());
  figures.add("idle", idle, TableStatistics());
  EXPECT_THAT(figures.unknown_shares(), IsEmpty());
}

TEST(TableFiguresTest, RanksTakeTheLargestCountOfEachStep) {
  TableFigures a, b, all;
  HottestCounts odd, even;
  for (int64_t step = 1; step <= 4; ++step) (step % 2 == 1 ? odd : even).add(step, 10);
  a.add("items", statistics(1), TableStatistics(), odd);
  b.add("items", statistics(1), TableStatistics(), even);
  const std::vector<std::string> saved = {a.save(), b.save()};
  ASSERT_OK(all.load_ranks(std::vector<absl::string_view>(saved.begin(), saved.end())));
  EXPECT_EQ(all.reports().at("items").hottest_share, 40.0 / 200);
}

TEST(HottestCountsTest, MemoryIsBounded) {
  HottestCounts counts;
  for (int64_t step = 1; step <= 5 * HottestCounts::kMost; ++step) counts.add(step, 2);
  EXPECT_EQ(counts.counts().size(), 5 * HottestCounts::kMost / 8);
  EXPECT_EQ(counts.counts().front(), 16) << "of 8 steps";
  EXPECT_EQ(counts.sum(), 10 * HottestCounts::kMost);
  HottestCounts late;  // of a rank that has no counts before
  late.add(5 * HottestCounts::kMost, 7);
  EXPECT_EQ(late.counts().size(), counts.counts().size());
  EXPECT_EQ(late.sum(), 7);
}

TEST(TableFiguresTest, RefusesMalformedBytes) {
  TableFigures figures;
  figures.add("items", statistics(1), TableStatistics());
  const std::string whole = figures.save();
  for (size_t size = 1; size < whole.size(); ++size) {
    TableFigures loaded;
    EXPECT_THAT(loaded.load_ranks({absl::string_view(whole).substr(0, size)}),
                StatusIs(absl::StatusCode::kDataLoss, testing::HasSubstr("rank 0")));
    EXPECT_TRUE(loaded.reports().empty());
  }
}

}  // namespace
}  // namespace millrace
