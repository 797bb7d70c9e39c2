#include "io/window/windowed_files.h"

#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <stdexcept>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/failure_kind.h"
#include "base/hash.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "io/data_identity.h"
#include "io/window/window_source_registry.h"
#include "io/window/windowed_files_testing.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WindowedFilesTest : public WindowedFilesCase {};

TEST_F(WindowedFilesTest, WindowsAsFilesCome) {
  const auto data = begun();
  WindowState::Kind end;
  EXPECT_THAT(read_all(*data, &end), IsOkAndHolds(IsEmpty()));
  EXPECT_EQ(end, WindowState::kNotYet);
  put("a", 0, 10);
  put("b", 10, 3);
  ASSERT_OK_AND_ASSIGN(const auto first, read_all(*data, &end));
  EXPECT_EQ(end, WindowState::kNotYet);
  EXPECT_EQ(by_window(first),
            (std::map<int64_t, std::vector<int64_t>>{{0, range(0, 10)}, {1, range(10, 3)}}));
  put("c", 13, 5);
  files_.put("in/_END", "");
  ASSERT_OK_AND_ASSIGN(const auto second, read_all(*data, &end));
  EXPECT_EQ(by_window(second), (std::map<int64_t, std::vector<int64_t>>{{2, range(13, 5)}}));
  EXPECT_EQ(end, WindowState::kEnded);
  EXPECT_THAT(data->next(), IsOkAndHolds(testing::Eq(std::nullopt)));
}

TEST_F(WindowedFilesTest, GoesOnFromEveryBatch) {
  for (const char* more : {"", "windows { files: 2 }", "windows { rows: 7 }",
                           "windows { repeat: 3 }", "windows { rows: 9 repeat: 2 }"}) {
    SCOPED_TRACE(more);
    for (int i = 0; i < 4; ++i) put(absl::StrCat("f", i), 20 * i, 11 + i);
    files_.put("in/_END", "");
    expect_to_go_on_from_every_batch(options(more), 12);
  }
}

TEST_F(WindowedFilesTest, AListBeginsAgainInAnotherOrder) {
  for (int i = 0; i < 3; ++i) put(absl::StrCat("f", i), 20 * i, 11);
  EXPECT_FALSE(open(options())->can_restart()) << "a directory may grow";
  const auto list = [this] {
    return open(options_of("path: 'in/f*' batch_size: 4 format: CSV shuffle_rows: 100 windows {}"));
  };
  const auto data = list();
  EXPECT_TRUE(data->can_restart());
  const auto ids_of = [](const std::vector<Step>& steps, size_t first = 0) {
    std::vector<int64_t> ids;
    for (size_t i = first; i < steps.size(); ++i) {
      ids.insert(ids.end(), steps[i].ids.begin(), steps[i].ids.end());
    }
    return ids;
  };
  std::vector<std::vector<Step>> epochs;
  for (const int64_t epoch : {0, 1}) {
    ASSERT_OK(data->start_epoch(epoch));
    ASSERT_OK_AND_ASSIGN(epochs.emplace_back(), read_all(*data));
  }
  EXPECT_THAT(ids_of(epochs[1]), testing::UnorderedElementsAreArray(ids_of(epochs[0])));
  EXPECT_NE(ids_of(epochs[1]), ids_of(epochs[0]));
  // Another dataset continues from each batch of the second epoch.
  for (size_t i = 0; i < epochs[1].size(); ++i) {
    const auto other = list();
    ASSERT_OK(other->seek({&epochs[1][i].cursor, 1}));
    ASSERT_OK_AND_ASSIGN(const std::vector<Step> rest, read_all(*other));
    EXPECT_EQ(ids_of(rest), ids_of(epochs[1], i + 1)) << i;
  }
}

