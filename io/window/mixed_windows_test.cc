// Windows of several sources that are mixed by proportion.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "base/mutex.h"
#include "io/window/windowed_files_testing.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Ids = std::map<int64_t, std::vector<int64_t>>;

// Ids below 1000 are of "log", those from 1000 on of "survey".
class MixedWindowsTest : public WindowedFilesCase {
 protected:
  MixedWindowsTest() {
    EXPECT_OK(files_.create_directories("log"));
    EXPECT_OK(files_.create_directories("survey"));
  }
  void log(const std::string& name, int64_t first, int64_t rows) {
    files_.put("log/" + name, csv(first, rows));
  }
  void survey(const std::string& name, int64_t first, int64_t rows) {
    files_.put("survey/" + name, csv(1000 + first, rows));
  }
  // More of the configuration.
  struct More {
    std::string mix = "until: ALL_END", log = "", log_windows = "", survey = "",
                survey_windows = "", survey_source = "";
  };
  // Three of the log for each of the survey.
  static std::string text_of(const More& more) {
    constexpr char kText[] =
        "batch_size: 4 mix { $0 "
        "source { name: 'log' proportion: 3 data { format: CSV shuffle_rows: 100 "
        "windows { directory { path: 'log' } $2 } $1 } } "
        "source { name: 'survey' proportion: 1 $5 data { format: CSV shuffle_rows: 100 "
        "windows { directory { path: 'survey' } $4 } $3 } } }";
    return absl::Substitute(kText, more.mix, more.log, more.log_windows, more.survey,
                            more.survey_windows, more.survey_source);
  }
  static std::string text_of() { return text_of(More()); }
  std::unique_ptr<WindowedDataset> begun_mix(const std::string& text) {
    auto data = open(options_of(text));
    EXPECT_OK(data->start_epoch(0));
    return data;
  }
  static int64_t of_survey(const std::vector<int64_t>& ids) {
    return std::count_if(ids.begin(), ids.end(), [](int64_t id) { return id >= 1000; });
  }
};

TEST_F(MixedWindowsTest, AWindowIsOneOfEachSource) {
  const auto data = begun_mix(text_of());
  log("a", 0, 12);
  WindowState::Kind end;
  EXPECT_THAT(read_all(*data, &end), IsOkAndHolds(IsEmpty()));
  EXPECT_EQ(end, WindowState::kNotYet) << "the survey has none yet";
  survey("x", 0, 4);
  log("b", 12, 6);
  survey("y", 4, 2);
  ASSERT_OK_AND_ASSIGN(const auto steps, read_all(*data, &end));
  ASSERT_EQ(steps.size(), 6u);
  for (const Step& step : steps) {
    EXPECT_EQ(of_survey(step.ids), step.ids.size() == 4 ? 1 : of_survey(step.ids)) << text({step});
  }
  Ids expected = {{0, range(0, 12)}, {1, range(12, 6)}};
  for (int64_t id = 1000; id < 1004; ++id) expected[0].push_back(id);
  for (int64_t id = 1004; id < 1006; ++id) expected[1].push_back(id);
  EXPECT_EQ(by_window(steps), expected);
}

TEST_F(MixedWindowsTest, NamesAndFilesAreThoseOfAll) {
  log("a", 0, 3);
  survey("x", 0, 1);
  const auto data = begun_mix(text_of({.log_windows = "repeat: 2"}));
  EXPECT_THAT(data->upcoming_files(), ElementsAre("log/a", "survey/x"));
  ASSERT_OK_AND_ASSIGN(const WindowState state, data->next_window());
  EXPECT_EQ(state.window.name, "a + x");
  EXPECT_THAT(state.window.files, ElementsAre("survey/x")) << "the log comes once more";
  survey("y", 1, 1);
  ASSERT_OK_AND_ASSIGN(const WindowState next, data->next_window());
  EXPECT_EQ(next.window.name, "a + y");
  EXPECT_THAT(next.window.files, ElementsAre("log/a", "survey/y"));
  EXPECT_EQ(next.window.index, 1);
}

