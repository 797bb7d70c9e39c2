// Tests a trainer that is assembled from parts, using only public targets.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "checkpoint/bank/model_bank.h"
#include "checkpoint/saver.h"
#include "framework/report/jsonl_event_log.h"
#include "framework/trainer.h"
#include "hooks/signal_stop_hook.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

class OwnPartsTest : public testing::Test {
 protected:
  OwnPartsTest() : folder_(testing::TempDir() + "/own_parts") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  const std::string folder_;
  FileSystem& files_ = FileSystem::local();
};

TEST_F(OwnPartsTest, SavesRecordsAndBeginsWithWhatWasSaved) {
  TrainerParts parts = tiny_parts();
  SaverOptions options;
  options.folder = join_path(folder_, "checkpoints");
  ASSERT_OK_AND_ASSIGN(parts.saver, Saver::create(options, files_, Clock::real()));
  const std::string events = join_path(folder_, "events.jsonl");
  auto log = std::make_unique<JsonlEventLog>(files_, Clock::real(), events, /*rank=*/0);
  log->open();
  parts.event_log = std::move(log);
  ASSERT_OK_AND_ASSIGN(const auto trainer, Trainer::create(TrainerOptions(), std::move(parts)));
  ASSERT_OK(trainer->add_hook(std::make_unique<SignalStopHook>()));
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_NE(summary.checkpoint, "");
  EXPECT_TRUE(std::filesystem::exists(events));

  ModelBankConfig source;
  source.add_source()->set_path(summary.checkpoint);
  TrainerParts next = tiny_parts();
  next.model_bank = std::make_unique<ModelBank>(source, files_, /*threads=*/1);
  ASSERT_OK_AND_ASSIGN(const auto second, Trainer::create(TrainerOptions(), std::move(next)));
  std::vector<std::string> notes;
  ASSERT_OK(second->load_model_bank(&notes));
}

}  // namespace
}  // namespace millrace
