#include "tools/command_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>

#include "base/status_matchers.h"
#include "distributed/one_rank_collectives.h"
#include "tests/fakes/fake_dataset.h"
#include "tests/fakes/hanging_dataset.h"
#include "tests/fakes/tiny_trainer.h"
#include "tools/exit_code.h"

namespace millrace {
namespace {

using ::testing::ExitedWithCode;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

// A dataset whose destructor waits forever, since a reading thread hangs.
class HangsForEver : public HangingDataset {
 public:
  HangsForEver() : HangingDataset(0) {}
  ~HangsForEver() override {
    while (true) ::pause();
  }
};

class Job : public OneRankCollectives {
 public:
  ~Job() override { std::cerr << "left the job" << std::endl; }
};

std::unique_ptr<Trainer> trainer_of(std::unique_ptr<Dataset> evaluated,
                                    absl::Duration data_timeout) {
  TrainerOptions options;
  options.data_timeout = data_timeout;
  TrainerParts parts = tiny_parts();
  parts.evaluation_sets[0].data = std::move(evaluated);
  parts.collectives = std::make_unique<Job>();
  return *Trainer::create(std::move(options), std::move(parts));
}

TEST(CommandEndTest, AnErrorIsOneLine) {
  EXPECT_EQ(report_outcome(7), 7);
  CaptureStderr();
  EXPECT_EQ(report_outcome(absl::NotFoundError("no such file")), kExitNoInput);
  EXPECT_EQ(GetCapturedStderr(), "millrace: no such file\n");
}

TEST(CommandEndTest, FurtherLinesAreIndented) {
  CaptureStderr();
  report_outcome(absl::InvalidArgumentError("hook \"a\": x is 0\ny is 0\n  z is 0"));
  EXPECT_EQ(GetCapturedStderr(), "millrace: hook \"a\": x is 0\n  y is 0\n  z is 0\n");
}

TEST(CommandEndTest, GoesOnWhereNoDataHangs) {
  end_if_data_hangs(nullptr, 0);
  const std::unique_ptr<Trainer> trainer =
      trainer_of(std::make_unique<FakeDataset>(FakeDatasetOptions{.batches = 1}), absl::Hours(1));
  EXPECT_OK(trainer->evaluate("eval"));
  end_if_data_hangs(trainer.get(), 0);
}

TEST(CommandEndDeathTest, ExitIsNoEndOfACommand) {
  EXPECT_EXIT(
      {
        const ExitGuard guard;
        std::exit(0);
      },
      ExitedWithCode(kExitPart), "millrace: exit\\(0\\) was called before the command had ended");
  EXPECT_EXIT(
      {
        { const ExitGuard guard; }
        std::exit(0);
      },
      ExitedWithCode(0), "");
}

TEST(CommandEndDeathTest, ReportsBeforeTheProcessEnds) {
  EXPECT_EXIT(end_process(absl::NotFoundError("no such file")), ExitedWithCode(kExitNoInput),
              "millrace: no such file\n");
}

TEST(CommandEndDeathTest, ACommandThatFailedEndsThoughItsThreadHangs) {
  EXPECT_EXIT(
      {
        end_within(absl::ZeroDuration(), 0);
        end_within(absl::Milliseconds(20), absl::AbortedError("rank 1 failed"));
        while (true) ::pause();
      },
      ExitedWithCode(kExitPeer), "millrace: rank 1 failed");
}

TEST(CommandEndDeathTest, ReportsAndLeavesTheJobBeforeTheProcessEnds) {
  EXPECT_EXIT(
      {
        std::unique_ptr<Trainer> trainer =
            trainer_of(std::make_unique<HangsForEver>(), absl::Milliseconds(20));
        const absl::Status status = trainer->evaluate("eval").status();
        end_if_data_hangs(trainer.get(), status);
      },
      ExitedWithCode(kExitIo),
      "millrace: .*no batch came for 20ms.*it waits for data/part-3.orc\nleft the job");
}

}  // namespace
}  // namespace millrace
