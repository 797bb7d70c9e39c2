#include "hooks/inspect/trace_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;

std::unique_ptr<TraceRecorder> begin(bool record_shapes = false) {
  auto recorder = TraceRecorder::begin(record_shapes);
  EXPECT_OK(recorder.status());
  return *std::move(recorder);
}

std::vector<TraceEvent> finish(TraceRecorder& recorder) {
  auto events = recorder.finish();
  EXPECT_OK(events.status());
  return *std::move(events);
}

std::vector<std::string> annotations(const std::vector<TraceEvent>& events) {
  std::vector<std::string> names;
  for (const TraceEvent& event : events) {
    if (event.is_annotation) names.push_back(event.name);
  }
  return names;
}

// Returns the first event of that name, or an event without a thread.
TraceEvent event_of(const std::vector<TraceEvent>& events, const std::string& name) {
  const auto found = std::find_if(events.begin(), events.end(),
                                  [&](const TraceEvent& event) { return event.name == name; });
  EXPECT_NE(found, events.end()) << name;
  return found == events.end() ? TraceEvent() : *found;
}

bool is_inside(const TraceEvent& inner, const TraceEvent& outer) {
  return inner.thread == outer.thread && inner.start_ns >= outer.start_ns &&
         inner.start_ns + inner.duration_ns <= outer.start_ns + outer.duration_ns;
}

TEST(TraceRecorderTest, APauseLeavesOut) {
  const auto recorder = begin();
  recorder->open("outer");
  recorder->pause();
  recorder->pause();
  recorder->open("left out");
  const at::Tensor left_out = torch::ones({8}).exp();
  recorder->close();
  recorder->resume();
  recorder->open("inner");
  const at::Tensor recorded = torch::ones({8}).log();
  recorder->close();
  recorder->close("renamed");
  const std::vector<TraceEvent> events = finish(*recorder);
  EXPECT_THAT(annotations(events), ElementsAre("renamed", "inner"));
  event_of(events, "aten::log");
  for (const TraceEvent& event : events) EXPECT_NE(event.name, "aten::exp");
}

TEST(TraceRecorderTest, ARecorderThatEndsInAPauseLeavesTheThreadAsItWas) {
  begin()->pause();
  const auto recorder = begin();
  const at::Tensor recorded = torch::ones({8}).log();
  event_of(finish(*recorder), "aten::log");
}

TEST(TraceRecorderTest, OperatorsLieInsideAnnotations) {
  const auto recorder = begin();
  recorder->open("outer");
  recorder->open("inner");
  const at::Tensor sum = torch::ones({8}) + 1;
  recorder->close();
  recorder->open("next");
  const at::Tensor product = torch::mm(torch::ones({2, 3}), torch::ones({3, 2}));
  recorder->close("renamed");
  recorder->close();
  const std::vector<TraceEvent> events = finish(*recorder);
  EXPECT_THAT(annotations(events), ElementsAre("outer", "inner", "renamed"));
  EXPECT_TRUE(is_inside(event_of(events, "aten::add"), event_of(events, "inner")));
  EXPECT_TRUE(is_inside(event_of(events, "aten::mm"), event_of(events, "renamed")));
  EXPECT_TRUE(is_inside(event_of(events, "inner"), event_of(events, "outer")));
  EXPECT_TRUE(is_inside(event_of(events, "renamed"), event_of(events, "outer")));
  EXPECT_FALSE(is_inside(event_of(events, "aten::mm"), event_of(events, "inner")));
  EXPECT_GT(event_of(events, "outer").thread, 0);
}

TEST(TraceRecorderTest, BackwardBeginsWithAutograd) {
  const auto recorder = begin();
  for (int pass = 0; pass < 2; ++pass) {
    recorder->open_passes();
    const at::Tensor weight = torch::ones({4}, torch::requires_grad());
    weight.exp().sum().backward();
    recorder->close();
  }
  recorder->open("update");
  const at::Tensor update = torch::ones({4}).neg();
  recorder->close();
  const std::vector<TraceEvent> events = finish(*recorder);
  EXPECT_THAT(annotations(events),
              ElementsAre("forward", "backward", "forward", "backward", "update"));
  EXPECT_TRUE(is_inside(event_of(events, "aten::exp"), event_of(events, "forward")));
  EXPECT_TRUE(is_inside(event_of(events, "autograd::engine::evaluate_function: ExpBackward0"),
                        event_of(events, "backward")));
  EXPECT_TRUE(is_inside(event_of(events, "autograd::engine::evaluate_function: SumBackward0"),
                        event_of(events, "backward")));
}

TEST(TraceRecorderTest, ForwardWithoutABackwardPassStays) {
  const auto recorder = begin();
  recorder->open_passes();
  recorder->close();
  torch::ones({4}, torch::requires_grad()).exp().sum().backward();
  EXPECT_THAT(annotations(finish(*recorder)), ElementsAre("forward"));
}

TEST(TraceRecorderTest, ShapesWhereAskedFor) {
  auto recorder = begin(/*record_shapes=*/true);
  at::Tensor product = torch::mm(torch::ones({2, 3}), torch::ones({3, 4}));
  EXPECT_EQ(event_of(finish(*recorder), "aten::mm").shapes, "[[2,3],[3,4]]");
  recorder = begin();
  product = torch::mm(product.t(), product);
  EXPECT_EQ(event_of(finish(*recorder), "aten::mm").shapes, "");
}

TEST(TraceRecorderTest, WhatIsOpenEndsWithTheSession) {
  const auto recorder = begin();
  recorder->open("a");
  recorder->open("b");
  EXPECT_THAT(annotations(finish(*recorder)), ElementsAre("a", "b"));
  recorder->open("nothing happens");
  recorder->close();
  EXPECT_THAT(recorder->finish(), StatusIs(kPrecondition));
}

TEST(TraceRecorderTest, ClosingNothingDoesNothing) {
  const auto recorder = begin();
  recorder->close("name");
  EXPECT_THAT(annotations(finish(*recorder)), IsEmpty());
}

TEST(TraceRecorderTest, OneAtATime) {
  auto recorder = begin();
  EXPECT_THAT(TraceRecorder::begin(false),
              StatusIs(kPrecondition, HasSubstr("already records a trace")));
  std::thread([] { EXPECT_THAT(TraceRecorder::begin(false), StatusIs(kPrecondition)); }).join();
  recorder.reset();
  EXPECT_OK(TraceRecorder::begin(false).status()) << "after one that was dropped";
  EXPECT_OK(TraceRecorder::begin(false).status());
}

TEST(TraceRecorderTest, DroppedOnAnotherThread) {
  std::unique_ptr<TraceRecorder> recorder;
  std::thread([&recorder] {
    recorder = begin();
    recorder->open("open");
  }).join();
  recorder.reset();
  recorder = begin();
  recorder->open("a");
  EXPECT_THAT(annotations(finish(*recorder)), ElementsAre("a"));
}

}  // namespace
}  // namespace millrace
