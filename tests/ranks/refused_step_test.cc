// Tests a first step with new ids that all ranks refuse, and the next operation: the step must
// leave no trace, and training continues as on one rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "checkpoint/bank/model_bank.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/saver.h"
#include "embedding/embedding_collection.h"
#include "hooks/evict_rows_hook.h"
#include "tests/fakes/fake_windowed_dataset.h"
#include "tests/ranks/table_ranks.h"

namespace millrace {
namespace {

constexpr char kFolder[] = "c";

int64_t rows_of(const Trainer& trainer) { return trainer.collections()[0]->tables()[0]->rows(); }

// The parameter is the number of occurrences after which an id is admitted.
class RefusedStepTest : public testing::TestWithParam<int> {
 protected:
  // Returns a job that calls `after` when its first step was refused.
  static TableRun refused_run(std::function<void(HookContext&)> after = [](HookContext&) {}) {
    TableRun run;
    run.options.trainer.save_at_end = false;
    run.options.table.mutable_admission()->mutable_count()->set_min_count(GetParam());
    run.prepare = [after](Trainer& trainer, int rank) {
      return refuse_first_step(trainer, rank, after);
    };
    return run;
  }

  // Expects the same outcome for 1, 2 and 3 ranks, and for a job in which nothing follows the step.
  static void expect_no_trace(const TableRun& run) {
    const TablesOutcome one = expect_same_over_ranks(run, 1e-5, {2, 3});
    EXPECT_EQ(one.tables.at("items").counters.applied_steps, kTableSteps - 1);
    TableRun without = run;
    without.prepare = refused_run().prepare;
    without.train = nullptr;
    expect_equal_outcome(train_tables(without, 2), train_tables(run, 2));
  }
};

TEST_P(RefusedStepTest, Evaluation) {
  TableRun run = refused_run([](HookContext& context) { context.requests().evaluate(); });
  int evaluations = 0;  // on rank 0
  const auto prepare = run.prepare;
  run.prepare = [&](Trainer& trainer, int rank) -> absl::Status {
    RETURN_IF_ERROR(prepare(trainer, rank));
    return watch_events(trainer, [&, rank](HookContext& context, absl::string_view event) {
      if (event != "after_evaluate" || context.progress().step > 0) return absl::OkStatus();
      if (rank == 0) ++evaluations;
      EXPECT_EQ(rows_of(trainer), 0);
      return absl::OkStatus();
    });
  };
  expect_no_trace(run);
  EXPECT_EQ(evaluations, 4) << "of runs that ask for one";
}

TEST_P(RefusedStepTest, Checkpoint) {
  MemoryFileSystem files;
  TableRun run = refused_run([](HookContext& context) { context.requests().checkpoint(); });
  run.change_parts = [&](const TinyTrainerOptions&, TrainerParts& parts) {
    SaverOptions options;
    options.folder = kFolder;
    options.write_threads = 1;
    auto saver = Saver::create(std::move(options), files, Clock::real());
    ASSERT_OK(saver.status());
    parts.saver = *std::move(saver);
  };
  const TablesOutcome one = train_tables(run, 1);
  ASSERT_OK(remove_recursively(files, kFolder));
  const TablesOutcome two = train_tables(run, 2);
  expect_same_outcome(one, two);
  ASSERT_OK_AND_ASSIGN(const auto listed, list_checkpoints(files, kFolder));
  ASSERT_EQ(listed.size(), 1);
  ASSERT_OK(listed[0].status);
  const CheckpointManifest& manifest = listed[0].reader->manifest();
  EXPECT_EQ(manifest.progress().step(), 0);
  EXPECT_EQ(manifest.progress().skipped_steps(), 1);
  ASSERT_EQ(manifest.tables_size(), 1);
  EXPECT_EQ(manifest.tables(0).rows(), 0);

  // A run resumed from the checkpoint has the same outcome, with any number of ranks.
  run.prepare = [](Trainer& trainer, int) {
    std::vector<std::string> notes;
    return trainer.resume(&notes).status();
  };
  expect_equal_outcome(two, train_tables(run, 2));
  for (const int world_size : {1, 3}) expect_same_outcome(one, train_tables(run, world_size));
}

// The step has more new ids than the limit allows rows.
TEST_P(RefusedStepTest, Limit) {
  for (const auto on_full : {LimitConfig::EVICT_LRU, LimitConfig::EVICT_LFU, LimitConfig::REJECT}) {
    SCOPED_TRACE(LimitConfig::OnFull_Name(on_full));
    TableRun run = refused_run();
    run.options.table.mutable_limit()->set_max_rows(40);
    run.options.table.mutable_limit()->set_on_full(on_full);
    expect_no_trace(run);
  }
}

TEST_P(RefusedStepTest, Eviction) {
  TableRun run = refused_run();
  run.options.table.mutable_eviction()->set_idle_steps(2);
  run.prepare = [](Trainer& trainer, int rank) {
    return refuse_first_step(trainer, rank, [&trainer](HookContext& context) {
      EvictionTime now;
      now.step = context.progress().step;
      EXPECT_OK(trainer.collections()[0]->tables()[0]->maintenance().evict(now).status());
    });
  };
  expect_no_trace(run);
}

// The loaded rows find no rows of the step.
TEST_P(RefusedStepTest, Reload) {
  MemoryFileSystem files;
  std::string rows;
  for (int id = 0; id < 100; id += 3) absl::StrAppend(&rows, id, " 0.5 ", id, " -1 2\n");
  files.put("rows.txt", rows);
  TableRun run = refused_run([](HookContext& context) { context.requests().reload(); });
  run.change_parts = [&](const TinyTrainerOptions&, TrainerParts& parts) {
    ModelBankConfig bank;
    SourceConfig& source = *bank.add_source();
    source.set_path("rows.txt");
    source.set_dynamic(true);
    source.mutable_rows()->set_table("items");
    parts.model_bank = std::make_unique<ModelBank>(std::move(bank), files, /*threads=*/1);
  };
  const auto prepare = run.prepare;
  std::vector<int64_t> loaded;  // rows of each rank before the second step
  run.prepare = [&](Trainer& trainer, int rank) -> absl::Status {
    RETURN_IF_ERROR(prepare(trainer, rank));
    return watch_events(trainer, [&, rank](HookContext& context, absl::string_view event) {
      const Progress& progress = context.progress();
      if (event == "before_step" && progress.step == 0 && progress.skipped_steps == 1) {
        loaded[rank] = rows_of(trainer);
      }
      return absl::OkStatus();
    });
  };
  TablesOutcome one;
  for (const int world_size : {1, 2, 3}) {
    SCOPED_TRACE(absl::StrCat(world_size, " ranks"));
    loaded.assign(world_size, 0);
    const TablesOutcome outcome = train_tables(run, world_size);
    int64_t all = 0;
    for (const int64_t of_rank : loaded) all += of_rank;
    EXPECT_EQ(all, 34);
    if (world_size == 1) {
      one = outcome;
    } else {
      expect_same_outcome(one, outcome);
    }
  }
}

TEST_P(RefusedStepTest, Stop) {
  TableRun run = refused_run([](HookContext& context) { context.requests().stop("asked"); });
  run.train = [](Trainer& trainer) -> absl::StatusOr<Summary> {
    ASSIGN_OR_RETURN(const Summary stopped, trainer.train());
    EXPECT_EQ(stopped.stop_reason, "asked");
    EXPECT_EQ(stopped.progress.step, 0);
    EXPECT_EQ(rows_of(trainer), 0);
    return trainer.train_and_evaluate();
  };
  expect_no_trace(run);
}

// The step is the last of a window, at whose end rows are evicted.
TEST_P(RefusedStepTest, EndOfAWindow) {
  TableRun run = refused_run();
  run.options.table.mutable_eviction()->set_idle_steps(2);
  run.change_parts = [](const TinyTrainerOptions& own, TrainerParts& parts) {
    const std::vector<FakeWindow> windows = {{.batches = 1}, {.batches = 20}, {.batches = 20}};
    parts.train_data = std::make_unique<FakeWindowedDataset>(own.train, windows);
  };
  const auto prepare = run.prepare;
  run.prepare = [&](Trainer& trainer, int rank) -> absl::Status {
    RETURN_IF_ERROR(prepare(trainer, rank));
    return trainer.add_hook(
        std::make_unique<EvictRowsHook>(Cadence{.every_windows = 1}, trainer.collections()));
  };
  const TablesOutcome one = expect_same_over_ranks(run, 1e-5, {2, 3});
  const TableOutcome& table = one.tables.at("items");
  EXPECT_EQ(table.counters.applied_steps, 40);
  EXPECT_GT(table.evicted.size(), 20);
  EXPECT_GT(table.evicted[0].first, 1) << "at the end of the first window";
}

INSTANTIATE_TEST_SUITE_P(Admission, RefusedStepTest, testing::Values(1, 3));

}  // namespace
}  // namespace millrace
