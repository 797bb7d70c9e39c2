#include "framework/report/reporter.h"

#include <ATen/ATen.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <memory>
#include <vector>

#include "base/status_matchers.h"
#include "distributed/one_rank_collectives.h"
#include "distributed/thread_collectives.h"
#include "embedding/embedding_collection.h"
#include "optim/sparse_optimizer.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

StepResult step(int64_t examples, double loss) {
  StepResult step;
  step.applied = true;
  step.examples = examples;
  step.loss = at::scalar_tensor(loss);
  step.predictions = at::full({examples, 1}, 0.5);
  step.labels = at::ones({examples, 1});
  step.values = {{"margin", at::scalar_tensor(loss * 10)}};
  step.timings.data_wait = absl::Seconds(1);
  return step;
}

class ReporterTest : public testing::Test {
 protected:
  ReporterTest() {
    TinyTrainerOptions options;
    options.train.sparse = 1;
    options.learning_rate = 0.25;
    parts_ = tiny_parts(options);
  }
  Reporter reporter() {
    const auto collections = parts_.sparse_optimizer->collections();
    return Reporter(*MetricSet::create({"mean"}, {"label"}, LossScope::kWholeStep),
                    *SpanMetrics::create({}, {"mean"}, {"label"}, {}), parts_.dense_optimizers,
                    parts_.sparse_optimizer.get(), {collections.begin(), collections.end()},
                    training_);
  }
  Report take(Reporter& reporter, const Progress& progress) {
    return *reporter.take(progress, alone_);
  }
  FakeClock clock_;
  TrainingClock training_{clock_};
  OneRankCollectives alone_;
  TrainerParts parts_;
};

TEST_F(ReporterTest, CollectsSteps) {
  Reporter reporter = this->reporter();
  training_.start(absl::ZeroDuration());
  ASSERT_OK(reporter.add(step(4, 1), {}));
  ASSERT_OK(reporter.add(step(12, 2), {}));
  clock_.advance(absl::Seconds(8));
  reporter.values().add("clicks", 3, Reduction::kSum);
  EXPECT_EQ(reporter.steps(), 2);
  const Progress progress = {.step = 2, .examples = 16, .elapsed = absl::Seconds(7)};
  const Report report = take(reporter, progress);
  EXPECT_TRUE(report.progress == progress);
  EXPECT_EQ(report.steps, 2);
  EXPECT_EQ(report.examples, 16);
  EXPECT_EQ(report.examples_per_second, 2);
  EXPECT_EQ(report.data_wait_share, 0.25);
  EXPECT_FALSE(report.ranks.has_value()) << "there is one";
  EXPECT_THAT(report.metrics, ElementsAre(Pair("loss", 1.75), Pair("mean", 0.5)));
  EXPECT_THAT(report.values, ElementsAre(Pair("clicks", 3), Pair("margin", 15)));
  EXPECT_THAT(report.learning_rates, ElementsAre(Pair("dense", 0.25), Pair("sparse", 0.25)));
  ASSERT_EQ(report.tables.size(), 1);
  EXPECT_EQ(report.tables.at("items").rows, 0);
}

