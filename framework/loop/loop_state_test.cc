#include "framework/loop/loop_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "distributed/one_rank_collectives.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Cursor cursor_at(int64_t rows_read) {
  Cursor cursor;
  cursor.left = std::vector<RowInterval>{{rows_read, 100}};
  return cursor;
}

Window window_at(int64_t index) {
  Window window;
  window.index = index;
  window.stream = "after";
  return window;
}

class LoopPositionTest : public testing::Test {
 protected:
  void step(int64_t rows_read, bool ended = false) {
    ++position_.progress.step;
    Cursor cursor = cursor_at(rows_read);
    if (position_.window.has_value()) cursor.stream = {.window = position_.window->index};
    position_.after_step(cursor, ended);
  }
  // Returns the position loaded from several ranks with these positions.
  LoopPosition loaded(const std::vector<LoopPosition>& written, int rank, int world_size) {
    SharedState shared;
    std::vector<RankState> ranks(written.size());
    for (size_t i = 0; i < written.size(); ++i) {
      written[i].save(static_cast<int>(i), &shared, &ranks[i]);
    }
    const auto loaded = LoopPosition::load(shared, ranks, rank, world_size);
    EXPECT_OK(loaded.status());
    return loaded.value_or(LoopPosition());
  }
  LoopPosition position_;
};

TEST_F(LoopPositionTest, AnEpochIsOpenFromItsFirstStepToItsEnd) {
  position_.open_epoch();
  EXPECT_FALSE(position_.within_pass());
  step(10);
  step(20, /*ended=*/true);
  EXPECT_TRUE(position_.within_pass());
  EXPECT_TRUE(position_.data_ended);
  position_.open_epoch();  // as a resume does
  EXPECT_EQ(position_.epoch_first_step, 0);
  position_.complete_epoch();
  EXPECT_FALSE(position_.within_pass());
  EXPECT_FALSE(position_.data_ended);
  EXPECT_EQ(position_.progress.epoch, 1);
  position_.open_epoch();
  EXPECT_EQ(position_.epoch_first_step, 2);
}

TEST_F(LoopPositionTest, RefusedStepsCount) {
  position_.progress.skipped_steps = 3;
  position_.open_epoch();
  EXPECT_EQ(position_.epoch_first_step, 3);
  EXPECT_EQ(position_.steps_done(), 3);
}

TEST_F(LoopPositionTest, AWindowThatIsGoneOnWithKeepsItsFirstStep) {
  position_.open_epoch();
  position_.open_window(window_at(0));
  step(10);
  position_.open_window(window_at(0));
  EXPECT_EQ(position_.window_first_step, 0);
  position_.complete_window(window_at(0));
  EXPECT_FALSE(position_.within_pass());
  EXPECT_EQ(position_.progress.window, 1);
  position_.open_window(window_at(1));
  EXPECT_EQ(position_.window_first_step, 1);
}

TEST_F(LoopPositionTest, AWindowWithoutAStepIsLeftToo) {
  position_.progress.epoch = 2;
  position_.open_epoch();
  position_.open_window(window_at(4));
  position_.complete_window(window_at(4));
  ASSERT_TRUE(position_.cursor.has_value());
  EXPECT_EQ(position_.cursor->epoch, 2);
  EXPECT_EQ(position_.cursor->stream->window, 4);
  EXPECT_TRUE(position_.cursor->window_finished());
  EXPECT_THAT(position_.cursor->rows_left(), IsEmpty());
}

TEST_F(LoopPositionTest, ComesBackFromItsState) {
  position_.progress.examples = 7;
  position_.progress.skipped_steps = 3;
  position_.open_epoch();
  position_.window_first_step = 4;
  step(10, /*ended=*/true);
  position_.stream_ended = position_.finished = true;
  position_.stopped_for = "enough";
  const LoopPosition loaded = this->loaded({position_}, 0, 1);
  EXPECT_EQ(loaded.progress, position_.progress);
  EXPECT_EQ(loaded.epoch_first_step, 3);
  EXPECT_EQ(loaded.window_first_step, 4);
  EXPECT_EQ(loaded.cursor, position_.cursor);
  EXPECT_THAT(loaded.former_ranks, IsEmpty());
  EXPECT_TRUE(loaded.data_ended && loaded.stream_ended && loaded.finished);
  EXPECT_EQ(loaded.stopped_for, "enough");
}

