#include "framework/report/jsonl_event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/fault_file_system_testing.h"
#include "base/log.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

class JsonlEventLogTest : public testing::Test {
 protected:
  JsonlEventLogTest() {
    std::filesystem::remove(path_);
    set_log_sink([this](LogSeverity, absl::string_view line) { logged_.emplace_back(line); });
  }
  ~JsonlEventLogTest() override { set_log_sink({}); }

  std::vector<std::string> lines() {
    const auto text = read_file(FileSystem::local(), path_);
    if (!text.ok() || text->empty()) return {};
    EXPECT_EQ(text->back(), '\n');
    return absl::StrSplit(text->substr(0, text->size() - 1), '\n');
  }
  std::vector<std::string> whats() {
    std::vector<std::string> whats;
    for (const std::string& line : lines()) {
      const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
      whats.push_back(json.is_object() ? json["what"].get<std::string>() : line);
    }
    return whats;
  }

  const std::string path_ = testing::TempDir() + "/events.jsonl";
  FakeClock clock_{absl::FromUnixMillis(1795244341123)};
  std::vector<std::string> logged_;
};

LoopEvent event(std::string what) {
  LoopEvent event;
  event.kind = LoopEvent::kServed;
  event.what = std::move(what);
  return event;
}

TEST_F(JsonlEventLogTest, AFileThatIsRemovedBeginsAnewWhenItIsOpenedAgain) {
  JsonlEventLog log(FileSystem::local(), clock_, path_, 0);
  log.open();
  log.record(event("before"));
  log.open();
  log.record(event("still there"));
  EXPECT_THAT(whats(), ElementsAre("before", "still there"));
  std::filesystem::remove(path_);
  log.record(event("lost"));
  log.open();
  log.record(event("after"));
  EXPECT_THAT(whats(), ElementsAre("after"));
}

TEST_F(JsonlEventLogTest, EveryField) {
  JsonlEventLog log(FileSystem::local(), clock_, path_, 0);
  log.open();
  LoopEvent event;
  event.kind = LoopEvent::kRequested;
  event.what = "stop";
  event.hook = "signal_stop";
  event.rank = 3;
  event.scope = Scope::kThisRank;
  event.detail = "signal \"SIGTERM\"\n\xff";
  event.progress.step = 7;
  event.progress.examples = int64_t{1} << 60;
  event.progress.epoch = 2;
  event.progress.window = 1;
  log.record(event);
  ASSERT_EQ(lines().size(), 1);
  EXPECT_EQ(lines()[0],
            R"({"time":"2026-11-21T06:59:01.123Z","step":7,"examples":1152921504606846976,)"
            R"("epoch":2,"window":1,"kind":"requested","what":"stop","hook":"signal_stop",)"
            R"("rank":3,"scope":"this_rank","detail":"signal \"SIGTERM\"\n)"
            "\xef\xbf\xbd\"}");
  event.kind = LoopEvent::kStarted;
  event.world_size = 4;
  event.scope = Scope::kCommon;
  log.record(event);
  const Json json = Json::parse(lines()[1]);
  EXPECT_EQ(json["world_size"], 4);
  EXPECT_EQ(json["scope"], "common");
}

TEST_F(JsonlEventLogTest, EachKindHasAWordOfItsOwn) {
  std::set<absl::string_view> words;
  for (int kind = LoopEvent::kStarted; kind <= LoopEvent::kEnded; ++kind) {
    words.insert(event_kind_name(static_cast<LoopEvent::Kind>(kind)));
  }
  EXPECT_EQ(words.size(), LoopEvent::kEnded + 1);
  EXPECT_EQ(words.count(""), 0);
}

TEST_F(JsonlEventLogTest, NothingTouchesTheDiskBeforeItIsOpened) {
  FaultFileSystem files(FileSystem::local());
  {
    JsonlEventLog log(files, clock_, path_, 0);
    log.record(event("one"));
    clock_.advance(absl::Hours(1));
  }
  EXPECT_EQ(files.calls(), 0);
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(JsonlEventLogTest, WhatCameBeforeOpeningKeepsItsPlaceAndTime) {
  JsonlEventLog log(FileSystem::local(), clock_, path_, 0);
  log.record(event("one"));
  clock_.advance(absl::Hours(1));
  log.record(event("two"));
  log.open();
  EXPECT_THAT(whats(), ElementsAre("one", "two")) << "written at once";
  log.record(event("three"));
  log.open();
  EXPECT_THAT(whats(), ElementsAre("one", "two", "three"));
  EXPECT_EQ(Json::parse(lines()[0])["time"], "2026-11-21T06:59:01.123Z");
  EXPECT_EQ(Json::parse(lines()[1])["time"], "2026-11-21T07:59:01.123Z");
}

TEST_F(JsonlEventLogTest, LaterRunsGoOnWithTheFile) {
  for (const char* what : {"first run", "second run"}) {
    JsonlEventLog log(FileSystem::local(), clock_, path_, 0);
    log.record(event(what));
    log.open();
  }
  EXPECT_THAT(whats(), ElementsAre("first run", "second run"));
}

TEST_F(JsonlEventLogTest, ALineThatAKilledRunLeftTornStaysApart) {
  ASSERT_OK_AND_ASSIGN(auto file, FileSystem::local().create(path_));
  ASSERT_OK(file->append("{\"time\":\"20"));
  ASSERT_OK(file->close());
  JsonlEventLog log(FileSystem::local(), clock_, path_, 0);
  log.open();
  log.record(event("resumed"));
  EXPECT_THAT(whats(), ElementsAre("{\"time\":\"20", "resumed"));
}

TEST_F(JsonlEventLogTest, OtherRanksWriteNothing) {
  JsonlEventLog log(FileSystem::local(), clock_, path_, 1);
  log.record(event("one"));
  log.open();
  log.record(event("two"));
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(JsonlEventLogTest, AWriteErrorIsLoggedOnceAndTheNextEventTriesAgain) {
  FaultFileSystem files(FileSystem::local());
  JsonlEventLog log(files, clock_, path_, 0);
  log.open();
  log.record(event("written"));
  files.fail(files.calls(), 3, absl::ResourceExhaustedError("disk full"));
  log.record(event("lost"));
  log.record(event("lost too"));
  EXPECT_EQ(logged_.size(), 1);
  EXPECT_THAT(logged_[0], HasSubstr("disk full"));
  EXPECT_THAT(logged_[0], HasSubstr(path_));
  log.record(event("written again"));
  EXPECT_THAT(whats(), ElementsAre("written", "written again"));
  EXPECT_EQ(logged_.size(), 1);
}

TEST_F(JsonlEventLogTest, AFolderThatIsMissingEndsNothing) {
  JsonlEventLog log(FileSystem::local(), clock_, testing::TempDir() + "/none/events.jsonl", 0);
  log.record(event("kept"));
  log.open();
  log.record(event("lost"));
  EXPECT_EQ(logged_.size(), 1);
}

}  // namespace
}  // namespace millrace