TEST_F(MixedWindowsTest, TheFirstEndOrTheLastEndsTheStream) {
  for (int i = 0; i < 3; ++i) log(absl::StrCat("a", i), 4 * i, 4);
  survey("x", 0, 2);
  files_.put("log/_END", "");
  files_.put("survey/_END", "");
  WindowState::Kind end;
  ASSERT_OK_AND_ASSIGN(const auto first,
                       read_all(*begun_mix(text_of({.mix = "until: FIRST_ENDS"})), &end));
  EXPECT_EQ(end, WindowState::kEnded);
  EXPECT_EQ(by_window(first).size(), 1u);
  ASSERT_OK_AND_ASSIGN(const auto all, read_all(*begun_mix(text_of()), &end));
  EXPECT_EQ(end, WindowState::kEnded);
  EXPECT_EQ(by_window(all),
            (Ids{{0, {0, 1, 2, 3, 1000, 1001}}, {1, range(4, 4)}, {2, range(8, 4)}}));
}

TEST_F(MixedWindowsTest, GoesOnFromEveryBatch) {
  for (int i = 0; i < 4; ++i) log(absl::StrCat("a", i), 30 * i, 14 + i);
  for (int i = 0; i < 3; ++i) survey(absl::StrCat("x", i), 10 * i, 5 - i);
  survey("x3", 0, 0);
  files_.put("log/_END", "");
  files_.put("survey/_END", "");
  for (const std::string& of : {text_of(), text_of({.mix = "until: FIRST_ENDS"}),
                                text_of({.log_windows = "rows: 9 repeat: 2"}),
                                text_of({.survey_source = "repeat: true"})}) {
    SCOPED_TRACE(of);
    expect_to_go_on_from_every_batch(options_of(of), 10);
  }
}

TEST_F(MixedWindowsTest, ASourceWithoutWindowsRepeatsBesideThem) {
  files_.put("more.csv", csv(1000, 5));
  for (int i = 0; i < 2; ++i) log(absl::StrCat("a", i), 30 * i, 12);
  const std::string of = absl::StrCat(
      "batch_size: 4 mix { source { proportion: 1 data { format: CSV path: 'more.csv' } repeat: "
      "true } "
      "source { proportion: 1 data { format: CSV windows { directory { path: 'log' } } } } }");
  ASSERT_OK_AND_ASSIGN(const auto steps, read_all(*begun_mix(of)));
  ASSERT_EQ(steps.size(), 12u);
  for (const Step& step : steps) EXPECT_EQ(of_survey(step.ids), 2);
}

TEST_F(MixedWindowsTest, PartsWithoutRowsOrDamagedOnesAreMissing) {
  log("a", 0, 0);
  log("b", 0, 3);
  log("c", 3, 3);
  log("d", 0, 0);
  survey("w", 0, 2);
  files_.put("survey/x", "other,columns\n1,2\n");
  survey("y", 2, 1);
  survey("z", 0, 0);
  EXPECT_THAT(read_all(*begun_mix(text_of())),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("window 1 (b + x)"), HasSubstr("survey/x"))));
  const std::string skip = text_of({.survey = "bad_data: SKIP"});
  ASSERT_OK_AND_ASSIGN(const auto steps, read_all(*begun_mix(skip)));
  EXPECT_EQ(by_window(steps), (Ids{{0, {1000, 1001}}, {1, range(0, 3)}, {2, {3, 4, 5, 1002}}}))
      << "3 is empty";
  // After a resume, the same part is missing.
  const auto again = open(options_of(skip));
  ASSERT_OK(again->seek({&steps[0].cursor, 1}));
  ASSERT_OK_AND_ASSIGN(const auto rest, read_all(*again));
  EXPECT_EQ(text(rest), text({steps.begin() + 1, steps.end()}));
}

