#include "framework/loop/hook_list.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <stdexcept>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/failure_kind.h"
#include "base/file_system.h"
#include "base/log.h"
#include "base/status_matchers.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/recording_hook.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Names = std::vector<std::string>;

// One event of a list, by the name of its method.
struct Event {
  std::string name;
  bool opens;
  std::function<absl::Status(HookList&, HookContext&)> fire;
};

// Returns the events in the order of the diagram.
std::vector<Event> all_events() {
  using L = HookList;
  using C = HookContext;
  return {
      {"start", true, [](L& l, C& c) { return l.start(c); }},
      {"before_epoch", true, [](L& l, C& c) { return l.before_epoch(c); }},
      {"before_window", true, [](L& l, C& c) { return l.before_window(c, {}); }},
      {"before_step", true, [](L& l, C& c) { return l.before_step(c); }},
      {"after_data", false, [](L& l, C& c) { return l.after_data(c, {}, 3); }},
      {"after_backward", false,
       [](L& l, C& c) { return l.after_backward(c, Gradients({}, nullptr)); }},
      {"after_step", false, [](L& l, C& c) { return l.after_step(c, StepResult()); }},
      {"out_of_data", false, [](L& l, C& c) { return l.out_of_data(c, DataEnd::kWindow); }},
      {"after_window", false, [](L& l, C& c) { return l.after_window(c, {}); }},
      {"after_epoch", false, [](L& l, C& c) { return l.after_epoch(c); }},
      {"after_report", false, [](L& l, C& c) { return l.after_report(c, {}); }},
      {"after_evaluate", false, [](L& l, C& c) { return l.after_evaluate(c, {}); }},
      {"after_checkpoint", false, [](L& l, C& c) { return l.after_checkpoint(c, {}); }},
      {"end", false, [](L& l, C& c) { return l.end(c, absl::OkStatus()); }},
  };
}

std::string without_argument(absl::string_view event) {
  return std::string(event.substr(0, event.find('(')));
}

Names matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  Names names;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), regex);
       it != std::sregex_iterator(); ++it) {
    names.push_back((*it)[1]);
  }
  return names;
}

std::string header(const char* name) {
  auto text = read_file(FileSystem::local(), name);
  EXPECT_OK(text);
  return text.ok() ? *text : "";
}

// Returns the events of the diagram in the comment of class Hook, each once, in order of
// appearance.
Names picture() {
  Names names;
  bool inside = false;
  const std::string text = header("hook/hook.h");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, "//")) continue;
    if (absl::StartsWith(absl::StripAsciiWhitespace(line), "start   ")) inside = true;
    line = absl::StripAsciiWhitespace(line);
    if (inside && line.empty()) break;
    if (!inside) continue;
    const std::string name(line.substr(0, line.find_first_of(" (")));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

TEST(HookPictureTest, ThePictureTheVirtualsAndTheListAreOne) {
  Names events;
  for (const Event& event : all_events()) events.push_back(event.name);
  EXPECT_EQ(picture(), events);

  const std::string hook = header("hook/hook.h");
  EXPECT_EQ(matches(hook, "virtual absl::Status (\\w+)\\(HookContext&"), events);
  // No other functions are virtual except the destructors, the name and the state.
  Names others = matches(hook.substr(hook.find("\nclass Hook {")), "virtual [^~\n]*?(\\w+)\\(");
  others.erase(std::remove_if(others.begin(), others.end(),
                              [&](const std::string& name) {
                                return std::count(events.begin(), events.end(), name) > 0;
                              }),
               others.end());
  EXPECT_THAT(others, ElementsAre("name", "save_state", "load_state"));

  const std::string list = header("framework/loop/hook_list.h");
  EXPECT_EQ(
      matches(list.substr(0, list.find("private:")), "absl::Status (\\w+)\\(HookContext& context"),
      events);
}

TEST(HookListTest, ForwardsEachEventToItsVirtual) {
  Names recorded;
  HookList list;
  ASSERT_OK(list.add(std::make_unique<RecordingHook>(&recorded)));
  FakeHookContext context;
  for (const Event& event : all_events()) {
    recorded.clear();
    ASSERT_OK(event.fire(list, context)) << event.name;
    ASSERT_EQ(recorded.size(), 1) << event.name;
    EXPECT_EQ(without_argument(recorded[0]), event.name);
    if (event.name == "after_data") {
      EXPECT_EQ(recorded[0], "after_data(3)");
    }
    if (event.name == "out_of_data") {
      EXPECT_EQ(recorded[0], "out_of_data(window)");
    }
  }
}

