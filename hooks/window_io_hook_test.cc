#include "hooks/window_io_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/fake_windowed_dataset.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A stream of which only the upcoming window matters.
class UpcomingWindows : public FakeWindowedDataset {
 public:
  UpcomingWindows() : FakeWindowedDataset({}, {}) {}
  std::vector<std::string> upcoming_files() override {
    ++looks;
    return files;
  }
  std::vector<std::string> files;
  int looks = 0;
};

class WindowIoHookTest : public testing::Test {
 protected:
  WindowIoHookTest() {
    options_.output_dir = "out";
    options_.read_ahead = [this](const std::string& path) { ahead_.push_back(path); };
    context_.windowed_is = true;
  }
  WindowIoHook hook() { return WindowIoHook(options_, windows_, files_, clock_); }
  static Window window(int64_t index, std::vector<std::string> files = {},
                       std::string damage = "") {
    Window window;
    window.index = index;
    window.name = absl::StrCat("w", index);
    window.files = std::move(files);
    window.damage = std::move(damage);
    return window;
  }
  // Finishes the window.
  void finish(WindowIoHook& hook, const Window& window) {
    context_.at.window = window.index + 1;
    context_.at.step += 10;
    ASSERT_OK(hook.after_window(context_, window));
  }
  void checkpoint(WindowIoHook& hook, int64_t windows) {
    CheckpointInfo info;
    info.progress.window = windows;
    ASSERT_OK(hook.after_checkpoint(context_, info));
  }
  std::string record() {
    const auto text = read_file(files_, "out/windows.jsonl");
    return text.ok() ? *text : "";
  }
  bool exists(const std::string& path) { return files_.info(path).ok(); }

  MemoryFileSystem files_;
  FakeClock clock_;
  UpcomingWindows windows_;
  FakeHookContext context_;
  WindowIoOptions options_;
  std::vector<std::string> ahead_;
};

[[maybe_unused]] const bool kWindowIoHook = register_hook_conformance(
    "WindowIoHook", {.make = [] {
      static MemoryFileSystem files;
      static FakeClock clock;
      static UpcomingWindows windows;
      WindowIoOptions options;
      options.output_dir = "out";
      options.read_ahead = [](const std::string&) {};
      return std::make_unique<WindowIoHook>(options, windows, files, clock);
    }});

TEST_F(WindowIoHookTest, ReadsTheNextWindowAheadOnce) {
  WindowIoHook one = hook();
  ASSERT_OK(one.start(context_));
  ASSERT_OK(one.before_window(context_, window(0)));
  for (int i = 0; i < 3; ++i) ASSERT_OK(one.after_step(context_, {}));
  EXPECT_EQ(windows_.looks, 1) << "not at every step";
  windows_.files = {"a", "b"};
  clock_.advance(absl::Seconds(2));
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(one.after_step(context_, {}));
    clock_.advance(absl::Seconds(2));
  }
  EXPECT_THAT(ahead_, ElementsAre("a", "b"));
  EXPECT_EQ(windows_.looks, 2);
}

TEST_F(WindowIoHookTest, AcknowledgesWhatACheckpointHolds) {
  WindowIoHook one = hook();
  ASSERT_OK(one.start(context_));
  finish(one, window(0, {"in/a"}));
  finish(one, window(1, {}, "it is damaged"));
  EXPECT_EQ(record(), "");
  checkpoint(one, 1);
  EXPECT_EQ(record(), "{\"window\":0,\"name\":\"w0\",\"step\":10,\"files\":[\"in/a\"]}\n");
  checkpoint(one, 1);
  checkpoint(one, 2);
  EXPECT_THAT(record(), HasSubstr("{\"window\":1,\"name\":\"w1\",\"step\":20,\"files\":[],"
                                  "\"damage\":\"it is damaged\"}\n"));
  HookState state;
  ASSERT_OK(one.save_state(state));
  EXPECT_EQ(state.bytes, "");
}

TEST_F(WindowIoHookTest, ARunThatGoesOnAcknowledgesWhatItsCheckpointHolds) {
  WindowIoHook one = hook();
  ASSERT_OK(one.start(context_));
  finish(one, window(0));
  finish(one, window(1));
  HookState state;
  ASSERT_OK(one.save_state(state));
  // Killed before an acknowledgement, or within a line.
  files_.put("out/windows.jsonl", "{\"window\":0}\n{\"wind");
  WindowIoHook two = hook();
  ASSERT_OK(two.load_state({&state, 1}));
  ASSERT_OK(two.start(context_));
  EXPECT_EQ(record(), "{\"window\":0}\n{\"window\":1,\"name\":\"w1\",\"step\":20,\"files\":[]}\n");
}

