#include "tools/event_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_matchers.h"
#include "framework/report/jsonl_event_log.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A test with a file as runs write it.
class EventReportTest : public testing::Test {
 protected:
  EventReportTest() { write(""); }

  void write(const std::string& text) {
    ASSERT_OK(write_file_atomically(FileSystem::local(), path_, text));
  }
  void append(const std::string& text) {
    ASSERT_OK_AND_ASSIGN(auto file, FileSystem::local().open_for_append(path_));
    ASSERT_OK(file->append(text));
  }
  void record(const LoopEvent& event) {
    JsonlEventLog log(FileSystem::local(), clock_, path_, 0);
    log.open();
    log.record(event);
    clock_.advance(absl::Seconds(1));
  }

  void started(int world_size, int64_t step = 0) {
    LoopEvent event = at(LoopEvent::kStarted, "train", step);
    event.world_size = world_size;
    record(event);
  }
  void ended(const char* how, int64_t step, const char* detail = "") {
    LoopEvent event = at(LoopEvent::kEnded, how, step);
    event.detail = detail;
    record(event);
  }
  LoopEvent request(const char* what, const char* hook, int64_t step, const char* detail = "") {
    LoopEvent event = at(LoopEvent::kRequested, what, step);
    event.hook = hook;
    event.detail = detail;
    return event;
  }
  void served(LoopEvent event, int64_t step) {
    event.kind = LoopEvent::kServed;
    event.progress.step = step;
    record(event);
  }
  static LoopEvent at(LoopEvent::Kind kind, const char* what, int64_t step) {
    LoopEvent event;
    event.kind = kind;
    event.what = what;
    event.progress.step = step;
    return event;
  }

  std::string report() {
    const auto history = read_event_history(FileSystem::local(), path_);
    EXPECT_OK(history);
    return history.ok() ? event_report(*history) : "";
  }

  const std::string path_ = testing::TempDir() + "/events.jsonl";
  FakeClock clock_{absl::FromUnixSeconds(1795244341)};
};

TEST_F(EventReportTest, ARunFromStartToEnd) {
  started(2);
  record(request("evaluate", "evaluation", 100));
  served(request("evaluate", "", 100, "eval"), 100);
  const LoopEvent checkpoint = request("checkpoint", "checkpoint_save", 1200);
  record(checkpoint);
  served(checkpoint, 1200);
  LoopEvent refused = at(LoopEvent::kRefused, "step", 1210);
  refused.detail = "the loss";
  record(refused);
  LoopEvent stop = request("stop", "signal_stop", 1499, "signal SIGTERM");
  stop.rank = 1;
  stop.scope = Scope::kThisRank;
  record(stop);
  served(stop, 1500);
  record(stop);  // it may ask again until the run ends
  ended("stopped", 1500, "signal SIGTERM");
  EXPECT_EQ(report(), R"(run 1  2026-11-21 06:59:01 UTC  train on 2 ranks, from step 0
  06:59:03  step 100      evaluate    eval: asked by evaluation, served
  06:59:05  step 1200     checkpoint  asked by checkpoint_save, served
  06:59:06  step 1210     refused     nothing of the step was applied: the loss
  06:59:08  step 1500     stop        signal SIGTERM: asked by signal_stop of rank 1 at step 1499, served
  06:59:10  step 1500     stopped     signal SIGTERM
)");
}

TEST_F(EventReportTest, CheckpointsEpochsAndWindows) {
  LoopEvent begun = at(LoopEvent::kStarted, "train", 4);
  begun.world_size = 1;
  begun.detail = "out/checkpoints/step-00000004";
  record(begun);
  LoopEvent window = at(LoopEvent::kOpened, "window", 4);
  window.detail = "2026-01-31";
  record(window);
  window.kind = LoopEvent::kClosed;
  window.progress.step = 9;
  record(window);
  LoopEvent evicted = at(LoopEvent::kEvicted, "items", 9);
  evicted.detail = "idle_steps 30, limit 2";
  record(evicted);
  ended("completed", 9);
  EXPECT_EQ(
      report(),
      R"(run 1  2026-11-21 06:59:01 UTC  train on 1 rank, from step 4, out/checkpoints/step-00000004
  06:59:02  step 4        window      2026-01-31: begins
  06:59:03  step 9        window      2026-01-31: ends
  06:59:04  step 9        evicted     items: idle_steps 30, limit 2
  06:59:05  step 9        completed
)");
}

TEST_F(EventReportTest, ResumedRunsFollowAndAKilledOneSaysSo) {
  started(1);
  record(request("checkpoint", "mine", 7));
  started(2, 5);
  ended("completed", 9);
  EXPECT_EQ(report(), R"(run 1  2026-11-21 06:59:01 UTC  train on 1 rank, from step 0
  06:59:02  step 7        checkpoint  asked by mine, not served
  no end: the process was killed, or the run still goes on

run 2  2026-11-21 06:59:03 UTC  train on 2 ranks, from step 5
  06:59:04  step 9        completed
)");
}