TEST_F(WindowedFilesTest, DefaultIdsNumberTheFilesOfAllWindows) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < 4; ++i) {
    put(absl::StrCat("f", i), 20 * i, 11 + i);
    const std::vector<int64_t> ids = range(i << 40, 11 + i);
    all.insert(all.end(), ids.begin(), ids.end());
  }
  files_.put("in/_END", "");
  for (const char* more : {"", "windows { files: 2 }", "windows { rows: 7 }"}) {
    SCOPED_TRACE(more);
    const WindowedFilesOptions plain = with_default_ids(options(more));
    expect_to_go_on_from_every_batch(plain, 12);
    const auto data = open(plain);
    ASSERT_OK(data->start_epoch(0));
    ASSERT_OK_AND_ASSIGN(const auto steps, read_all(*data));
    std::vector<int64_t> ids;
    for (const Step& step : steps) ids.insert(ids.end(), step.ids.begin(), step.ids.end());
    EXPECT_THAT(ids, testing::UnorderedElementsAreArray(all));
  }
}

// A file of a later window may have doubles where others have integers.
TEST_F(WindowedFilesTest, NumbersMayHaveAnotherTypeInEachWindow) {
  const auto put_ids = [this](const std::string& name, const auto& ids) {
    const TestColumn::Rows<int64_t> zeros(ids.size(), {0});
    const std::string path = absl::StrCat(testing::TempDir(), "/", name, ".parquet");
    ASSERT_OK(write_data_file({{{"label", zeros}, {"i1", zeros}, {"id", ids}}}, DataConfig::PARQUET,
                              0, path));
    files_.put("in/" + name, *read_file(FileSystem::local(), path));
  };
  put_ids("a", TestColumn::Rows<int64_t>{{0}, {1}, {2}});
  put_ids("b", TestColumn::Rows<double>{{3}, {4}});
  put_ids("c", TestColumn::Rows<double>{{5}});
  put_ids("d", TestColumn::Rows<int64_t>{{6}, {7}, {8}});
  files_.put("in/_END", "");
  for (const char* more : {"", "windows { files: 2 }", "windows { files: 3 }"}) {
    SCOPED_TRACE(more);
    const auto options =
        options_of("batch_size: 2 format: PARQUET windows { directory { path: 'in' } }", more);
    ASSERT_OK_AND_ASSIGN(const std::vector<Step> steps, [&]() -> absl::StatusOr<std::vector<Step>> {
      const auto data = open(options);
      RETURN_IF_ERROR(data->start_epoch(0));
      return read_all(*data);
    }());
    std::vector<int64_t> ids;
    for (const Step& step : steps) ids.insert(ids.end(), step.ids.begin(), step.ids.end());
    EXPECT_EQ(ids, range(0, 9));
    expect_to_go_on_from_every_batch(options, 4);
  }
}

// Windows of a single file each, named in the lines of the file in/_LIST. The state is the number
// of lines read.
class ListedFiles : public WindowSource {
 public:
  static absl::StatusOr<std::unique_ptr<WindowSource>> create(const CustomConfig&,
                                                              const WindowSourceInput& input) {
    if (input.data.batch_size() != 4) return absl::InvalidArgumentError("other data");
    return std::make_unique<ListedFiles>(*input.files);
  }
  explicit ListedFiles(FileSystem& files) : files_(files) {}

  absl::StatusOr<Found> find(bool no_more, WindowPosition& position) override {
    ASSIGN_OR_RETURN(const std::string text, read_file(files_, "in/_LIST"));
    const std::vector<std::string> names = absl::StrSplit(text, '\n', absl::SkipEmpty());
    int64_t read = 0;
    if (position.has_custom() && !absl::SimpleAtoi(position.custom(), &read)) {
      return absl::InvalidArgumentError("its state is no number");
    }
    if (read == static_cast<int64_t>(names.size())) {
      return no_more ? Found::kEnded : Found::kNotYet;
    }
    if (names[read] == "end") return Found::kEnded;
    if (names[read] == "throw") throw std::runtime_error("planted");
    position.set_name(names[read]);
    position.set_custom(absl::StrCat(read + 1));
    position.clear_file();
    position.add_file()->set_name(names[read]);
    return Found::kWindow;
  }
  std::string path_of(const std::string& name) const override { return absl::StrCat("in/", name); }
  const std::string& waits_for() const override { return waits_for_; }
  int64_t seen() const override { return 0; }