// A part that was left out stays left out; if the files of a part disappear during training
// on its window, the rest of the window is left out, like a window of a single source.
TEST_F(MixedWindowsTest, GoesOnInAWindowWithoutAPart) {
  log("a", 0, 12);
  files_.put("survey/x", "other,columns\n1,2\n");
  log("b", 12, 12);
  survey("y", 0, 4);
  log("c", 24, 4);
  survey("z", 4, 4);
  const std::string skip = text_of({.log = "bad_data: SKIP", .survey = "bad_data: SKIP"});
  ASSERT_OK_AND_ASSIGN(const auto steps, read_all(*begun_mix(skip)));
  EXPECT_EQ(by_window(steps)[0], range(0, 12));
  survey("x", 8, 4);  // mended, but the window began without it
  const auto again = open(options_of(skip));
  ASSERT_OK(again->seek({&steps[0].cursor, 1}));
  ASSERT_OK_AND_ASSIGN(const auto rest, read_all(*again));
  EXPECT_EQ(text(rest), text({steps.begin() + 1, steps.end()}));
  ASSERT_EQ(steps[3].window, 1);
  ASSERT_OK(files_.remove("survey/y"));
  const auto gone = open(options_of(skip));
  ASSERT_OK(gone->seek({&steps[3].cursor, 1}));
  ASSERT_OK_AND_ASSIGN(const WindowState state, gone->next_window());
  EXPECT_THAT(state.window.damage, HasSubstr("survey/y"));
  EXPECT_THAT(state.window.files, ElementsAre("survey/y"));
  ASSERT_OK_AND_ASSIGN(const auto after, read_all(*gone));
  EXPECT_EQ(by_window(after).count(1), 0u);
  EXPECT_EQ(by_window(after).count(2), 1u);
}

TEST_F(MixedWindowsTest, StreamsThatRepeatMakeNoWindowsAlone) {
  log("a", 0, 4);
  for (int i = 0; i < 3; ++i) survey(absl::StrCat("x", i), 4 * i, 4);
  files_.put("log/_END", "");
  WindowState::Kind end;
  ASSERT_OK_AND_ASSIGN(const auto steps,
                       read_all(*begun_mix(text_of({.survey_source = "repeat: true"})), &end));
  EXPECT_EQ(end, WindowState::kEnded);
  EXPECT_EQ(by_window(steps).size(), 1u);
}

TEST_F(MixedWindowsTest, OnlyNewDataIsReadBeforeItIsTrainedOn) {
  files_.put("more.csv", csv(5000, 5));
  log("a", 0, 4);
  survey("x", 0, 2);
  survey("y", 2, 2);
  const std::string of =
      absl::StrReplaceAll(text_of({.log_windows = "repeat: 2", .survey_source = "repeat: true"}),
                          {{"mix { ",
                            "mix { source { proportion: 1 repeat: true data { format: CSV path: "
                            "'more.csv' } } "}});
  const auto data = begun_mix(of);
  ASSERT_OK(data->next_window().status());
  const std::string number = "i1";
  ASSERT_OK_AND_ASSIGN(const auto again, data->open_window_again({&number, 1}));
  ASSERT_NE(again, nullptr);
  ASSERT_OK(again->start_epoch(0));
  std::vector<int64_t> ids;
  while (true) {
    ASSERT_OK_AND_ASSIGN(const auto batch, again->next());
    if (!batch.has_value()) break;
    EXPECT_EQ(batch->dense.size(1), 2) << "i1, and where it is missing";
    const int64_t* first = batch->example_ids.const_data_ptr<int64_t>();
    ids.insert(ids.end(), first, first + batch->size);
  }
  EXPECT_THAT(ids, testing::UnorderedElementsAre(0, 1, 2, 3, 1000, 1001));
  ASSERT_OK(data->next_window().status());
  EXPECT_THAT(data->open_window_again({}), IsOkAndHolds(testing::IsNull())) << "a was trained on";
}