TEST_F(ReporterTest, FiguresOfTablesAreThoseSinceTheLastReport) {
  EmbeddingTable& table = *parts_.sparse_optimizer->collections()[0]->tables()[0];
  const auto step = [&table](int64_t number, std::vector<int64_t> ids,
                             std::vector<uint32_t> counts) {
    std::vector<RowIndex> rows(ids.size());
    ASSERT_OK(table.find_or_insert(ids, absl::MakeSpan(rows)));
    table.record_occurrences(number, rows, counts);
    table.commit(number);
  };
  Reporter reporter = this->reporter();
  step(1, {1, 2, 3}, {7, 2, 1});
  step(2, {1, 4}, {5, 5});
  training_.start(absl::ZeroDuration());
  clock_.advance(absl::Seconds(8));
  const Report report = take(reporter, {.step = 2});
  EXPECT_EQ(report.rows_per_second, 20 / 8.0);
  const TableReport& first = report.tables.at("items");
  EXPECT_EQ(first.rows, 4);
  EXPECT_EQ(first.inserted, 4);
  EXPECT_EQ(first.unique_share, 5.0 / 20);
  EXPECT_EQ(first.hottest_share, 12.0 / 20);
  EXPECT_GT(first.load, 0);
  EXPECT_THAT(first.evicted, IsEmpty());
  step(3, {5}, {4});
  clock_.advance(absl::Seconds(2));
  const Report later = take(reporter, {.step = 3});
  EXPECT_EQ(later.rows_per_second, 4 / 2.0);
  const TableReport& second = later.tables.at("items");
  EXPECT_EQ(second.rows, 5);
  EXPECT_EQ(second.inserted, 1);
  EXPECT_EQ(second.unique_share, 0.25);
  EXPECT_EQ(second.hottest_share, 1);
  clock_.advance(absl::Seconds(1));
  const Report last = take(reporter, {.step = 3});
  EXPECT_EQ(last.rows_per_second, 0);
  const TableReport& nothing = last.tables.at("items");
  EXPECT_EQ(nothing.inserted, 0);
  EXPECT_EQ(nothing.unique_share, 0);
}

TEST_F(ReporterTest, EvictedRowsByReason) {
  TinyTrainerOptions options;
  options.train.sparse = 1;
  options.table.mutable_eviction()->set_idle_steps(1);
  options.table.mutable_limit()->set_max_rows(4);
  options.table.mutable_limit()->set_on_full(LimitConfig::EVICT_LRU);
  options.table.mutable_limit()->set_evict_to(0.5);
  parts_ = tiny_parts(options);
  EmbeddingTable& table = *parts_.sparse_optimizer->collections()[0]->tables()[0];
  Reporter reporter = this->reporter();
  std::vector<RowIndex> rows(6);
  ASSERT_OK(table.find_or_insert({{1, 2, 3, 4, 5, 6}}, absl::MakeSpan(rows)));
  table.record_occurrences(1, rows, std::vector<uint32_t>(6, 1));
  table.commit(1);
  ASSERT_OK(table.maintenance().evict({.step = 9}));
  EXPECT_THAT(take(reporter, {.step = 9}).tables.at("items").evicted,
              ElementsAre(Pair("idle_steps", 2), Pair("limit", 4)));
}

TEST_F(ReporterTest, EachReportBeginsAnew) {
  Reporter reporter = this->reporter();
  training_.start(absl::ZeroDuration());
  ASSERT_OK(reporter.add(step(4, 1), {}));
  clock_.advance(absl::Seconds(10));
  take(reporter, {.step = 1});
  clock_.advance(absl::Seconds(2));
  EXPECT_EQ(reporter.steps(), 0);
  ASSERT_OK(reporter.add(step(8, 3), {}));
  const Report report = take(reporter, {.step = 2});
  EXPECT_EQ(report.steps, 1);
  EXPECT_EQ(report.examples, 8);
  EXPECT_EQ(report.examples_per_second, 4);
  EXPECT_EQ(report.data_wait_share, 0.5);
  EXPECT_EQ(report.metrics.at("loss"), 3);
  EXPECT_EQ(report.values.at("margin"), 30);
}

