#include "tests/ranks/checkpoint_ranks.h"

#include <google/protobuf/text_format.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "checkpoint/bank/model_bank.h"
#include "checkpoint/saver.h"
#include "framework/trainer.h"
#include "hooks/cadence_hooks.h"
#include "tests/fakes/memory_checkpoint.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

void parse(const std::string& text, google::protobuf::Message* message) {
  MILLRACE_CHECK(google::protobuf::TextFormat::ParseFromString(text, message)) << text;
}

}  // namespace

absl::StatusOr<std::string> run_with_checkpoints(const CheckpointRun& run, FileSystem& files,
                                                 std::unique_ptr<Collectives> collectives) {
  FakeClock clock;
  TinyTrainerOptions options;
  parse(run.optimizer, &options.dense_optimizer.emplace());
  parse(run.clipping, &options.clipping);
  parse(run.precision, &options.trainer.precision);
  options.train = {.batches = run.steps, .batch_size = 12, .dense = 3};
  if (run.table.has_value()) {
    options.train.sparse = 3;
    options.train.ids = 100;
    parse(*run.table, &options.table);
    parse(run.sparse_optimizer, &options.sparse_optimizer.emplace());
  }
  options.train.rank = collectives->rank();
  options.train.world_size = collectives->world_size();
  options.trainer.max_epochs = 2;
  options.trainer.max_steps = run.max_steps;
  options.trainer.report = {.every_steps = 5};
  options.trainer.save_at_end = run.save_every > 0;
  options.moving_average.emplace();
  options.clock = &clock;
  TrainerParts parts = tiny_parts(options);
  SaverOptions saver_options;
  saver_options.folder = run.folder;
  saver_options.write_threads = 1;
  saver_options.max_deltas = run.max_deltas;
  saver_options.asynchronous = run.asynchronous;
  saver_options.file_bytes = run.file_bytes;
  ASSIGN_OR_RETURN(parts.saver, Saver::create(std::move(saver_options), files, Clock::real()));
  if (!run.bank.empty()) {
    ModelBankConfig bank;
    parse(run.bank, &bank);
    parts.model_bank = std::make_unique<ModelBank>(std::move(bank), files, /*threads=*/1);
  }
  parts.collectives = std::move(collectives);
  ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                   Trainer::create(options.trainer, std::move(parts)));
  RETURN_IF_ERROR(trainer->add_hook(
      std::make_unique<CheckpointSaveHook>(Cadence{.every_steps = run.save_every})));
  if (run.resume) {
    std::vector<std::string> notes;
    ASSIGN_OR_RETURN(const auto found, trainer->resume(&notes));
    if (!found.has_value()) return absl::NotFoundError("no checkpoint");
  } else if (!run.bank.empty()) {
    std::vector<std::string> notes;
    RETURN_IF_ERROR(trainer->load_model_bank(&notes));
  }
  RETURN_IF_ERROR(trainer->train().status());
  if (run.save_again) RETURN_IF_ERROR(trainer->save_checkpoint().status());
  ASSIGN_OR_RETURN(const TrainState state, trainer->capture());
  return MemoryCheckpoint(state).to_string();
}

}  // namespace millrace