TEST_F(MixedWindowsTest, DefaultIdsNumberTheFilesOfEachSource) {
  files_.put("more.csv", csv(0, 3));
  for (const char* name : {"a", "b", "c"}) log(name, 0, 4);
  files_.put("log/_END", "");
  const auto data = open(with_default_ids(
      options_of("batch_size: 4 mix { source { proportion: 1 data { format: CSV "
                 "windows { directory { path: 'log' } } } } "
                 "source { proportion: 1 repeat: true data { format: CSV path: 'more.csv' } } }")));
  ASSERT_OK(data->start_epoch(0));
  ASSERT_OK_AND_ASSIGN(const auto steps, read_all(*data));
  std::map<int64_t, std::set<int64_t>> numbers;  // of files, by window
  for (const Step& step : steps) {
    for (const int64_t id : step.ids) numbers[step.window].insert(id >> 40);
  }
  EXPECT_EQ(numbers, (std::map<int64_t, std::set<int64_t>>{{0, {0, 1}}, {1, {2, 1}}, {2, {4, 1}}}));
}

TEST_F(MixedWindowsTest, AWindowOfDamagedPartsIsDamaged) {
  log("a", 0, 3);
  files_.put("log/b", "other\n1\n");
  survey("x", 0, 1);
  files_.put("survey/y", "other\n1\n");
  const auto data = begun_mix(text_of({.log = "bad_data: SKIP", .survey = "bad_data: SKIP"}));
  ASSERT_OK(data->next_window().status());
  ASSERT_OK_AND_ASSIGN(const WindowState state, data->next_window());
  EXPECT_EQ(state.kind, WindowState::kReady);
  EXPECT_THAT(state.window.damage, HasSubstr("log/b"));
  EXPECT_THAT(data->next(), IsOkAndHolds(testing::Eq(std::nullopt)));
}

TEST_F(MixedWindowsTest, TheWindowOpenedAgainIsTheSame) {
  log("a", 0, 9);
  survey("x", 0, 3);
  const auto data = begun_mix(text_of());
  ASSERT_OK(data->next_window().status());
  ASSERT_OK_AND_ASSIGN(const auto again, data->open_window_again({}));
  ASSERT_NE(again, nullptr);
  ASSERT_OK(again->start_epoch(7));
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto mine, again->next());
    ASSERT_OK_AND_ASSIGN(const auto theirs, data->next());
    EXPECT_TRUE(mine->example_ids.equal(theirs->example_ids));
  }
}

