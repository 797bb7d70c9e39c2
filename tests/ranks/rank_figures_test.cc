// Compares the bytes of each exchange of tables in reports with the messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "distributed/forwarded_collectives.h"
#include "tests/ranks/table_ranks.h"

namespace millrace {
namespace {

enum Exchange { kIds, kRows, kSums, kExchanges };

// Sums the messages to other ranks. Exchanges of a training step are in the order of Exchange.
class CountingCollectives : public ForwardedCollectives {
 public:
  using Bytes = std::array<int64_t, kExchanges>;

  CountingCollectives(std::shared_ptr<Collectives> others, Bytes& bytes)
      : ForwardedCollectives(std::move(others)), bytes_(bytes) {}

  std::unique_ptr<PendingCollective> start_exchange(absl::Span<const ByteBuffer> sent,
                                                    absl::Span<ByteBuffer> received) override {
    for (size_t to = 0; to < sent.size(); ++to) {
      if (static_cast<int>(to) == rank()) continue;
      bytes_[next_] += kTableHeaderBytes + static_cast<int64_t>(sent[to].size());
    }
    next_ = (next_ + 1) % kExchanges;
    return ForwardedCollectives::start_exchange(sent, received);
  }

 private:
  Bytes& bytes_;
  size_t next_ = kIds;
};

class ReportReader : public Hook {
 public:
  explicit ReportReader(std::vector<Report>& reports) : reports_(reports) {}
  absl::string_view name() const override { return "report_reader"; }
  absl::Status after_report(HookContext&, const Report& report) override {
    reports_.push_back(report);
    return absl::OkStatus();
  }

 private:
  std::vector<Report>& reports_;
};

TEST(RankFiguresTest, ReportsHaveTheBytesOfEachExchange) {
  constexpr int kRanks = 3;
  std::array<CountingCollectives::Bytes, kRanks> bytes = {};
  std::array<std::vector<Report>, kRanks> reports;
  TableRun run;
  run.options.trainer.report = {.every_steps = kTableSteps};
  run.change_parts = [&](const TinyTrainerOptions&, TrainerParts& parts) {
    const int rank = parts.collectives->rank();
    parts.collectives =
        std::make_unique<CountingCollectives>(std::move(parts.collectives), bytes[rank]);
  };
  run.prepare = [&](Trainer& trainer, int rank) {
    return trainer.add_hook(std::make_unique<ReportReader>(reports[rank]));
  };
  run.train = [](Trainer& trainer) { return trainer.train(); };
  train_tables(run, kRanks);

  CountingCollectives::Bytes sums = {};
  int64_t most_rows = 0;
  for (const CountingCollectives::Bytes& of_rank : bytes) {
    for (size_t kind = 0; kind < kExchanges; ++kind) sums[kind] += of_rank[kind];
    most_rows = std::max(most_rows, of_rank[kRows]);
  }
  for (const std::vector<Report>& of_rank : reports) {
    ASSERT_FALSE(of_rank.empty());
    const auto& ranks = of_rank.front().ranks;
    ASSERT_TRUE(ranks.has_value());
    const double messages = double{kRanks} * kTableSteps;
    EXPECT_DOUBLE_EQ(ranks->ids_bytes, static_cast<double>(sums[kIds]) / messages);
    EXPECT_DOUBLE_EQ(ranks->rows_bytes, static_cast<double>(sums[kRows]) / messages);
    EXPECT_DOUBLE_EQ(ranks->sums_bytes, static_cast<double>(sums[kSums]) / messages);
    EXPECT_DOUBLE_EQ(ranks->owner_imbalance,
                     static_cast<double>(most_rows) * kRanks / static_cast<double>(sums[kRows]));
  }
}

}  // namespace
}  // namespace millrace