TEST_F(ReporterTest, RatesAreOverTimeOfTrainingAlone) {
  Reporter reporter = this->reporter();
  clock_.advance(absl::Seconds(100));  // before the run
  training_.start(absl::ZeroDuration());
  ASSERT_OK(reporter.add(step(8, 1), {}));
  clock_.advance(absl::Seconds(1));
  training_.stop();
  training_.stop();
  clock_.advance(absl::Seconds(100));  // an evaluation
  training_.start(absl::ZeroDuration());
  clock_.advance(absl::Seconds(2));
  training_.start(absl::ZeroDuration());
  clock_.advance(absl::Seconds(1));
  EXPECT_EQ(take(reporter, {}).examples_per_second, 2);
  ASSERT_OK(reporter.add(step(8, 1), {}));
  clock_.advance(absl::Seconds(1));
  EXPECT_EQ(take(reporter, {}).examples_per_second, 8);
  clock_.advance(absl::Seconds(5));
  training_.stop();
  clock_.advance(absl::Seconds(7));
  EXPECT_EQ(take(reporter, {}).examples_per_second, 0) << "no step";
  ASSERT_OK(reporter.add(step(8, 1), {}));
  EXPECT_EQ(take(reporter, {}).examples_per_second, 0) << "no time";
}

TEST_F(ReporterTest, BytesReadAreOverTheTimeBetweenReports) {
  const ProcessFigures before = read_process_figures();
  Reporter reporter = this->reporter();
  std::ifstream zeros("/dev/zero", std::ios::binary);
  std::vector<char> bytes(1 << 20);
  ASSERT_TRUE(zeros.read(bytes.data(), static_cast<std::streamsize>(bytes.size())));
  const Report report = take(reporter, {});
  const ProcessFigures after = read_process_figures();
  if (after.bytes_read == 0) GTEST_SKIP() << "the kernel has no /proc/self/io";
  EXPECT_GE(report.process.bytes_read, 1 << 20);
  const double seconds = absl::ToDoubleSeconds(after.at - before.at);
  EXPECT_GE(report.bytes_per_second * seconds, static_cast<double>(report.process.bytes_read));
}

TEST_F(ReporterTest, TensorsAreNotReadUntilAReport) {
  Reporter reporter = this->reporter();
  const StepResult kept = step(4, 1);
  ASSERT_OK(reporter.add(kept, {}));
  kept.loss.fill_(5);
  kept.values[0].value.fill_(7);
  const Report report = take(reporter, {});
  EXPECT_EQ(report.metrics.at("loss"), 5);
  EXPECT_EQ(report.values.at("margin"), 7);
}

TEST_F(ReporterTest, AReportIsOverAllRanksWithOneExchange) {
  std::atomic<int> exchanges = 0;
  const auto inject = [&](const CollectiveCall&) {
    ++exchanges;
    return absl::OkStatus();
  };
  const auto statuses = run_thread_ranks(
      {.world_size = 2, .inject = inject}, [](std::unique_ptr<Collectives> self) -> absl::Status {
        FakeClock clock;
        TrainingClock training(clock);
        Reporter reporter(*MetricSet::create({"mean"}, {"label"}, LossScope::kWholeStep),
                          *SpanMetrics::create({}, {"mean"}, {"label"}, {}), {}, nullptr, {},
                          training);
        training.start(absl::ZeroDuration());
        StepResult of_this_rank = step(self->rank() == 0 ? 6 : 2, 3);
        of_this_rank.examples = 8;
        of_this_rank.predictions.fill_(self->rank());
        of_this_rank.timings.data_wait = absl::Seconds(2 * self->rank());
        RETURN_IF_ERROR(reporter.add(of_this_rank, {}));
        reporter.values().add("clicks", 1 + self->rank(), Reduction::kSum);
        clock.advance(absl::Seconds(self->rank() == 0 ? 4 : 5));
        RankFigures figures = {.steps = 2, .other_ranks = absl::Seconds(1)};
        if (self->rank() == 1) {
          figures.other_ranks = absl::Seconds(2);
          figures.owners = absl::Seconds(2);
          figures.gradients = absl::Seconds(0.5);
          figures.transfer = absl::Seconds(4);
          figures.ids_bytes = 80;
          figures.rows_bytes = 400;
          figures.sums_bytes = 480;
        }
        ASSIGN_OR_RETURN(const Report report, reporter.take({.step = 1}, *self, figures));
        EXPECT_EQ(report.examples, 8);
        EXPECT_EQ(report.examples_per_second, 2) << "rank 0's time";
        EXPECT_EQ(report.data_wait_share, 0.25) << "the mean of 0 and 2 of 4 s";
        EXPECT_THAT(report.metrics, ElementsAre(Pair("loss", 3), Pair("mean", 0.25)));
        EXPECT_THAT(report.values, ElementsAre(Pair("clicks", 3), Pair("margin", 30)));
        EXPECT_TRUE(report.ranks.has_value());
        const RankReport ranks = report.ranks.value_or(RankReport());
        EXPECT_EQ(ranks.other_ranks_share, 1.5 / 4) << "means, of rank 0's time";
        EXPECT_EQ(ranks.owners_share, 1.0 / 4);
        EXPECT_EQ(ranks.gradients_share, 0.25 / 4);
        EXPECT_EQ(ranks.transfer_share, 2.0 / 4);
        EXPECT_EQ(ranks.ids_bytes, 20);
        EXPECT_EQ(ranks.rows_bytes, 100);
        EXPECT_EQ(ranks.sums_bytes, 120);
        EXPECT_EQ(ranks.owner_imbalance, 2) << "one rank sent all rows";
        clock.advance(absl::Seconds(2));
        ASSIGN_OR_RETURN(const Report second,
                         reporter.take({.step = 1}, *self, {.other_ranks = absl::Seconds(1)}));
        EXPECT_EQ(second.ranks.value_or(RankReport()).other_ranks_share, 0.5)
            << "of the time since the report before";
        return absl::OkStatus();
      });
  for (const absl::Status& status : statuses) EXPECT_OK(status);
  EXPECT_EQ(exchanges, 4) << "one for each rank and report";
}