TEST_F(MixedWindowsTest, APositionOfOtherSourcesIsRefused) {
  log("a", 0, 9);
  put("a", 0, 9);
  survey("x", 0, 3);
  ASSERT_OK_AND_ASSIGN(const auto mixed, read_all(*begun_mix(text_of())));
  const auto plain = open(options());
  EXPECT_THAT(plain->seek({&mixed[0].cursor, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2 sources with windows")));
  ASSERT_OK_AND_ASSIGN(const auto steps, read_all(*begun()));
  EXPECT_THAT(open(options_of(text_of()))->seek({&steps[0].cursor, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  log("a", 20, 9);
  const auto changed = open(options_of(text_of()));
  ASSERT_OK(changed->seek({&mixed[0].cursor, 1}));
  EXPECT_THAT(changed->next_window(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("log/a changed")));
}

// Each source is idle by itself.
TEST_F(MixedWindowsTest, ASourceThatIsIdleEnds) {
  log("a", 0, 3);
  survey("x", 0, 1);
  const auto data = begun_mix(text_of({.survey_windows = "idle_seconds: 10"}));
  WindowState::Kind end;
  ASSERT_OK(read_all(*data, &end));
  clock_.advance(absl::Seconds(11));
  ASSERT_OK(read_all(*data, &end));
  EXPECT_EQ(end, WindowState::kNotYet) << "the log may go on";
  log("b", 3, 3);
  ASSERT_OK_AND_ASSIGN(const auto rest, read_all(*data, &end));
  EXPECT_EQ(by_window(rest), (Ids{{1, range(3, 3)}}));
}

TEST_F(MixedWindowsTest, AllRanksLeaveOutTheSame) {
  log("a", 0, 20);
  survey("x", 0, 8);
  files_.put("log/b", "other\n1\n");
  files_.put("survey/y", "other\n1\n");
  log("c", 20, 20);
  files_.put("survey/z", "other\n1\n");
  const std::string skip = text_of({.log = "bad_data: SKIP", .survey = "bad_data: SKIP"});
  std::vector<std::vector<int64_t>> third(2);
  const auto statuses =
      on_ranks(options_of(skip), 2, [&](int rank, WindowedDataset& data) -> absl::Status {
        RETURN_IF_ERROR(data.start_epoch(0));
        RETURN_IF_ERROR(data.next_window().status());
        RETURN_IF_ERROR(data.next().status());  // and leaves the rest
        ASSIGN_OR_RETURN(const WindowState damaged, data.next_window());
        EXPECT_THAT(damaged.window.damage, HasSubstr("log/b"));
        EXPECT_THAT(data.open_window_again({}), IsOkAndHolds(testing::IsNull()));
        EXPECT_THAT(data.next(), IsOkAndHolds(testing::Eq(std::nullopt)));
        RETURN_IF_ERROR(data.next_window().status());
        while (true) {
          ASSIGN_OR_RETURN(const auto batch, data.next());
          if (!batch.has_value()) return absl::OkStatus();
          const int64_t* ids = batch->example_ids.const_data_ptr<int64_t>();
          third[rank].insert(third[rank].end(), ids, ids + batch->size);
        }
      });
  EXPECT_THAT(statuses, testing::Each(IsOk()));
  third[0].insert(third[0].end(), third[1].begin(), third[1].end());
  EXPECT_THAT(third[0], testing::UnorderedElementsAreArray(range(20, 20)));
}

// On two ranks, and then on three, every example of a window comes once.
TEST_F(MixedWindowsTest, AnotherNumberOfRanksGoesOnWithTheSameWindow) {
  for (int i = 0; i < 2; ++i) log(absl::StrCat("a", i), 40 * i, 33);
  for (int i = 0; i < 2; ++i) survey(absl::StrCat("x", i), 40 * i, 11);
  files_.put("log/_END", "");
  files_.put("survey/_END", "");
  std::vector<Cursor> cursors(2);
  std::multiset<int64_t> seen;
  Mutex mutex;
  const auto note = [&](const Batch& batch) {
    const int64_t* ids = batch.example_ids.const_data_ptr<int64_t>();
    MutexLock lock(mutex);
    seen.insert(ids, ids + batch.size);
  };
  const auto first =
      on_ranks(options_of(text_of()), 2, [&](int rank, WindowedDataset& data) -> absl::Status {
        RETURN_IF_ERROR(data.start_epoch(0));
        RETURN_IF_ERROR(data.next_window().status());
        for (int i = 0; i < 2 + rank; ++i) {
          ASSIGN_OR_RETURN(const auto batch, data.next());
          note(*batch);
          cursors[rank] = batch->cursor;
        }
        return absl::OkStatus();
      });
  EXPECT_THAT(first, testing::Each(IsOk()));
  const auto rest =
      on_ranks(options_of(text_of()), 3, [&](int, WindowedDataset& data) -> absl::Status {
        RETURN_IF_ERROR(data.seek(cursors));
        while (true) {
          ASSIGN_OR_RETURN(const WindowState state, data.next_window());
          if (state.kind != WindowState::kReady) return absl::OkStatus();
          while (true) {
            ASSIGN_OR_RETURN(const auto batch, data.next());
            if (!batch.has_value()) break;
            note(*batch);
          }
        }
      });
  EXPECT_THAT(rest, testing::Each(IsOk()));
  std::multiset<int64_t> expected;
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t id = 0; id < 33; ++id) expected.insert(40 * i + id);
    for (int64_t id = 0; id < 11; ++id) expected.insert(1000 + 40 * i + id);
  }
  EXPECT_EQ(seen, expected);
}

}  // namespace
}  // namespace millrace
