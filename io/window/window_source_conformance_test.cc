// Checks the promises of window sources for each kind of WindowsConfig, and checks the suite with a
// source breaking a promise.

#include "io/window/window_source_conformance.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "io/window/directory_window_source.h"
#include "io/window/window_source_registry.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

constexpr int kParts = 3;

// Each file has five rows.
absl::StatusOr<int64_t> count_rows(const std::string&) { return 5; }

// The source that a configuration names.
std::function<std::unique_ptr<WindowSource>(MemoryFileSystem&)> source_of(const char* text) {
  return [text](MemoryFileSystem& files) {
    DataConfig data;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &data));
    auto source = window_source_registry().create(
        data.windows(), WindowSourceInput{&files, data, count_rows}, kTakenNames);
    EXPECT_OK(source);
    return *std::move(source);
  };
}

// Puts the names of a part into a directory, with the mark of the end behind the last part.
void put_files(MemoryFileSystem& files, int part) {
  for (const char* name : {"a", "b", "c"}) files.put(absl::StrCat("in/", part, name), "x");
  if (part + 1 == kParts) files.put("in/_END", "");
}

// Puts two hours of a day.
void put_hours(MemoryFileSystem& files, int part) {
  for (int hour = 2 * part; hour < 2 * part + 2; ++hour) {
    const std::string directory = absl::StrFormat("logs/dt=20260131/hh=%02d", hour);
    files.put(absl::StrCat(directory, "/a.csv"), "x");
    files.put(absl::StrCat(directory, "/b.csv"), "x");
    files.put(absl::StrCat(directory, "/_SUCCESS"), "");
  }
}

WindowSourceConformance list(const char* text) {
  return {.make = source_of(text), .arrive = put_files, .parts = 1};
}
WindowSourceConformance directory(const char* text) {
  return {.make = source_of(text), .arrive = put_files, .parts = kParts};
}

[[maybe_unused]] const bool kList =
    register_window_source_conformance("List", list("path: 'in/*' windows { files: 2 }"));
[[maybe_unused]] const bool kListOfRows =
    register_window_source_conformance("ListOfRows", list("path: 'in/*' windows { rows: 4 }"));
[[maybe_unused]] const bool kDirectory = register_window_source_conformance(
    "Directory", directory("windows { directory { path: 'in' } }"));
[[maybe_unused]] const bool kDirectoryOfTwo = register_window_source_conformance(
    "DirectoryOfTwo", directory("windows { files: 2 directory { path: 'in' } }"));
[[maybe_unused]] const bool kDirectoryOfRows = register_window_source_conformance(
    "DirectoryOfRows", directory("windows { rows: 4 directory { path: 'in' } }"));
[[maybe_unused]] const bool kTime = register_window_source_conformance(
    "Time", {.make = source_of("windows { time { path: 'logs/dt=%Y%m%d/hh=%H' "
                               "start: '2026-01-31T00:00:00Z' end: '2026-01-31T06:00:00Z' } }"),
             .arrive = put_hours,
             .parts = kParts});

// A window for each file of a directory, by name. The position is the last name. Breaks one promise
// if told to.
class FaultySource : public WindowSource {
 public:
  enum class Fault {
    kNone,
    kRemembersWindows,
    kSetsTheIndex,
    kNamesItsWait,
    kRepeatsFiles,
    kIgnoresThePositionFirst,
    kNamesMissingFiles,
    kWaitsAfterTheEnd,
    kWaitsForever,
    kFailsAtShortState,
    kMakesUpAWindow,
    kFailsWithAnotherCode,
    kChangesBeforeItRefuses,
    kWaitsForNothing,
    kSeesNothing,
    kSeesTooMuch,
  };
  FaultySource(Fault fault, FileSystem& files) : fault_(fault), files_(files) {}

