#include "tests/campaigns/campaign_job.h"

#include <utility>

#include "base/hash.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "distributed/one_rank_collectives.h"
#include "tests/fakes/fake_saver.h"
#include "tests/fakes/memory_checkpoint.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

std::string digest_of(const TrainState& state) {
  return format_digest(xxh3_128(MemoryCheckpoint(state).to_string()));
}

std::unique_ptr<Saver> new_saver(FileSystem& files, const JobOptions& options, const Clock& clock,
                                 bool read_only = false) {
  SaverOptions saver;
  saver.read_only = read_only;
  saver.folder = options.folder;
  saver.write_threads = 1;
  saver.on_damage = options.on_damage;
  saver.retention = options.retention;
  saver.producer = "campaign";
  auto created = Saver::create(std::move(saver), files, clock);
  MILLRACE_CHECK(created.ok()) << created.status();
  return *std::move(created);
}

TinyTrainerOptions tiny_options(const JobOptions& options, Clock& clock) {
  TinyTrainerOptions tiny;
  tiny.train = {.batches = 8, .batch_size = 6, .dense = 3, .sparse = 2, .ids = 40};
  tiny.optimizer = "adam";
  tiny.learning_rate = options.learning_rate;
  tiny.table.mutable_admission()->mutable_count()->set_min_count(2);
  tiny.trainer.max_steps = options.steps;
  tiny.trainer.max_epochs = options.steps;
  tiny.clock = &clock;
  return tiny;
}

}  // namespace

CampaignJob::CampaignJob(FileSystem& files, JobOptions options)
    : options_(std::move(options)),
      saver_(new_saver(files, options_, clock_)),
      reader_(new_saver(files, options_, clock_, /*read_only=*/true)) {
  TrainerParts parts = tiny_parts(tiny_options(options_, clock_));
  parts.saver = std::make_unique<FakeSaver>(
      [this](const TrainState& state, const auto&) { return save(state); });
  TrainerOptions trainer = tiny_options(options_, clock_).trainer;
  trainer.save_at_end = false;
  auto created = Trainer::create(trainer, std::move(parts));
  MILLRACE_CHECK(created.ok()) << created.status();
  trainer_ = *std::move(created);
  const absl::Status added = trainer_->add_hook(std::make_unique<RecordingHook>(
      &events_, [this](HookContext& context, absl::string_view event) {
        if (event == "after_step" && options_.saves_at(context.progress().step)) {
          context.requests().checkpoint();
        }
        return absl::OkStatus();
      }));
  MILLRACE_CHECK(added.ok()) << added;
}

TrainState CampaignJob::state() const {
  absl::StatusOr<TrainState> state = trainer_->capture();
  MILLRACE_CHECK(state.ok()) << state.status();
  return *std::move(state);
}

std::string CampaignJob::digest() const { return digest_of(state()); }

absl::StatusOr<CheckpointInfo> CampaignJob::save(const TrainState& state) {
  OneRankCollectives ranks;
  ASSIGN_OR_RETURN(const CheckpointInfo info, saver_->save(state, {}, ranks));
  if (on_saved_) on_saved_(info.progress.step, digest_of(state));
  return info;
}

absl::Status CampaignJob::save_through(FileSystem& files) const {
  OneRankCollectives ranks;
  return new_saver(files, options_, clock_)->save(state(), {}, ranks).status();
}

absl::StatusOr<bool> CampaignJob::look() {
  OneRankCollectives ranks;
  ASSIGN_OR_RETURN(const std::optional<FoundCheckpoint> found, reader_->restore(state(), ranks));
  return found.has_value();
}

absl::StatusOr<std::optional<Restored>> CampaignJob::restore() {
  OneRankCollectives ranks;
  ASSIGN_OR_RETURN(std::optional<FoundCheckpoint> found, reader_->restore(state(), ranks));
  if (!found) return std::nullopt;
  if (options_.cursor_off) {
    for (CursorState& cursor : *found->state.ranks[0].mutable_cursor()) {
      if (cursor.begin_size() > 0) cursor.set_begin(0, cursor.begin(0) + 1);
    }
  }
  Restored restored{found->info.progress.step, {}, found->info.path, std::move(found->notes)};
  RETURN_IF_ERROR(trainer_->restore(std::move(found->state), &restored.notes));
  restored.digest = digest();
  return std::optional<Restored>(std::move(restored));
}

absl::Status CampaignJob::train(
    const std::function<void(int64_t step, const std::string& digest)>& on_saved) {
  on_saved_ = on_saved;
  const absl::Status status = trainer_->train().status();
  on_saved_ = nullptr;
  return status;
}

}  // namespace millrace
