#include "io/window/window_source_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

// The most windows that a stream of the suite may have.
constexpr size_t kMaxWindows = 10'000;

// A stream of which a number of parts has arrived.
class Stream {
 public:
  Stream(const WindowSourceConformance& c, int parts) : c_(c) {
    while (arrived_ < parts) arrive();
  }
  MemoryFileSystem& files() { return files_; }
  std::unique_ptr<WindowSource> source() { return c_.make(files_); }
  bool has_all() const { return arrived_ == c_.parts; }
  void arrive() { c_.arrive(files_, arrived_++); }

 private:
  const WindowSourceConformance& c_;
  MemoryFileSystem files_;
  int arrived_ = 0;
};

Stream whole_stream(const WindowSourceConformance& c) { return Stream(c, c.parts); }

// A position as its owner keeps it, with fields that sources do not own.
WindowPosition beginning() {
  WindowPosition position;
  position.set_index(7);
  position.set_repeat(2);
  position.set_last_repeat(true);
  return position;
}

// A position after a checkpoint.
WindowPosition restored(const WindowPosition& position) {
  WindowPosition restored;
  EXPECT_TRUE(restored.ParseFromString(position.SerializeAsString()));
  return restored;
}

// The window of a position: its name, its files and its rows.
std::string window_of(const WindowPosition& position) {
  std::string text = absl::StrCat(position.name(), ":");
  for (const WindowPosition::File& file : position.file()) absl::StrAppend(&text, " ", file.name());
  return absl::StrCat(text, " [", position.begin_row(), ", ", position.end_row(), ")");
}

// Finds windows from `position` on until there is none. Returns the position of each of them, and
// sets `end` to the last result. Errors: as find().
absl::StatusOr<std::vector<WindowPosition>> find_all(WindowSource& source, WindowPosition position,
                                                     Found* end, bool no_more = false) {
  std::vector<WindowPosition> windows;
  while (windows.size() < kMaxWindows) {
    ASSIGN_OR_RETURN(*end, source.find(no_more, position));
    if (*end != Found::kWindow) return windows;
    windows.push_back(position);
  }
  return absl::OutOfRangeError("windows without an end");
}

std::vector<std::string> windows_of(const std::vector<WindowPosition>& positions) {
  std::vector<std::string> windows;
  for (const WindowPosition& position : positions) windows.push_back(window_of(position));
  return windows;
}

// Expects that the source of a whole stream ends, and returns its windows.
std::vector<WindowPosition> all_windows(WindowSource& source, const WindowPosition& from) {
  Found end = Found::kNotYet;
  const absl::StatusOr<std::vector<WindowPosition>> windows = find_all(source, from, &end);
  EXPECT_OK(windows);
  EXPECT_EQ(end, Found::kEnded);
  return windows.ok() ? *windows : std::vector<WindowPosition>();
}

void check_again(const WindowSourceConformance& c) {
  Stream stream = whole_stream(c);
  const auto source = stream.source();
  WindowPosition position = beginning();
  for (size_t window = 0; window < kMaxWindows; ++window) {
    WindowPosition first = position, second = position;
    ASSERT_OK_AND_ASSIGN(const Found found, source->find(false, first));
    EXPECT_THAT(source->find(false, second), IsOkAndHolds(found)) << "window " << window;
    EXPECT_EQ(first.SerializeAsString(), second.SerializeAsString()) << "window " << window;
    if (found != Found::kWindow) return;
    // Also after finding the next window.
    WindowPosition next = first, third = position;
    ASSERT_OK(source->find(false, next));
    ASSERT_OK(source->find(false, third));
    EXPECT_EQ(window_of(third), window_of(first)) << "window " << window;
    position = first;
  }
  FAIL() << "the stream does not end";
}