 private:
  FileSystem& files_;
  const std::string waits_for_ = "a line of in/_LIST";
};
MILLRACE_REGISTER_WINDOW_SOURCE(listed_files, "files that a list names", &ListedFiles::create);

// A later window may have other files.
TEST_F(WindowedFilesTest, KnowsTheTypeOfHashedColumnsOfTheLastWindow) {
  WindowedFilesOptions own = options();
  TrainConfig features;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "feature { name: 'label' kind: LABEL } feature { name: 'id' transform { hash {} } }",
      &features));
  own.dataset.schema = *FeatureSchema::create(features);
  const auto data = open(own);
  ASSERT_OK(data->start_epoch(0));
  ASSERT_OK_AND_ASSIGN(DataIdentity identity, data->identity());
  EXPECT_EQ(identity.column_size(), 0) << "no window was opened";
  for (const std::string name : {"a.csv", "b.csv"}) {
    put(name, 0, 5);
    ASSERT_OK(data->next_window().status());
    ASSERT_OK_AND_ASSIGN(identity, data->identity());
    EXPECT_EQ(identity.file_size(), 0);
    ASSERT_EQ(identity.column_size(), 1);
    EXPECT_EQ(identity.column(0).name(), "id");
    EXPECT_EQ(identity.column(0).cells(), DataIdentity::TEXT);
    EXPECT_EQ(identity.column(0).file(), name);
  }
}

TEST_F(WindowedFilesTest, ARegisteredSourceGoesOnFromItsState) {
  for (int i = 0; i < 4; ++i) put(absl::StrCat("f", i), 20 * i, 11 + i);
  const WindowedFilesOptions listed = options_of(
      "batch_size: 4 format: CSV shuffle_rows: 100 windows { custom { name: 'listed_files' } }");
  files_.put("in/_LIST", "f2\nf0\n");
  const auto data = open(listed);
  ASSERT_OK(data->start_epoch(0));
  WindowState::Kind end;
  ASSERT_OK_AND_ASSIGN(const auto first, read_all(*data, &end));
  EXPECT_EQ(end, WindowState::kNotYet);
  EXPECT_EQ(by_window(first),
            (std::map<int64_t, std::vector<int64_t>>{{0, range(40, 13)}, {1, range(0, 11)}}));
  files_.put("in/_LIST", "f2\nf0\nf1\nf3\nend\n");
  ASSERT_OK_AND_ASSIGN(const auto second, read_all(*data, &end));
  EXPECT_EQ(end, WindowState::kEnded);
  EXPECT_EQ(by_window(second),
            (std::map<int64_t, std::vector<int64_t>>{{2, range(20, 12)}, {3, range(60, 14)}}));
  expect_to_go_on_from_every_batch(listed, 12);
}

TEST_F(WindowedFilesTest, AWindowThatIsGoneOnWithCountsWhatWasDone) {
  put("a", 0, 10);
  const auto data = begun();
  ASSERT_OK_AND_ASSIGN(const auto steps, read_all(*data));
  const auto again = open(options());
  ASSERT_OK(again->seek({&steps[1].cursor, 1}));
  ASSERT_OK_AND_ASSIGN(const WindowState state, again->next_window());
  EXPECT_EQ(state.window.examples_done, 8);
  EXPECT_EQ(state.window.name, "a");
  EXPECT_THAT(state.window.files, ElementsAre("in/a"));
}

TEST_F(WindowedFilesTest, RepeatedWindowsShuffleAnew) {
  put("a", 0, 12);
  const auto data = begun("windows { repeat: 2 }");
  ASSERT_OK_AND_ASSIGN(const auto steps, read_all(*data));
  EXPECT_EQ(by_window(steps),
            (std::map<int64_t, std::vector<int64_t>>{{0, range(0, 12)}, {1, range(0, 12)}}));
  EXPECT_NE(steps[0].ids, steps[3].ids);
}

