#include "hooks/checkpoint_save_hook.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_matchers.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_saver.h"
#include "tests/fakes/fake_windowed_dataset.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Returns the positions of checkpoints in two epochs of three steps, one step of 10 s:
// "step/epoch/window".
std::vector<std::string> saved_at(Cadence cadence, bool windowed = false) {
  FakeClock clock;
  TinyTrainerOptions options;
  options.trainer.max_epochs = 2;
  options.trainer.report = {};
  options.trainer.save_at_end = false;
  options.train.batches = 3;
  options.clock = &clock;
  options.on_forward = [&clock](const Batch&) {
    clock.advance(absl::Seconds(10));
    return absl::OkStatus();
  };
  std::vector<std::string> saved;
  TrainerParts parts = tiny_parts(options);
  if (windowed) {
    parts.train_data = std::make_unique<FakeWindowedDataset>(
        options.train, std::vector<FakeWindow>{{.batches = 2}, {.batches = 1}});
  }
  parts.saver = std::make_unique<FakeSaver>(
      [&saved](const TrainState& state, const auto&) -> absl::StatusOr<CheckpointInfo> {
        const ProgressState& progress = state.shared.progress();
        saved.push_back(
            absl::StrCat(progress.step(), "/", progress.epoch(), "/", progress.window()));
        return CheckpointInfo{saved.back(), {}};
      });
  auto trainer = Trainer::create(options.trainer, std::move(parts));
  EXPECT_OK(trainer);
  EXPECT_OK((*trainer)->add_hook(std::make_unique<CheckpointSaveHook>(cadence)));
  EXPECT_OK((*trainer)->train());
  return saved;
}

[[maybe_unused]] const bool kCheckpointSaveHook = register_hook_conformance(
    "CheckpointSaveHook", {.make = [] { return std::make_unique<CheckpointSaveHook>(Cadence{}); }});

TEST(CheckpointSaveHookTest, SavesAtItsCadence) {
  EXPECT_THAT(saved_at({}), IsEmpty());
  EXPECT_THAT(saved_at({.every_steps = 2}), ElementsAre("2/0/0", "4/1/0", "6/1/0"));
  EXPECT_THAT(saved_at({.every_steps = 7}), IsEmpty());
  EXPECT_THAT(saved_at({.every_epochs = 1}), ElementsAre("3/1/0", "6/2/0"));
  EXPECT_THAT(saved_at({.every = absl::Seconds(25)}), ElementsAre("3/0/0", "5/1/0"));
  EXPECT_THAT(saved_at({.at_start = true}), ElementsAre("0/0/0"));
  EXPECT_THAT(saved_at({.at_end = true}), IsEmpty()) << "the trainer's own";
  EXPECT_THAT(saved_at({.every_windows = 1}, /*windowed=*/true), ElementsAre("2/0/1", "3/0/2"));
}

TEST(CheckpointSaveHookTest, OncePerPoint) {
  EXPECT_THAT(saved_at({.every_steps = 2, .every = absl::Seconds(20)}),
              ElementsAre("2/0/0", "4/1/0", "6/1/0"));
  // Two points: after the last step of an epoch, and after the epoch is closed.
  EXPECT_THAT(saved_at({.every_steps = 3, .every_epochs = 2}),
              ElementsAre("3/0/0", "6/1/0", "6/2/0"));
}

}  // namespace
}  // namespace millrace