void check_fields(const WindowSourceConformance& c) {
  Stream stream = whole_stream(c);
  const auto source = stream.source();
  for (const WindowPosition& position : all_windows(*source, beginning())) {
    EXPECT_FALSE(position.name().empty());
    for (const WindowPosition::File& file : position.file()) {
      EXPECT_FALSE(file.name().empty()) << "in window " << position.name();
      EXPECT_FALSE(file.has_digest()) << file.name();
    }
    EXPECT_EQ(position.index(), beginning().index()) << position.name();
    EXPECT_EQ(position.repeat(), beginning().repeat()) << position.name();
    EXPECT_EQ(position.last_repeat(), beginning().last_repeat()) << position.name();
    EXPECT_FALSE(position.has_damage() || position.has_ended()) << position.name();
    EXPECT_EQ(position.part_size(), 0) << position.name();
  }
}

// Looks for a window where there is none: before each part arrives, and at the end.
void check_unchanged(const WindowSourceConformance& c) {
  Stream stream(c, 1);
  const auto source = stream.source();
  WindowPosition position = beginning();
  while (true) {
    Found end = Found::kWindow;
    ASSERT_OK_AND_ASSIGN(const auto windows, find_all(*source, position, &end));
    if (!windows.empty()) position = windows.back();
    WindowPosition after = position;
    ASSERT_OK_AND_ASSIGN(const Found found, source->find(false, after));
    EXPECT_EQ(found, end);
    EXPECT_EQ(after.SerializeAsString(), position.SerializeAsString())
        << "after window " << position.name();
    if (stream.has_all()) return;
    EXPECT_EQ(end, Found::kNotYet) << "parts are still to arrive";
    stream.arrive();
  }
}

void check_repeats(const WindowSourceConformance& c) {
  Stream stream = whole_stream(c);
  const auto source = stream.source();
  std::set<std::string> taken;
  WindowPosition before;
  for (const WindowPosition& position : all_windows(*source, beginning())) {
    // The last files of a window may have rows that are left.
    const int rest = std::min(before.rest_files(), before.file_size());
    for (int i = 0; i < position.file_size(); ++i) {
      const std::string& name = position.file(i).name();
      const int place = before.file_size() - rest + i;
      if (i < rest && before.file(place).name() == name) continue;
      EXPECT_TRUE(taken.insert(name).second)
          << name << " is in window " << position.name() << " and in one before";
    }
    before = position;
  }
  EXPECT_FALSE(taken.empty()) << "no window has a file";
}

void check_continues(const WindowSourceConformance& c) {
  Stream stream = whole_stream(c);
  const auto source = stream.source();
  const std::vector<WindowPosition> windows = all_windows(*source, beginning());
  const std::vector<std::string> expected = windows_of(windows);
  EXPECT_GE(windows.size(), static_cast<size_t>(c.parts));
  EXPECT_EQ(windows_of(all_windows(*stream.source(), beginning())), expected) << "a second source";
  for (size_t i = 0; i < windows.size(); ++i) {
    EXPECT_EQ(
        windows_of(all_windows(*stream.source(), restored(windows[i]))),
        std::vector<std::string>(expected.begin() + static_cast<int64_t>(i) + 1, expected.end()))
        << "from window " << windows[i].name();
  }
}

void check_paths(const WindowSourceConformance& c) {
  Stream stream = whole_stream(c);
  const auto source = stream.source();
  for (const WindowPosition& position : all_windows(*source, beginning())) {
    for (const WindowPosition::File& file : position.file()) {
      EXPECT_OK(stream.files().open(source->path_of(file.name())).status())
          << "file " << file.name() << " of window " << position.name();
    }
  }
}

void check_end(const WindowSourceConformance& c) {
  Stream stream = whole_stream(c);
  const auto source = stream.source();
  const std::vector<WindowPosition> windows = all_windows(*source, beginning());
  WindowPosition last = windows.empty() ? beginning() : windows.back();
  for (const bool no_more : {false, true, false, false}) {
    EXPECT_THAT(source->find(no_more, last), IsOkAndHolds(Found::kEnded));
    EXPECT_THAT(stream.source()->find(no_more, last), IsOkAndHolds(Found::kEnded))
        << "a new source";
  }
}