  absl::StatusOr<Found> find(bool no_more, WindowPosition& position) override {
    ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, files_.list("in"));
    const std::string last = position_of(position);
    const auto is_last = [&](const DirectoryEntry& entry) { return entry.name == last; };
    const bool damaged = !last.empty() && std::none_of(entries.begin(), entries.end(), is_last);
    if (damaged && fault_ == Fault::kFailsWithAnotherCode) return absl::DataLossError("state");
    if (damaged && fault_ == Fault::kChangesBeforeItRefuses) {
      position.set_name("refused");
      return absl::InvalidArgumentError("state");
    }
    if (damaged && fault_ == Fault::kMakesUpAWindow) {
      set_window("made up", last, position);
      return Found::kWindow;
    }
    for (const DirectoryEntry& entry : entries) {
      if (entry.name == "_END" || entry.name <= last) continue;
      if (fault_ == Fault::kRemembersWindows && !given_.insert(entry.name).second) continue;
      set_window(entry.name, last, position);
      return Found::kWindow;
    }
    if (fault_ == Fault::kSeesTooMuch) ++seen_;
    const bool ended = (no_more && fault_ != Fault::kWaitsForever) || files_.info("in/_END").ok();
    if (ended && fault_ == Fault::kWaitsAfterTheEnd && ended_) return Found::kNotYet;
    ended_ = ended;
    if (ended) return Found::kEnded;
    if (fault_ == Fault::kNamesItsWait) position.set_name("waits");
    return Found::kNotYet;
  }
  std::string path_of(const std::string& name) const override {
    return absl::StrCat(fault_ == Fault::kNamesMissingFiles ? "out/" : "in/", name);
  }
  const std::string& waits_for() const override { return waits_for_; }
  int64_t seen() const override { return fault_ == Fault::kSeesNothing ? 0 : seen_; }

 private:
  // The last name that was taken.
  std::string position_of(const WindowPosition& position) {
    const bool first = !std::exchange(asked_, true);
    if (first && fault_ == Fault::kIgnoresThePositionFirst) return "";
    if (fault_ == Fault::kFailsAtShortState && position.custom().size() == 1) {
      throw std::out_of_range("state");
    }
    return position.custom();
  }
  void set_window(const std::string& name, const std::string& last, WindowPosition& position) {
    position.set_name(name);
    position.set_custom(name);
    position.clear_file();
    position.add_file()->set_name(name);
    if (fault_ == Fault::kRepeatsFiles && !last.empty()) position.add_file()->set_name(last);
    if (fault_ == Fault::kSetsTheIndex) position.set_index(position.index() + 1);
    ++seen_;
  }

  const Fault fault_;
  FileSystem& files_;
  const std::string waits_for_ = fault_ == Fault::kWaitsForNothing ? "" : "files in in";
  std::set<std::string> given_;
  bool asked_ = false, ended_ = false;
  int64_t seen_ = 0;
};

std::vector<std::string> failing(FaultySource::Fault fault) {
  return failing_properties(window_source_properties(
      {.make =
           [=](MemoryFileSystem& files) { return std::make_unique<FaultySource>(fault, files); },
       .arrive = put_files,
       .parts = kParts}));
}

TEST(WindowSourceConformanceTest, EachFaultFailsItsProperty) {
  using Fault = FaultySource::Fault;
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kRemembersWindows), IsSupersetOf({"FindsAWindowAgain"}));
  EXPECT_THAT(failing(Fault::kSetsTheIndex), ElementsAre("SetsItsFieldsAlone"));
  EXPECT_THAT(failing(Fault::kNamesItsWait), ElementsAre("LeavesAPositionWithoutAWindow"));
  EXPECT_THAT(failing(Fault::kRepeatsFiles), IsSupersetOf({"RepeatsNoFile"}));
  EXPECT_THAT(failing(Fault::kIgnoresThePositionFirst),
              IsSupersetOf({"ContinuesFromEachPosition", "StaysEnded"}));
  EXPECT_THAT(failing(Fault::kNamesMissingFiles), ElementsAre("KnowsWhereFilesAre"));
  EXPECT_THAT(failing(Fault::kWaitsAfterTheEnd), IsSupersetOf({"StaysEnded"}));
  EXPECT_THAT(failing(Fault::kWaitsForever), ElementsAre("EndsIfNothingMoreIsWaitedFor"));
  EXPECT_THAT(failing(Fault::kFailsAtShortState), ElementsAre("RefusesDamagedState"));
  EXPECT_THAT(failing(Fault::kMakesUpAWindow), ElementsAre("RefusesDamagedState"));
  EXPECT_THAT(failing(Fault::kFailsWithAnotherCode), ElementsAre("RefusesDamagedState"));
  EXPECT_THAT(failing(Fault::kChangesBeforeItRefuses), ElementsAre("RefusesDamagedState"));
  EXPECT_THAT(failing(Fault::kWaitsForNothing), ElementsAre("SaysWhatItWaitsFor"));
  EXPECT_THAT(failing(Fault::kSeesNothing), ElementsAre("SeesWhatIsNew"));
  EXPECT_THAT(failing(Fault::kSeesTooMuch), ElementsAre("SeesWhatIsNew"));
}

}  // namespace
}  // namespace millrace