TEST_F(LoopPositionTest, AReasonToStopIsKeptOnlyWithTheEnd) {
  position_.stopped_for = "a rank's signal";
  EXPECT_EQ(loaded({position_}, 0, 1).stopped_for, "");
}

TEST_F(LoopPositionTest, OtherRanksKnowAllCursorsUntilAStep) {
  LoopPosition first, second;
  first.after_step(cursor_at(10), false);
  second.after_step(cursor_at(20), false);
  EXPECT_EQ(loaded({first, second}, 1, 2).cursor, cursor_at(20));
  EXPECT_THAT(loaded({first, second}, 1, 2).former_ranks, IsEmpty());
  position_ = loaded({first, second}, 0, 1);
  EXPECT_THAT(position_.former_ranks, ElementsAre(cursor_at(10), cursor_at(20)));
  // A position saved again before a step is unchanged.
  EXPECT_THAT(loaded({position_}, 0, 1).former_ranks, ElementsAre(cursor_at(10), cursor_at(20)));
  // Both ranks have all cursors, and the first rank writes them.
  EXPECT_THAT(loaded({position_, position_}, 0, 1).former_ranks,
              ElementsAre(cursor_at(10), cursor_at(20)));
  const LoopPosition third = loaded({first, second}, 2, 3);
  EXPECT_EQ(third.cursor, cursor_at(20));
  step(30);
  EXPECT_THAT(position_.former_ranks, IsEmpty());
}

TEST_F(LoopPositionTest, DamagedStatesAreRefused) {
  EXPECT_THAT(LoopPosition::load({}, {}, 0, 1), StatusIs(absl::StatusCode::kDataLoss));
  SharedState shared;
  shared.mutable_progress()->set_step(-1);
  EXPECT_THAT(LoopPosition::load(shared, {RankState()}, 0, 1),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST(ConsistencyTest, IsSuspendedAndComesBackAfterSuccessAlone) {
  Consistency state;
  EXPECT_TRUE(state.holds()) << "before the first run";
  state.begin_run();
  EXPECT_TRUE(state.holds());
  EXPECT_OK(state.suspend([&] {
    EXPECT_FALSE(state.holds());
    return absl::OkStatus();
  }));
  EXPECT_TRUE(state.holds());
  EXPECT_THAT(state.suspend([] { return absl::DataLossError("half a step"); }),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_FALSE(state.holds());
  EXPECT_OK(state.suspend([] { return absl::OkStatus(); }));
  EXPECT_FALSE(state.holds()) << "it did not hold before";
}

TEST(ConsistencyTest, AnInnerSectionDoesNotEndTheOuterOne) {
  Consistency state;
  state.begin_run();
  EXPECT_OK(state.suspend([&] {
    EXPECT_OK(state.suspend([] { return absl::OkStatus(); }));
    EXPECT_FALSE(state.holds());
    return absl::OkStatus();
  }));
  EXPECT_TRUE(state.holds());
}

TEST(ConsistencyTest, AnExceptionIsAFailure) {
  Consistency state;
  state.begin_run();
  EXPECT_THROW(
      state.suspend([]() -> absl::Status { throw std::runtime_error("hook"); }).IgnoreError(),
      std::runtime_error);
  EXPECT_FALSE(state.holds());
}

class PhaseLog : public OneRankCollectives {
 public:
  void set_phase(RankPhase phase, int64_t step) override {
    all.push_back(absl::StrCat(rank_phase_name(phase), " ", step));
  }
  std::vector<std::string> all;
};

TEST(PhaseScopeTest, ReportsBothPhasesWithTheStepOfTheMoment) {
  PhaseLog ranks;
  Progress progress;
  {
    const PhaseScope scope(ranks, progress, RankPhase::kCheckpoint);
    progress.step = 1;
    ++progress.skipped_steps;
  }
  { const PhaseScope scope(ranks, progress, RankPhase::kCheckpoint, RankPhase::kStart); }
  EXPECT_THAT(
      ranks.all,
      ElementsAre("checkpoint 0", absl::StrCat(rank_phase_name(RankPhase::kBetweenSteps), " 2"),
                  "checkpoint 2", absl::StrCat(rank_phase_name(RankPhase::kStart), " 2")));
}

}  // namespace
}  // namespace millrace