TEST_F(EventReportTest, ErrorsSayHookRankAndWhatTheyLedTo) {
  started(3);
  LoopEvent tolerated = at(LoopEvent::kTolerated, "after_report", 3);
  tolerated.hook = "sink";
  tolerated.detail = "hook sink in after_report: no route\nto host";
  record(tolerated);
  LoopEvent failed = at(LoopEvent::kFailed, "forward", 5);
  failed.rank = 2;
  failed.detail = "out of memory";
  record(failed);
  LoopEvent failed_run = at(LoopEvent::kFailed, "run", 5);
  failed_run.detail = "rank 2 failed in forward of step 5: out of memory";
  record(failed_run);
  ended("failed", 5, failed_run.detail.c_str());
  EXPECT_THAT(
      report(),
      AllOf(HasSubstr("error       hook sink in after_report on rank 0: no route to host (the run "
                      "went on)\n"),
            HasSubstr("step 5        failed      in forward on rank 2: out of memory\n"),
            HasSubstr(
                "step 5        failed      rank 2 failed in forward of step 5: out of memory\n"),
            testing::EndsWith("step 5        ended\n")));
}

TEST_F(EventReportTest, WithOneRankNoRankIsNamed) {
  started(1);
  LoopEvent failed = at(LoopEvent::kFailed, "after_step", 5);
  failed.hook = "mine";
  failed.detail = "hook mine in after_step: planted";
  record(failed);
  EXPECT_THAT(report(), HasSubstr("failed      hook mine in after_step: planted\n"));
}

TEST_F(EventReportTest, OneServingOfManyRequestsAndManyServingsOfOne) {
  started(1);
  record(request("evaluate", "one", 4));
  record(request("evaluate", "two", 4));
  record(request("evaluate", "three", 4, "never"));
  served(request("evaluate", "", 4, "eval"), 4);
  served(request("evaluate", "", 4, "fresh"), 4);
  served(request("evaluate", "", 9, "eval"), 9);
  ended("completed", 9);
  EXPECT_THAT(report(), AllOf(HasSubstr("evaluate    eval: asked by one and two, served\n"),
                              HasSubstr("evaluate    fresh: asked by one and two, served\n"),
                              HasSubstr("step 9        evaluate    eval: done\n"),
                              HasSubstr("evaluate    never: asked by three, not served\n")));
}

TEST_F(EventReportTest, WhatTheTrainerDidByItself) {
  started(1);
  served(at(LoopEvent::kServed, "checkpoint", 9), 9);
  LoopEvent without_request = request("evaluate", "mine", 9, "fresh");
  served(without_request, 9);
  EXPECT_THAT(report(), AllOf(HasSubstr("checkpoint  done\n"),
                              HasSubstr("evaluate    fresh: asked by mine, served\n")));
}

TEST_F(EventReportTest, WordsOfLaterVersionsAreShown) {
  started(1);
  append(
      R"({"time":"2026-11-21T07:00:00.000Z","step":3,"kind":"published","what":"model","new":[1]})"
      "\n");
  EXPECT_THAT(report(), HasSubstr("07:00:00  step 3        published model"));
}

TEST_F(EventReportTest, AnEmptyFileIsAnEmptyReport) { EXPECT_EQ(report(), ""); }

TEST_F(EventReportTest, TornLinesAreToleratedAndNamed) {
  started(1);
  const std::string whole = *read_file(FileSystem::local(), path_);
  for (size_t size = 1; size + 1 < whole.size(); ++size) {
    write(whole + whole.substr(0, size));
    ASSERT_OK_AND_ASSIGN(EventHistory history, read_event_history(FileSystem::local(), path_));
    EXPECT_EQ(history.events.size(), 1);
    EXPECT_THAT(history.torn_lines, ElementsAre(2)) << size;
    started(1, 4);  // the next run continues the file
    ASSERT_OK_AND_ASSIGN(history, read_event_history(FileSystem::local(), path_));
    EXPECT_EQ(history.events.size(), 2);
    EXPECT_THAT(history.torn_lines, ElementsAre(2)) << size;
  }
  EXPECT_THAT(report(), HasSubstr("line 2 is unfinished"));
}

TEST_F(EventReportTest, AnEventWithoutItsNewlineIsWhole) {
  started(1);
  const std::string whole = *read_file(FileSystem::local(), path_);
  write(whole.substr(0, whole.size() - 1));
  ASSERT_OK_AND_ASSIGN(const EventHistory history, read_event_history(FileSystem::local(), path_));
  EXPECT_EQ(history.events.size(), 1);
  EXPECT_THAT(history.torn_lines, IsEmpty());
}

TEST_F(EventReportTest, AMalformedLineIsNamedByItsNumber) {
  for (const char* line :
       {"no event", "[1]", "{}", R"({"time":5,"kind":"served","what":"stop"})", "\xff\xfe}",
        R"({"time":"2026-11-21T07:00:00.000Z","kind":"se\rved","what":"})"}) {
    write("");
    started(1);
    append(absl::StrCat(line, "\n"));
    EXPECT_THAT(read_event_history(FileSystem::local(), path_),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("events.jsonl:2: ")))
        << line;
    ended("completed", 1);
    EXPECT_THAT(read_event_history(FileSystem::local(), path_),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("events.jsonl:2: ")))
        << line;
  }
}

TEST_F(EventReportTest, TerminalsAreNotObeyed) {
  started(1);
  append("\x1b]0;title\x07\n");
  EXPECT_THAT(read_event_history(FileSystem::local(), path_).status().message(),
              AllOf(HasSubstr("\\x1b]0;title\\x07"), testing::Not(HasSubstr("\x1b"))));
}

TEST_F(EventReportTest, AMissingFileSaysWhatToDo) {
  EXPECT_THAT(read_event_history(FileSystem::local(), testing::TempDir() + "/none/events.jsonl"),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("none/events.jsonl"),
                                                          HasSubstr("give the output directory"))));
}

}  // namespace
}  // namespace millrace