TEST_F(ReporterTest, AValueThatRanksReduceDifferently) {
  const auto statuses = run_thread_ranks({.world_size = 2}, [](std::unique_ptr<Collectives> self) {
    FakeClock clock;
    const TrainingClock training(clock);
    Reporter reporter(*MetricSet::create({}, {"label"}, LossScope::kWholeStep),
                      *SpanMetrics::create({}, {}, {"label"}, {}), {}, nullptr, {}, training);
    reporter.values().add("clicks", 1, self->rank() == 0 ? Reduction::kSum : Reduction::kMax);
    return reporter.take({}, *self).status();
  });
  for (const absl::Status& status : statuses) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"clicks\"")));
  }
}

TEST_F(ReporterTest, WithoutTimeThereAreNoRates) {
  Reporter reporter = this->reporter();
  ASSERT_OK(reporter.add(step(4, 1), {}));
  const Report report = take(reporter, {.step = 1});
  EXPECT_EQ(report.examples_per_second, 0);
  EXPECT_EQ(report.rows_per_second, 0);
  EXPECT_EQ(report.data_wait_share, 0);
}

TEST_F(ReporterTest, WithoutStepsMetricsAreNotANumber) {
  Reporter reporter = this->reporter();
  const Report report = take(reporter, {});
  EXPECT_EQ(report.steps, 0);
  EXPECT_TRUE(std::isnan(report.metrics.at("loss")));
  EXPECT_THAT(report.values, IsEmpty());
}

TEST_F(ReporterTest, WithoutTables) {
  Reporter reporter(*MetricSet::create({}, {"label"}), *SpanMetrics::create({}, {}, {"label"}, {}),
                    {}, nullptr, {}, training_);
  const Report report = take(reporter, {});
  EXPECT_THAT(report.learning_rates, IsEmpty());
  EXPECT_THAT(report.tables, IsEmpty());
}

TEST_F(ReporterTest, ErrorsOfMetricsComeOut) {
  Reporter reporter = this->reporter();
  StepResult wrong = step(4, 1);
  wrong.labels = at::ones({3, 1});
  EXPECT_THAT(reporter.add(wrong, {}), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace millrace