TEST_F(WindowedFilesTest, AWindowCanBeReadBeforeItIsTrainedOn) {
  files_.put("in/a", csv(0, 9) + "1,,9\n");
  put("b", 0, 0);
  WindowedFilesOptions of = options("windows { repeat: 2 }");
  TrainConfig features;
  for (FeatureConfig feature : of.dataset.schema.features()) {
    if (feature.name() == "i1") feature.set_default_value(3);
    *features.add_feature() = feature;
  }
  of.dataset.schema = *FeatureSchema::create(features);
  const auto data = open(of);
  ASSERT_OK(data->start_epoch(0));
  ASSERT_OK(data->next_window().status());
  const std::string number = "i1";
  ASSERT_OK_AND_ASSIGN(const auto again, data->open_window_again({&number, 1}));
  ASSERT_NE(again, nullptr);
  ASSERT_OK(again->start_epoch(0));
  int64_t rows = 0, missing = 0;
  while (true) {
    ASSERT_OK_AND_ASSIGN(const auto batch, again->next());
    if (!batch.has_value()) break;
    rows += batch->size;
    ASSERT_EQ(batch->dense.size(1), 2);
    missing += batch->dense.select(1, 1).count_nonzero().item<int64_t>();
  }
  EXPECT_EQ(rows, 10);
  EXPECT_EQ(missing, 1);
  ASSERT_OK_AND_ASSIGN(const auto first, data->next());
  EXPECT_EQ(first->size, 4) << "training has it all";
  // Not what was trained on: a window that is resumed or repeated.
  const auto resumed = open(of);
  ASSERT_OK(resumed->seek({&first->cursor, 1}));
  ASSERT_OK(resumed->next_window().status());
  EXPECT_THAT(resumed->open_window_again({}), IsOkAndHolds(testing::IsNull()));
  ASSERT_OK(data->next_window().status());
  EXPECT_THAT(data->open_window_again({}), IsOkAndHolds(testing::IsNull()));
  ASSERT_OK(data->next_window().status());
  EXPECT_THAT(data->open_window_again({}), IsOkAndHolds(testing::IsNull())) << "b has no rows";
}

TEST_F(WindowedFilesTest, FilesAreDoneWithWhenNoWindowReadsThemAnyMore) {
  put("a", 0, 6);
  put("b", 6, 6);
  const auto data = begun("windows { rows: 8 repeat: 2 }");
  ASSERT_OK_AND_ASSIGN(const WindowState first, data->next_window());
  EXPECT_THAT(first.window.files, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const WindowState again, data->next_window());
  EXPECT_THAT(again.window.files, ElementsAre("in/a"));
  EXPECT_EQ(again.window.index, 1);
}

TEST_F(WindowedFilesTest, UpcomingFilesAreLookedAtOnly) {
  put("a", 0, 4);
  put("b", 4, 4);
  const auto data = begun();
  EXPECT_THAT(data->upcoming_files(), ElementsAre("in/a"));
  ASSERT_OK(data->next_window().status());
  EXPECT_THAT(data->upcoming_files(), ElementsAre("in/b"));
  ASSERT_OK_AND_ASSIGN(const WindowState state, data->next_window());
  EXPECT_EQ(state.window.name, "b");
  EXPECT_THAT(data->upcoming_files(), IsEmpty());
}

TEST_F(WindowedFilesTest, WindowsWithoutRows) {
  put("a", 0, 0);
  put("b", 0, 3);
  files_.put("in/_END", "");
  WindowState::Kind end;
  ASSERT_OK_AND_ASSIGN(const auto steps, read_all(*begun(), &end));
  EXPECT_EQ(by_window(steps), (std::map<int64_t, std::vector<int64_t>>{{1, range(0, 3)}}));
  EXPECT_EQ(end, WindowState::kEnded);
}