TEST(HookListTest, HooksWithoutEventsDoNothing) {
  class Idle : public Hook {
    absl::string_view name() const override { return "idle"; }
  };
  HookList list;
  ASSERT_OK(list.add(std::make_unique<Idle>()));
  FakeHookContext context;
  for (const Event& event : all_events()) EXPECT_OK(event.fire(list, context));
  Idle hook;
  HookState state;
  Hook& base = hook;
  EXPECT_OK(base.save_state(state));
  EXPECT_EQ(state.bytes, "");
  EXPECT_OK(base.load_state({}));
}

// Three hooks a, b, c that share a log; some of them fail or throw.
class ThreeHooks {
 public:
  explicit ThreeHooks(std::function<absl::Status(absl::string_view event)> on_event = nullptr) {
    for (const char* name : {"a", "b", "c"}) {
      EXPECT_OK(list.add(std::make_unique<RecordingHook>(
          &events,
          [on_event](HookContext&, absl::string_view event) {
            return on_event ? on_event(event) : absl::OkStatus();
          },
          name, /*prefixed=*/true)));
    }
  }
  HookList list;
  Names events;
  FakeHookContext context;
};

TEST(HookListTest, OpeningEventsGoForwardClosingOnesBackward) {
  for (const Event& event : all_events()) {
    ThreeHooks hooks;
    if (event.name == "end") {
      ASSERT_OK(hooks.list.start(hooks.context));
    }
    hooks.events.clear();
    ASSERT_OK(event.fire(hooks.list, hooks.context));
    Names order;
    for (const std::string& recorded : hooks.events) order.push_back(recorded.substr(0, 1));
    EXPECT_EQ(order, event.opens ? Names({"a", "b", "c"}) : Names({"c", "b", "a"})) << event.name;
  }
}

TEST(HookListTest, OpeningEventsStopAtTheFirstErrorClosingOnesReachEveryHook) {
  for (const Event& event : all_events()) {
    if (event.name == "start" || event.name == "end") continue;
    ThreeHooks hooks([](absl::string_view recorded) {
      if (recorded[0] == 'a') return absl::OkStatus();
      return absl::AbortedError(absl::StrCat("planted in ", recorded.substr(0, 1)));
    });
    const std::string first = event.opens ? "b" : "c";
    EXPECT_THAT(event.fire(hooks.list, hooks.context),
                StatusIs(absl::StatusCode::kAborted,
                         absl::StrCat("hook ", first, " in ", event.name, ": planted in ", first)));
    EXPECT_EQ(hooks.events.size(), event.opens ? 2 : 3) << event.name;
  }
}

TEST(HookListTest, EndReachesThoseThatStarted) {
  ThreeHooks hooks([](absl::string_view event) {
    return event == "b.start" ? absl::AbortedError("planted") : absl::OkStatus();
  });
  EXPECT_THAT(hooks.list.start(hooks.context), StatusIs(absl::StatusCode::kAborted));
  ASSERT_OK(hooks.list.end(hooks.context, absl::AbortedError("planted")));
  EXPECT_THAT(hooks.events, ElementsAre("a.start", "b.start", "a.end"));
}

TEST(HookListTest, EndComesOnceAndOnlyAfterStart) {
  ThreeHooks hooks;
  ASSERT_OK(hooks.list.end(hooks.context, absl::OkStatus()));
  EXPECT_THAT(hooks.events, IsEmpty());
  ASSERT_OK(hooks.list.start(hooks.context));
  ASSERT_OK(hooks.list.end(hooks.context, absl::OkStatus()));
  ASSERT_OK(hooks.list.end(hooks.context, absl::OkStatus()));
  EXPECT_THAT(hooks.events,
              ElementsAre("a.start", "b.start", "c.start", "c.end", "b.end", "a.end"));
}