TEST_F(WindowIoHookTest, FilesAreMovedOnceNoCheckpointNeedsThem) {
  int64_t oldest = 0;
  options_.move_done_to = "done";
  options_.move_damaged_to = "bad";
  options_.roots = {"in"};
  options_.oldest_windows = [&oldest]() -> absl::StatusOr<int64_t> { return oldest; };
  for (const char* name : {"in/a", "in/d/b", "other/c", "in/bad"}) files_.put(name, "x");
  WindowIoHook one = hook();
  ASSERT_OK(one.start(context_));
  finish(one, window(0, {"in/a", "in/gone"}));
  finish(one, window(1, {"in/d/b", "other/c"}));
  finish(one, window(2, {"in/bad"}, "damaged"));
  checkpoint(one, 3);
  EXPECT_TRUE(exists("in/a"));
  oldest = 1;
  checkpoint(one, 3);
  EXPECT_TRUE(exists("done/a"));
  EXPECT_TRUE(exists("in/d/b"));
  HookState state;
  ASSERT_OK(one.save_state(state));
  WindowIoHook two = hook();
  ASSERT_OK(two.load_state({&state, 1}));
  ASSERT_OK(two.start(context_));
  oldest = 3;
  checkpoint(two, 3);
  EXPECT_TRUE(exists("done/d/b") && exists("done/c") && exists("bad/bad"));
  EXPECT_FALSE(exists("in/d/b") || exists("in/bad"));
}

TEST_F(WindowIoHookTest, NothingIsReplaced) {
  options_.move_done_to = "done";
  options_.oldest_windows = []() -> absl::StatusOr<int64_t> { return 9; };
  files_.put("in/a", "new");
  files_.put("done/a", "old");
  WindowIoHook one = hook();
  ASSERT_OK(one.start(context_));
  finish(one, window(0, {"in/a"}));
  checkpoint(one, 1);
  EXPECT_THAT(read_file(files_, "done/a"), IsOkAndHolds("old"));
  EXPECT_TRUE(exists("in/a"));
}

// Each directory below the root is a disk.
class Disks : public MemoryFileSystem {
 public:
  absl::Status rename(const std::string& from, const std::string& to) override {
    if (from.substr(0, from.find('/')) != to.substr(0, to.find('/'))) {
      return absl::PermissionDeniedError("Invalid cross-device link");
    }
    return MemoryFileSystem::rename(from, to);
  }
};

TEST_F(WindowIoHookTest, AMoveToAnotherDiskIsRefusedBeforeTheFirstStep) {
  Disks disks;
  disks.put("in/a", "x");
  options_.oldest_windows = []() -> absl::StatusOr<int64_t> { return 9; };
  const auto refused = [](const std::string& field) {
    return StatusIs(absl::StatusCode::kPermissionDenied,
                    AllOf(HasSubstr("run.window_io." + field), HasSubstr("same file system")));
  };
  const auto before = disks.fingerprint();
  options_.move_damaged_to = "bad";
  for (const bool has_roots : {true, false}) {
    options_.roots = has_roots ? std::vector<std::string>{"in"} : std::vector<std::string>{};
    WindowIoHook one(options_, windows_, disks, clock_);
    absl::Status status = one.start(context_);
    if (!has_roots) {
      ASSERT_OK(status);
      status = one.before_window(context_, window(0, {"in/a"}));
    }
    EXPECT_THAT(status, refused("move_damaged_to"));
  }
  options_.move_damaged_to = "in/bad";
  options_.roots = {"in", "not/there/yet"};
  WindowIoHook good(options_, windows_, disks, clock_);
  EXPECT_OK(good.start(context_));
  ASSERT_OK(disks.remove("bad"));
  ASSERT_OK(disks.remove("in/bad"));
  EXPECT_EQ(disks.fingerprint(), before) << "no trial stays";
}

TEST_F(WindowIoHookTest, OtherRanksDoNothing) {
  context_.rank_is = 1;
  windows_.files = {"a"};
  WindowIoHook one = hook();
  ASSERT_OK(one.start(context_));
  ASSERT_OK(one.before_window(context_, window(0)));
  finish(one, window(0));
  checkpoint(one, 1);
  EXPECT_THAT(ahead_, IsEmpty());
  EXPECT_EQ(record(), "");
}

TEST_F(WindowIoHookTest, DamagedStateIsRefused) {
  HookState state{.version = 1, .bytes = "\xff\xff"};
  EXPECT_THAT(hook().load_state({&state, 1}), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace millrace