TEST_F(WindowedFilesTest, DamagedWindowsFailOrAreLeftOut) {
  put("a", 0, 3);
  files_.put("in/b", "other,columns\n1,2\n");
  put("c", 3, 3);
  EXPECT_THAT(read_all(*begun()), StatusIs(absl::StatusCode::kInvalidArgument,
                                           AllOf(HasSubstr("window 1 (b)"), HasSubstr("in/b"))));
  const auto data = begun("bad_data: SKIP");
  ASSERT_OK(data->next_window().status());
  ASSERT_OK_AND_ASSIGN(const WindowState damaged, data->next_window());
  EXPECT_EQ(damaged.kind, WindowState::kReady);
  EXPECT_THAT(damaged.window.damage, HasSubstr("in/b"));
  EXPECT_THAT(data->next(), IsOkAndHolds(testing::Eq(std::nullopt)));
  ASSERT_OK_AND_ASSIGN(const auto rest, read_all(*data));
  EXPECT_EQ(by_window(rest), (std::map<int64_t, std::vector<int64_t>>{{2, range(3, 3)}}));
}

TEST_F(WindowedFilesTest, AStreamOfDamagedWindowsAloneIsAnError) {
  for (const char* name : {"a", "c", "d", "e", "f"}) {
    files_.put(absl::StrCat("in/", name), "other,columns\n1,2\n");
  }
  EXPECT_THAT(read_all(*begun("bad_data: SKIP")),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("5 windows in a row are damaged"), HasSubstr("in/f"))));
  EXPECT_OK(read_all(*begun("bad_data: SKIP max_bad_fraction: 1")).status());
  put("b", 0, 3);
  EXPECT_OK(read_all(*begun("bad_data: SKIP")).status()) << "there are at most four in a row";
}

TEST_F(WindowedFilesTest, AFileThatChangedOrWentIsAnErrorThatNamesIt) {
  put("a", 0, 10);
  ASSERT_OK_AND_ASSIGN(const auto steps, read_all(*begun()));
  const Cursor cursor = steps[0].cursor;
  const auto go_on = [&](const std::string& more) {
    const auto data = open(options(more));
    EXPECT_OK(data->seek({&cursor, 1}));
    return data->next_window();
  };
  put("a", 50, 10);
  EXPECT_THAT(go_on(""), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("in/a changed")));
  ASSERT_OK(files_.remove("in/a"));
  EXPECT_THAT(go_on(""), StatusIs(absl::StatusCode::kNotFound, HasSubstr("in/a")));
  ASSERT_OK_AND_ASSIGN(const WindowState state, go_on("bad_data: SKIP"));
  EXPECT_THAT(state.window.damage, HasSubstr("in/a"));
}

TEST_F(WindowedFilesTest, AChangeAnywhereInASmallFileIsNoticed) {
  const std::string more = "batch_size: 5000";
  std::string text = csv(0, 20'000);
  ASSERT_GT(text.size(), 2u * (64 << 10));
  files_.put("in/a", text);
  ASSERT_OK_AND_ASSIGN(const auto steps, read_all(*begun(more)));
  const Cursor cursor = steps[0].cursor;
  // A position of an earlier version has a digest of the end.
  Cursor earlier = cursor;
  WindowPosition position;
  ASSERT_TRUE(position.ParseFromString(cursor.stream->bytes));
  ASSERT_OK_AND_ASSIGN(const DataIdentity end, data_identity(files_, {"in/a"}));
  position.clear_whole_bytes();
  position.mutable_file(0)->set_digest(
      xxh3(absl::StrCat(end.file(0).size(), " ", end.file(0).end_digest())));
  earlier.stream->bytes = position.SerializeAsString();

  const size_t label = csv(0, 0).size();
  text[label] = text[label] == '0' ? '1' : '0';
  files_.put("in/a", text);
  const auto go_on = [&](const Cursor& from) {
    const auto data = open(options(more));
    EXPECT_OK(data->seek({&from, 1}));
    return data->next_window().status();
  };
  EXPECT_THAT(go_on(cursor), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("in/a changed")));
  EXPECT_OK(go_on(earlier));
}

