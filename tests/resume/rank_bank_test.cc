// Tests ranks with a table that load a dynamic model bank again during training.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fault_file_system_testing.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "checkpoint/bank/model_bank.h"
#include "checkpoint/saver.h"
#include "distributed/one_rank_collectives.h"
#include "distributed/thread_collectives.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_model.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using testing::HasSubstr;

using Weights = std::map<int64_t, std::vector<float>>;  // by id

// Returns steps of the same 12 examples for any number of ranks.
TinyTrainerOptions job(int64_t steps, int rank = 0, int world_size = 1) {
  TinyTrainerOptions options;
  options.train = {.batches = 12,
                   .batch_size = 12,
                   .rank = rank,
                   .world_size = world_size,
                   .dense = 3,
                   .sparse = 2,
                   .ids = 60};
  options.trainer.max_steps = steps;
  options.trainer.report = {};
  return options;
}

TrainState state_of(Trainer& trainer) {
  absl::StatusOr<TrainState> state = trainer.capture();
  EXPECT_OK(state.status());
  return *std::move(state);
}

// Adds the rows of the trainer's rank.
void add_weights(Trainer& trainer, Weights& weights) {
  const TableRows rows = state_of(trainer).tables[0]->content().export_rows();
  for (size_t i = 0; i < rows.ids.size(); ++i) {
    const float* row = rows.weights.data() + i * rows.dim;
    EXPECT_TRUE(weights.try_emplace(rows.ids[i], row, row + rows.dim).second)
        << "two ranks have id " << rows.ids[i];
  }
}

// The outcome of a rank.
struct RankOutcome {
  absl::Status status;
  std::string before, after;  // its state before the reload, and at the end
  Weights rows;
};

class RankBankTest : public testing::Test {
 protected:
  RankBankTest() {
    save(2, "source");
    later_ = save(5, "later");
  }

  // Trains a rank and saves its model in a folder. Returns the rows.
  Weights save(int64_t steps, const std::string& folder) {
    const std::unique_ptr<Trainer> trainer = tiny_trainer(job(steps));
    EXPECT_OK(trainer->train().status());
    OneRankCollectives ranks;
    const auto saver = Saver::create({.folder = folder, .write_threads = 1}, disk_, Clock::real());
    EXPECT_OK(saver.status());
    EXPECT_OK((*saver)->save(state_of(*trainer), {}, ranks).status());
    Weights weights;
    add_weights(*trainer, weights);
    return weights;
  }

  // Trains three steps. After the second step the source has the later model, which is loaded after
  // the third. `fails`: the disk of the last rank fails from then on.
  absl::Status train_rank(bool fails, std::unique_ptr<Collectives> collectives,
                          RankOutcome& outcome) {
    const int rank = collectives->rank();
    const bool last = rank == collectives->world_size() - 1;
    const TinyTrainerOptions options = job(3, rank, collectives->world_size());
    ModelBankConfig config;
    SourceConfig& source = *config.add_source();
    source.set_path("source");
    source.add_parts(SourceConfig::WEIGHTS);
    source.set_dynamic(true);
    FaultFileSystem files(disk_);
    TrainerParts parts = tiny_parts(options);
    parts.model_bank = std::make_unique<ModelBank>(config, files, /*threads=*/1);
    parts.collectives = std::move(collectives);
    ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                     Trainer::create(options.trainer, std::move(parts)));
    std::vector<std::string> events, notes;
    RETURN_IF_ERROR(trainer->add_hook(std::make_unique<RecordingHook>(
        &events, [&](HookContext& context, absl::string_view event) -> absl::Status {
          if (event != "after_step") return absl::OkStatus();
          if (context.progress().step == 2 && rank == 0) {
            return disk_.rename("later/step-00000005", "source/step-00000005");
          }
          if (context.progress().step < 3) return absl::OkStatus();
          outcome.before = fingerprint(trainer->model());
          if (fails && last) {
            files.fail(files.calls(), int64_t{1} << 40, absl::UnavailableError("injected"));
          }
          context.requests().reload();
          return absl::OkStatus();
        })));
    RETURN_IF_ERROR(trainer->load_model_bank(&notes));
    outcome.status = trainer->train().status();
    outcome.after = fingerprint(trainer->model());
    add_weights(*trainer, outcome.rows);
    return absl::OkStatus();
  }

  std::vector<RankOutcome> train(int world_size, bool fails) {
    std::vector<RankOutcome> outcomes(world_size);
    const auto statuses =
        run_thread_ranks({.world_size = world_size}, [&](std::unique_ptr<Collectives> ranks) {
          const int rank = ranks->rank();
          return train_rank(fails, std::move(ranks), outcomes[rank]);
        });
    for (const absl::Status& status : statuses) EXPECT_OK(status);
    return outcomes;
  }

  MemoryFileSystem disk_;
  Weights later_;  // the rows of the later model
};

class RankBankSizesTest : public RankBankTest, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, RankBankSizesTest, testing::Values(1, 2, 3));

TEST_P(RankBankSizesTest, AReloadGivesEachRankItsRows) {
  Weights all;
  size_t ranks_with_rows = 0;
  for (const RankOutcome& rank : train(GetParam(), /*fails=*/false)) {
    EXPECT_OK(rank.status);
    EXPECT_NE(rank.before, rank.after);
    ranks_with_rows += rank.rows.empty() ? 0 : 1;
    for (const auto& [id, weights] : rank.rows) {
      EXPECT_TRUE(all.try_emplace(id, weights).second) << "two ranks have id " << id;
    }
  }
  EXPECT_EQ(ranks_with_rows, GetParam());
  ASSERT_FALSE(later_.empty());
  for (const auto& [id, weights] : later_) EXPECT_EQ(all[id], weights) << "id " << id;
}

TEST_P(RankBankSizesTest, AReloadThatOneRankCannotReadChangesNothingOnAny) {
  const std::vector<RankOutcome> ranks = train(GetParam(), /*fails=*/true);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    SCOPED_TRACE(absl::StrCat("rank ", rank));
    EXPECT_FALSE(ranks[rank].status.ok());
    EXPECT_THAT(std::string(ranks[rank].status.message()), HasSubstr("injected"));
    if (rank + 1 < ranks.size()) {
      EXPECT_THAT(std::string(ranks[rank].status.message()),
                  HasSubstr(absl::StrCat("rank ", ranks.size() - 1)));
    }
    EXPECT_EQ(ranks[rank].before, ranks[rank].after);
  }
}

}  // namespace
}  // namespace millrace