void check_no_more(const WindowSourceConformance& c) {
  for (int parts = 1; parts <= c.parts; ++parts) {
    Stream stream(c, parts);
    const auto source = stream.source();
    Found end = Found::kNotYet;
    ASSERT_OK_AND_ASSIGN(const auto windows, find_all(*source, beginning(), &end, true));
    EXPECT_EQ(end, Found::kEnded) << "after " << parts << " parts";
    EXPECT_GE(windows.size(), static_cast<size_t>(parts)) << "after " << parts << " parts";
  }
}

void check_damaged(const WindowSourceConformance& c) {
  Stream stream = whole_stream(c);
  const std::vector<WindowPosition> positions = all_windows(*stream.source(), beginning());
  const std::vector<std::string> windows = windows_of(positions);
  for (const WindowPosition& position : positions) {
    const std::string& custom = position.custom();
    std::vector<std::string> damaged = {"", "x", custom + "x", std::string(1000, '\xff')};
    for (size_t size = 0; size < custom.size(); ++size) {
      damaged.push_back(custom.substr(0, size));
      damaged.push_back(custom);
      damaged.back()[size] = static_cast<char>(damaged.back()[size] ^ 0x41);
    }
    for (const std::string& bytes : damaged) {
      WindowPosition changed = position;
      changed.set_custom(bytes);
      const WindowPosition before = changed;
      const auto found = stream.source()->find(false, changed);
      if (found.ok()) {
        // A source may not notice the damage, but it must not make up a window.
        if (*found != Found::kWindow) continue;
        EXPECT_THAT(windows, testing::Contains(window_of(changed)));
        continue;
      }
      EXPECT_THAT(found, StatusIs(absl::StatusCode::kInvalidArgument));
      EXPECT_EQ(changed.SerializeAsString(), before.SerializeAsString()) << "after an error";
    }
  }
}

void check_waits(const WindowSourceConformance& c) {
  Stream stream(c, 1);
  const auto source = stream.source();
  WindowPosition position = beginning();
  for (; !stream.has_all(); stream.arrive()) {
    Found end = Found::kWindow;
    ASSERT_OK_AND_ASSIGN(const auto windows, find_all(*source, position, &end));
    if (!windows.empty()) position = windows.back();
    ASSERT_EQ(end, Found::kNotYet);
    EXPECT_FALSE(source->waits_for().empty()) << "after window " << position.name();
  }
}

void check_seen(const WindowSourceConformance& c) {
  Stream stream(c, 1);
  const auto source = stream.source();
  WindowPosition position = beginning();
  while (!stream.has_all()) {
    Found end = Found::kWindow;
    ASSERT_OK_AND_ASSIGN(const auto windows, find_all(*source, position, &end));
    if (!windows.empty()) position = windows.back();
    const int64_t seen = source->seen();
    ASSERT_OK(source->find(false, position));
    EXPECT_EQ(source->seen(), seen) << "without news, after window " << position.name();
    stream.arrive();
    WindowPosition next = position;
    EXPECT_THAT(source->find(false, next), IsOkAndHolds(Found::kWindow));
    EXPECT_NE(source->seen(), seen) << "a part arrived after window " << position.name();
  }
}

}  // namespace

std::vector<Property> window_source_properties(const WindowSourceConformance& conformance) {
  const auto property = properties_of(conformance);
  std::vector<Property> properties = {
      property("FindsAWindowAgain", check_again),
      property("SetsItsFieldsAlone", check_fields),
      property("LeavesAPositionWithoutAWindow", check_unchanged),
      property("RepeatsNoFile", check_repeats),
      property("ContinuesFromEachPosition", check_continues),
      property("KnowsWhereFilesAre", check_paths),
      property("StaysEnded", check_end),
      property("EndsIfNothingMoreIsWaitedFor", check_no_more),
      property("RefusesDamagedState", check_damaged),
  };
  if (conformance.parts > 1) {
    properties.push_back(property("SaysWhatItWaitsFor", check_waits));
    properties.push_back(property("SeesWhatIsNew", check_seen));
  }
  return properties;
}

bool register_window_source_conformance(const std::string& suite,
                                        const WindowSourceConformance& conformance,
                                        std::source_location place) {
  return register_properties(suite, window_source_properties(conformance), place);
}

}  // namespace millrace