TEST_F(WindowedFilesTest, PositionsThatDoNotFitAreRefused) {
  put("a", 0, 10);
  ASSERT_OK_AND_ASSIGN(const auto steps, read_all(*begun()));
  const auto data = open(options());
  Cursor cursor = steps[0].cursor;
  cursor.stream->bytes = "nonsense";
  EXPECT_THAT(data->seek({&cursor, 1}), StatusIs(absl::StatusCode::kInvalidArgument));
  cursor.stream->bytes = "";
  EXPECT_THAT(data->seek({&cursor, 1}), StatusIs(absl::StatusCode::kInvalidArgument));
  const Cursor two[] = {steps[0].cursor, cursor};
  EXPECT_THAT(data->seek(two), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(data->seek({}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(WindowedFilesTest, TheStreamEndsWhenNothingComes) {
  put("a", 0, 3);
  put("b", 3, 2);
  put("c", 5, 2);
  const auto data = begun("windows { files: 2 idle_seconds: 10 }");
  WindowState::Kind end;
  ASSERT_OK(read_all(*data, &end));
  clock_.advance(absl::Seconds(9));
  ASSERT_OK(read_all(*data, &end));
  EXPECT_EQ(end, WindowState::kNotYet);
  clock_.advance(absl::Seconds(2));
  ASSERT_OK_AND_ASSIGN(const auto rest, read_all(*data, &end));
  EXPECT_EQ(by_window(rest), (std::map<int64_t, std::vector<int64_t>>{{1, range(5, 2)}}));
  ASSERT_OK(read_all(*data, &end));
  clock_.advance(absl::Seconds(11));
  ASSERT_OK(read_all(*data, &end));
  EXPECT_EQ(end, WindowState::kEnded);
}

TEST_F(WindowedFilesTest, NamesOfTooManyFilesAreRefused) {
  for (int i = 0; i < 400; ++i) put(absl::StrCat(std::string(180, 'n'), 1000 + i), 0, 0);
  EXPECT_THAT(begun("windows { files: 400 }")->next_window(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("has 400 files"), HasSubstr("limit is 61440"))));
}

TEST_F(WindowedFilesTest, NamesThatLookLikePatterns) {
  put("a[1]{2}*?", 0, 3);
  put("a1", 3, 3);
  ASSERT_OK_AND_ASSIGN(const auto steps, read_all(*begun()));
  EXPECT_EQ(by_window(steps),
            (std::map<int64_t, std::vector<int64_t>>{{0, range(3, 3)}, {1, range(0, 3)}}));
}

int64_t resident_pages() {
  int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident;
}

TEST_F(WindowedFilesTest, MemoryStaysFlat) {
  const auto data = begun();
  int64_t after_some = 0;
  for (int window = 0; window < 1000; ++window) {
    const std::string name = absl::StrFormat("w%04d", window);
    put(name, 0, 40);
    ASSERT_OK_AND_ASSIGN(const auto steps, read_all(*data));
    ASSERT_EQ(steps.size(), 10u);
    EXPECT_LT(steps[0].cursor.stream->bytes.size(), 200u);
    ASSERT_OK(files_.remove("in/" + name));
    if (window == 200) after_some = resident_pages();
  }
#ifndef __SANITIZE_ADDRESS__  // which keeps what was freed
  EXPECT_LT(resident_pages() - after_some, 1024) << "4 MiB";
#endif
}

TEST_F(WindowedFilesTest, CancelIsForGood) {
  put("a", 0, 3);
  const auto data = begun();
  ASSERT_OK(data->next_window().status());
  data->cancel();
  EXPECT_THAT(data->next(), StatusIs(absl::StatusCode::kCancelled));
}

// Reads on the given number of ranks, one reading `then` batches of each; returns all ids and the
// cursors.
class WindowedFilesRanksTest : public WindowedFilesTest {
 protected:
  std::vector<absl::Status> on_ranks(
      int world_size, const std::function<absl::Status(int rank, WindowedDataset& data)>& body) {
    return WindowedFilesCase::on_ranks(options("windows { files: 2 }"), world_size, body);
  }
};

TEST_F(WindowedFilesRanksTest, ASourceThatThrowsIsAFailedPartOnAllRanks) {
  files_.put("in/_LIST", "throw\n");
  const auto statuses = WindowedFilesCase::on_ranks(
      options_of("batch_size: 4 format: CSV windows { custom { name: 'listed_files' } }"), 2,
      [](int, WindowedDataset& data) -> absl::Status {
        RETURN_IF_ERROR(data.start_epoch(0));
        return data.next_window().status();
      });
  for (const absl::Status& status : statuses) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal, HasSubstr("planted")));
    EXPECT_EQ(kind_of(status), FailureKind::kPart);
  }
}