TEST(HookListTest, EndReachesEveryHookWhateverTheyReturn) {
  ThreeHooks hooks([](absl::string_view event) {
    if (event == "b.end") return absl::AbortedError("b");
    if (event == "a.end") return absl::InternalError("a");
    return absl::OkStatus();
  });
  ASSERT_OK(hooks.list.start(hooks.context));
  EXPECT_THAT(hooks.list.end(hooks.context, absl::OkStatus()),
              StatusIs(absl::StatusCode::kAborted, "hook b in end: b"));
  EXPECT_THAT(hooks.events, Contains("a.end"));
}

// Keeps the outcome that it is told, and fails if it is to.
class OutcomeHook : public Hook {
 public:
  OutcomeHook(absl::Status* told, absl::Status result) : told_(told), result_(std::move(result)) {}
  absl::string_view name() const override { return result_.ok() ? "told" : "fails"; }
  absl::Status end(HookContext&, const absl::Status& outcome) override {
    *told_ = outcome;
    return result_;
  }

 private:
  absl::Status* const told_;
  const absl::Status result_;
};

TEST(HookListTest, HooksAreToldOfAnEndThatFailedBeforeTheirs) {
  absl::Status first, last;
  HookList list;
  FakeHookContext context;
  ASSERT_OK(list.add(std::make_unique<OutcomeHook>(&last, absl::OkStatus())));
  ASSERT_OK(list.add(std::make_unique<OutcomeHook>(&first, absl::AbortedError("planted"))));
  ASSERT_OK(list.start(context));
  EXPECT_EQ(list.end(context, absl::OkStatus()).code(), absl::StatusCode::kAborted);
  EXPECT_OK(first);
  EXPECT_THAT(last, StatusIs(absl::StatusCode::kAborted, HasSubstr("planted")));
}

TEST(HookListTest, ExceptionsBecomeErrors) {
  for (const Event& event : all_events()) {
    ThreeHooks hooks([&](absl::string_view recorded) -> absl::Status {
      if (without_argument(recorded) == "b." + event.name) throw std::runtime_error("boom");
      if (without_argument(recorded) == "a." + event.name && !event.opens) throw 7;
      return absl::OkStatus();
    });
    if (event.name == "end") {
      ASSERT_OK(hooks.list.start(hooks.context));
    }
    const absl::Status status = event.fire(hooks.list, hooks.context);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal,
                                 AllOf(HasSubstr("hook b in " + event.name), HasSubstr("boom"))));
    EXPECT_EQ(kind_of(status), FailureKind::kPart) << event.name;
  }
}

// Passes each batch to a function.
class BatchHook : public Hook {
 public:
  BatchHook(std::string name, std::function<void(const Batch&)> on_data)
      : name_(std::move(name)), on_data_(std::move(on_data)) {}
  absl::string_view name() const override { return name_; }
  absl::Status after_data(HookContext&, const Batch& batch, int64_t) override {
    on_data_(batch);
    return absl::OkStatus();
  }

 private:
  const std::string name_;
  const std::function<void(const Batch&)> on_data_;
};

// Returns a batch of two examples without weights.
Batch small_batch() {
  Batch batch;
  batch.size = 2;
  batch.dense = at::zeros({2, 3});
  batch.labels = at::zeros({2, 1});
  batch.example_ids = at::zeros({2}, at::kLong);
  batch.sparse.values = at::zeros({4}, at::kLong);
  batch.sparse.offsets = at::zeros({3}, at::kLong);
  return batch;
}

TEST(HookListTest, AHookThatChangesABatchIsNamedWithWhatItChanged) {
  const std::pair<const char*, std::function<void(const Batch&)>> cases[] = {
      {"dense", [](const Batch& batch) { batch.dense.fill_(7); }},
      {"labels", [](const Batch& batch) { batch.labels.select(0, 1).fill_(0.5); }},
      {"weights", [](const Batch& batch) { const_cast<Batch&>(batch).weights = at::ones({2}); }},
      {"example_ids", [](const Batch& batch) { batch.example_ids.add_(1); }},
      {"sparse.values", [](const Batch& batch) { batch.sparse.values.zero_(); }},
      {"sparse.offsets", [](const Batch& batch) { batch.sparse.offsets.resize_({1}); }},
      {"size", [](const Batch& batch) { const_cast<Batch&>(batch).size = 3; }},
  };
  for (const auto& [part, change] : cases) {
    const auto read = [](const Batch& batch) { batch.dense.sum(); };
    HookList list;
    ASSERT_OK(list.add(std::make_unique<BatchHook>("first", read)));
    ASSERT_OK(list.add(std::make_unique<BatchHook>("changes", change)));
    ASSERT_OK(list.add(std::make_unique<BatchHook>("last", read)));
    FakeHookContext context;
    Batch batch = small_batch();
    EXPECT_THAT(list.after_data(context, batch, 0),
                StatusIs(absl::StatusCode::kInternal,
                         HasSubstr(absl::StrCat("hook changes in after_data: changed batch.", part,
                                                "; a hook may only read"))));
    auto statistics = list.statistics();
    EXPECT_EQ(statistics["first"].errors + statistics["last"].errors, 0) << part;
  }
}

