#include "tools/command_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "base/status_matchers.h"
#include "distributed/one_rank_collectives.h"
#include "io/names_files.h"
#include "tests/fakes/tiny_trainer.h"
#include "tools/exit_code.h"

namespace millrace {
namespace {

using ::testing::ExitedWithCode;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

// Its first batch never comes, and whoever destroys it waits for ever: a thread that reads hangs.
class Hanging : public FakeDataset, public NamesFiles {
 public:
  Hanging() : FakeDataset({.batches = 2}) {}
  ~Hanging() override { wait_until([] { return false; }); }
  absl::StatusOr<std::optional<Batch>> next() override {
    wait_until([this] { return cancelled_; });
    return absl::CancelledError("cancelled");
  }
  void cancel() override {
    MutexLock lock(mutex_);
    cancelled_ = true;
  }
  std::string files_being_read() const override { return "data/part-3.orc"; }

 private:
  template <typename Condition>
  void wait_until(Condition condition) {
    MutexLock lock(mutex_);
    mutex_.await(condition);
  }

  Mutex mutex_;
  bool cancelled_ = false;
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

TEST(CommandEndTest, GoesOnWhereNoDataHangs) {
  end_if_data_hangs(nullptr, 0);
  const std::unique_ptr<Trainer> trainer =
      trainer_of(std::make_unique<FakeDataset>(FakeDatasetOptions{.batches = 1}), absl::Hours(1));
  EXPECT_OK(trainer->evaluate("eval"));
  end_if_data_hangs(trainer.get(), 0);
}

TEST(CommandEndDeathTest, ReportsBeforeTheProcessEnds) {
  EXPECT_EXIT(end_process(absl::NotFoundError("no such file")), ExitedWithCode(kExitNoInput),
              "millrace: no such file\n");
}

TEST(CommandEndDeathTest, ReportsAndLeavesTheJobBeforeTheProcessEnds) {
  EXPECT_EXIT(
      {
        std::unique_ptr<Trainer> trainer = trainer_of(std::make_unique<Hanging>(), absl::Milliseconds(20));
        const absl::Status status = trainer->evaluate("eval").status();
        end_if_data_hangs(trainer.get(), status);
      },
      ExitedWithCode(kExitIo),
      "millrace: .*no batch came for 20ms.*it waits for data/part-3.orc\nleft the job");
}

}  // namespace
}  // namespace millrace