TEST_F(WindowedFilesRanksTest, AllWorkOnTheSameWindowAndEachRowComesOnce) {
  for (int i = 0; i < 5; ++i) put(absl::StrCat("f", i), 10 * i, 10);
  files_.put("in/_END", "");
  std::vector<std::vector<Step>> steps(3);
  const auto statuses = on_ranks(3, [&](int rank, WindowedDataset& data) -> absl::Status {
    RETURN_IF_ERROR(data.start_epoch(0));
    ASSIGN_OR_RETURN(steps[rank], read_all(data));
    return absl::OkStatus();
  });
  EXPECT_THAT(statuses, testing::Each(IsOk()));
  std::vector<Step> all;
  for (const auto& own : steps) all.insert(all.end(), own.begin(), own.end());
  EXPECT_EQ(by_window(all), (std::map<int64_t, std::vector<int64_t>>{
                                {0, range(0, 20)}, {1, range(20, 20)}, {2, range(40, 10)}}));
}

TEST_F(WindowedFilesRanksTest, AnotherNumberOfRanksGoesOnWithinAWindow) {
  put("a", 0, 30);
  put("b", 30, 11);
  std::vector<Cursor> cursors(3);
  std::vector<int64_t> seen;
  Mutex mutex;
  const auto note = [&](const Batch& batch) {
    const int64_t* ids = batch.example_ids.const_data_ptr<int64_t>();
    MutexLock lock(mutex);
    seen.insert(seen.end(), ids, ids + batch.size);
  };
  EXPECT_THAT(on_ranks(3,
                       [&](int rank, WindowedDataset& data) -> absl::Status {
                         RETURN_IF_ERROR(data.start_epoch(0));
                         RETURN_IF_ERROR(data.next_window().status());
                         ASSIGN_OR_RETURN(const std::optional<Batch> batch, data.next());
                         note(*batch);
                         cursors[rank] = batch->cursor;
                         return absl::OkStatus();
                       }),
              testing::Each(IsOk()));
  EXPECT_THAT(on_ranks(2,
                       [&](int, WindowedDataset& data) -> absl::Status {
                         RETURN_IF_ERROR(data.seek(cursors));
                         RETURN_IF_ERROR(data.next_window().status());
                         while (true) {
                           ASSIGN_OR_RETURN(const std::optional<Batch> batch, data.next());
                           if (!batch.has_value()) return absl::OkStatus();
                           note(*batch);
                         }
                       }),
              testing::Each(IsOk()));
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, range(0, 41));
}

TEST_F(WindowedFilesRanksTest, AnErrorOfRank0IsThatOfAll) {
  put("a", 0, 3);
  files_.put("in/b", "other\n1\n");
  const auto statuses = on_ranks(2, [&](int, WindowedDataset& data) -> absl::Status {
    RETURN_IF_ERROR(data.start_epoch(0));
    return data.next_window().status();
  });
  EXPECT_THAT(statuses[0], StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("in/b")));
  EXPECT_THAT(statuses[1], StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("in/b")));
}

}  // namespace
}  // namespace millrace