TEST(HookListTest, AChangedBatchEndsTheRunWhateverOnErrorIs) {
  for (const OnError on_error : {OnError::kWarn, OnError::kDisable}) {
    for (const bool throws : {false, true}) {
      HookList list;
      const auto change = [throws](const Batch& batch) {
        batch.dense.fill_(7);
        if (throws) throw std::runtime_error("thrown");
      };
      ASSERT_OK(list.add(std::make_unique<BatchHook>("changes", change), on_error));
      FakeHookContext context;
      const absl::Status status = list.after_data(context, small_batch(), 0);
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal, HasSubstr("changed batch.dense")));
      EXPECT_EQ(kind_of(status), FailureKind::kPart);
    }
  }
}

TEST(HookListTest, ABatchOfInferenceModeHasNoVersions) {
  HookList list;
  ASSERT_OK(list.add(std::make_unique<BatchHook>("reads", [](const Batch&) {})));
  FakeHookContext context;
  const c10::InferenceMode inference;
  EXPECT_OK(list.after_data(context, small_batch(), 0));
}

TEST(HookListTest, RequestsCarryTheHooksName) {
  Names events;
  HookList list;
  for (const char* name : {"a", "b"}) {
    ASSERT_OK(list.add(std::make_unique<RecordingHook>(
        &events,
        [](HookContext& context, absl::string_view) {
          context.requests().stop("enough");
          return absl::OkStatus();
        },
        name)));
  }
  FakeHookContext context;
  ASSERT_OK(list.after_step(context, {}));
  EXPECT_EQ(context.asked.take_common().first(Request::kStop)->hook, "b")
      << "which is called first";
}

// Captures the lines of the log during its lifetime.
class CapturedLog {
 public:
  CapturedLog() {
    set_log_sink([this](LogSeverity, absl::string_view line) { lines_.emplace_back(line); });
  }
  ~CapturedLog() { set_log_sink({}); }
  const Names& lines() const { return lines_; }

 private:
  Names lines_;
};

class RecordingLog : public EventLog {
 public:
  void record(const LoopEvent& event) override { events.push_back(event); }
  std::vector<LoopEvent> events;
};

// A list of the hooks "a", "b" and "c", where "b" fails in each event named in `failing`.
class OnErrorTest : public testing::Test {
 protected:
  void make(OnError on_error, Names failing) {
    list_ = std::make_unique<HookList>();
    const auto fail_as_told = [failing](HookContext& context, absl::string_view event) {
      const std::string plain = without_argument(event);
      if (std::count(failing.begin(), failing.end(), plain) == 0) return absl::OkStatus();
      if (plain == "b.after_epoch") throw std::runtime_error("thrown");
      context.requests().evaluate();
      return absl::DataLossError(absl::StrCat("planted in ", plain));
    };
    for (const char* name : {"a", "b", "c"}) {
      ASSERT_OK(list_->add(
          std::make_unique<RecordingHook>(&events_, fail_as_told, name, /*prefixed=*/true),
          *name == 'b' ? on_error : OnError::kFail));
    }
    list_->set_event_log(&log_);
  }

  CapturedLog lines_;
  RecordingLog log_;
  Names events_;
  std::unique_ptr<HookList> list_;
  FakeHookContext context_;
};

TEST_F(OnErrorTest, FailIsTheDefaultAndIsCounted) {
  make(OnError::kFail, {"b.after_step"});
  ASSERT_OK(list_->start(context_));
  EXPECT_THAT(list_->after_step(context_, {}), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(list_->statistics()["b"].errors, 1);
  EXPECT_THAT(lines_.lines(), IsEmpty());
  EXPECT_THAT(log_.events, IsEmpty()) << "the trainer writes what ends the run";
}

TEST_F(OnErrorTest, AWarningIsLoggedOnceCountedAlwaysAndEndsNothing) {
  make(OnError::kWarn, {"b.before_step", "b.after_step", "b.after_epoch"});
  ASSERT_OK(list_->start(context_));
  for (context_.at.step = 0; context_.at.step < 3; ++context_.at.step) {
    ASSERT_OK(list_->before_step(context_));
    ASSERT_OK(list_->after_step(context_, {}));
  }
  ASSERT_OK(list_->after_epoch(context_)) << "an exception is an error as well";
  EXPECT_THAT(events_, Contains("c.before_step")) << "an opening event goes on to the next hook";
  EXPECT_EQ(std::count(events_.begin(), events_.end(), "b.after_step(refused)"), 3);
  ASSERT_EQ(lines_.lines().size(), 1);
  EXPECT_THAT(lines_.lines()[0], HasSubstr("hook b in before_step: planted in b.before_step (the "
                                           "run goes on)"));
  EXPECT_EQ(list_->statistics()["b"].errors, 7);
  EXPECT_EQ(list_->statistics()["b"].first_error, "planted in b.before_step");
  EXPECT_FALSE(list_->statistics()["b"].disabled);
  EXPECT_EQ(list_->statistics()["a"].errors, 0);
  ASSERT_OK(list_->end(context_, absl::OkStatus()));
  ASSERT_EQ(lines_.lines().size(), 2);
  EXPECT_THAT(lines_.lines()[1], HasSubstr("hook b failed 7 times in this run"));
}

TEST_F(OnErrorTest, TheFirstToleratedErrorIsAnEventOfTheRun) {
  make(OnError::kWarn, {"b.after_step"});
  context_.rank_is = 2;
  ASSERT_OK(list_->start(context_));
  for (context_.at.step = 5; context_.at.step < 7; ++context_.at.step) {
    ASSERT_OK(list_->after_step(context_, {}));
  }
  ASSERT_EQ(log_.events.size(), 1);
  EXPECT_EQ(log_.events[0].kind, LoopEvent::kTolerated);
  EXPECT_EQ(log_.events[0].what, "after_step");
  EXPECT_EQ(log_.events[0].hook, "b");
  EXPECT_EQ(log_.events[0].rank, 2);
  EXPECT_EQ(log_.events[0].progress.step, 5);
  EXPECT_EQ(log_.events[0].detail, "hook b in after_step: planted in b.after_step");
}

TEST_F(OnErrorTest, ADisabledHookHearsNothingButTheEnd) {
  for (const Event& event : all_events()) {
    if (event.name == "start" || event.name == "end") continue;
    events_.clear();
    make(OnError::kDisable, {"b." + event.name});
    ASSERT_OK(list_->start(context_));
    for (const Event& each : all_events()) {
      if (each.name == "start" || each.name == "end") continue;
      ASSERT_OK(each.fire(*list_, context_));
    }
    events_.clear();
    for (const Event& each : all_events()) {
      if (each.name == "start" || each.name == "end") continue;
      ASSERT_OK(each.fire(*list_, context_));
    }
    for (const std::string& recorded : events_) EXPECT_NE(recorded[0], 'b') << recorded;
    events_.clear();
    ASSERT_OK(list_->end(context_, absl::OkStatus()));
    EXPECT_THAT(events_, ElementsAre("c.end", "b.end", "a.end"));
    EXPECT_TRUE(list_->statistics()["b"].disabled) << event.name;
    EXPECT_EQ(list_->statistics()["b"].errors, 1) << event.name;
  }
}

TEST_F(OnErrorTest, AHookWhoseStartFailedIsDisabledAndHasNoEnd) {
  for (const OnError on_error : {OnError::kWarn, OnError::kDisable}) {
    events_.clear();
    make(on_error, {"b.start"});
    ASSERT_OK(list_->start(context_));
    ASSERT_OK(list_->after_step(context_, {}));
    ASSERT_OK(list_->end(context_, absl::OkStatus()));
    EXPECT_THAT(events_, ElementsAre("a.start", "b.start", "c.start", "c.after_step(refused)",
                                     "a.after_step(refused)", "c.end", "a.end"));
    EXPECT_THAT(lines_.lines().back(), HasSubstr("without this hook"));
  }
}

TEST_F(OnErrorTest, AnErrorInEndChangesNoOutcome) {
  make(OnError::kWarn, {"b.end"});
  ASSERT_OK(list_->start(context_));
  EXPECT_OK(list_->end(context_, absl::OkStatus()));
  EXPECT_EQ(list_->statistics()["b"].errors, 1);
  EXPECT_EQ(log_.events.size(), 1);
}

TEST_F(OnErrorTest, WhatWasAskedForBeforeTheErrorStands) {
  make(OnError::kDisable, {"b.after_step"});
  ASSERT_OK(list_->start(context_));
  ASSERT_OK(list_->after_step(context_, {}));
  EXPECT_TRUE(context_.asked.take_common().evaluates_all());
}

TEST_F(OnErrorTest, EachRunBeginsAnew) {
  make(OnError::kDisable, {"b.after_step"});
  for (int run = 0; run < 2; ++run) {
    ASSERT_OK(list_->start(context_));
    events_.clear();
    ASSERT_OK(list_->after_step(context_, {}));
    EXPECT_THAT(events_, Contains("b.after_step(refused)"));
    ASSERT_OK(list_->end(context_, absl::OkStatus()));
    EXPECT_EQ(list_->statistics()["b"].errors, 1);
  }
  EXPECT_EQ(log_.events.size(), 2);
}

TEST(HookListTest, CallsAndTimesPerHookAndEvent) {
  FakeClock clock;
  Names events;
  HookList list(clock);
  const auto add = [&](const char* name, absl::Duration takes) {
    ASSERT_OK(list.add(std::make_unique<RecordingHook>(
        &events,
        [&clock, takes](HookContext&, absl::string_view event) {
          if (event != "end") clock.advance(takes);
          return event == "after_epoch" ? absl::InternalError("planted") : absl::OkStatus();
        },
        name)));
  };
  add("quick", absl::Milliseconds(1));
  add("slow", absl::Milliseconds(20));
  FakeHookContext context;
  ASSERT_OK(list.start(context));
  clock.advance(absl::Seconds(5));  // between events: nobody's
  for (int i = 0; i < 3; ++i) ASSERT_OK(list.after_step(context, {}));
  EXPECT_FALSE(list.after_epoch(context).ok());
  ASSERT_OK(list.end(context, absl::OkStatus()));
  auto statistics = list.statistics();
  ASSERT_EQ(statistics.size(), 2);
  const auto calls = [&](const char* hook, const char* event) {
    return statistics[hook].events[event].calls;
  };
  const auto time = [&](const char* hook, const char* event) {
    return statistics[hook].events[event].time;
  };
  EXPECT_EQ(statistics["slow"].events.count("before_step"), 0) << "it was never called";
  EXPECT_EQ(calls("quick", "start"), 1);
  EXPECT_EQ(calls("slow", "after_step"), 3);
  EXPECT_EQ(calls("slow", "after_epoch"), 1) << "a call that failed counts";
  EXPECT_EQ(calls("slow", "end"), 1);
  EXPECT_EQ(time("quick", "start"), absl::Milliseconds(1));
  EXPECT_EQ(time("quick", "after_step"), absl::Milliseconds(3));
  EXPECT_EQ(time("slow", "after_step"), absl::Milliseconds(60));
  EXPECT_EQ(time("slow", "end"), absl::ZeroDuration());
}

TEST(HookListTest, NamesAreThereAndUnique) {
  Names events;
  HookList list;
  const auto hook = [&](const char* name) {
    return std::make_unique<RecordingHook>(&events, nullptr, name);
  };
  ASSERT_OK(list.add(hook("one")));
  ASSERT_OK(list.add(hook("two")));
  EXPECT_THAT(list.add(hook("one")), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("one")));
  EXPECT_THAT(list.add(hook("")), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(list.add(nullptr), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(list.names(), ElementsAre("one", "two"));
}

}  // namespace
}  // namespace millrace
