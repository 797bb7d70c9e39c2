#include "checkpoint/state/table_writer.h"

#include <algorithm>
#include <limits>

#include "base/hash.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "checkpoint/testing/table_files_testing.h"
#include "checkpoint/testing/tiny_state_testing.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::SizeIs;
using Ids = std::vector<int64_t>;

std::vector<std::string> names_of(const FileTensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

Ids by_hash(Ids ids) {
  std::sort(ids.begin(), ids.end(),
            [](int64_t a, int64_t b) { return placement_hash(a) < placement_hash(b); });
  return ids;
}

class TableWriterTest : public testing::Test {
 protected:
  // Saves a table and reads the tensors of its files back.
  std::vector<FileTensors> written(const EmbeddingTable& table,
                                   const TableWriterOptions& options = {}) {
    std::optional<CheckpointManifest::Base> base;
    if (options.since.has_value()) {
      base.emplace();
      base->set_digest(std::string(32, '0'));
      base->set_depth(1);
    }
    EXPECT_OK(write_table(files_, "c", ++step_, table, options, base));
    auto reader = CheckpointReader::open(files_, path());
    EXPECT_OK(reader.status());
    manifest_ = (*reader)->manifest();
    auto tensors = read_table_files(**reader);
    EXPECT_OK(tensors.status());
    return *std::move(tensors);
  }
  std::string path() const { return "c/step-0000000" + std::to_string(step_); }

  MemoryFileSystem files_;
  CheckpointManifest manifest_;
  int64_t step_ = 0;
};

TEST_F(TableWriterTest, RowsStandByHashWithAllTheyHave) {
  const auto table = tiny_table();
  step_table(*table, 1, {3, -1, 7});
  step_table(*table, 2, {7});
  const std::vector<FileTensors> files = written(*table);
  ASSERT_THAT(files, SizeIs(1));
  EXPECT_THAT(names_of(files[0]),
              ElementsAre("frequency", "ids", "last_step", "slot/m", "weights"));
  const Ids ids = numbers_of<int64_t>(files[0].at("ids").bytes);
  EXPECT_EQ(ids, by_hash({3, -1, 7}));
  EXPECT_EQ(files[0].at("weights").type, TensorType::kF32);
  EXPECT_THAT(files[0].at("weights").shape, ElementsAre(3, 3));
  EXPECT_THAT(files[0].at("slot/m").shape, ElementsAre(3, 2));
  const auto weights = numbers_of<float>(files[0].at("weights").bytes);
  const auto slots = numbers_of<float>(files[0].at("slot/m").bytes);
  for (size_t i = 0; i < ids.size(); ++i) {
    float initial[3];
    table->initial_row(ids[i], initial);
    const float added = ids[i] == 7 ? 0.25f + 0.5f : 0.25f;
    EXPECT_FLOAT_EQ(weights[3 * i + 2], initial[2] + added);
    EXPECT_EQ(slots[2 * i], 0.5f);
    EXPECT_EQ(slots[2 * i + 1], ids[i] == 7 ? 3.5f : 1.5f);
    EXPECT_EQ(numbers_of<int64_t>(files[0].at("frequency").bytes)[i], ids[i] == 7 ? 4 : 2);
    EXPECT_EQ(numbers_of<int64_t>(files[0].at("last_step").bytes)[i], ids[i] == 7 ? 2 : 1);
  }
  EXPECT_EQ(manifest_.tables(0).rows(), 3);
  EXPECT_EQ(manifest_.tables(0).applied_steps(), 2);
}

TEST_F(TableWriterTest, SixteenBitRowsStayAsTheyAre) {
  for (const char* dtype : {"FLOAT16", "BFLOAT16"}) {
    const auto table = tiny_table(std::string("row_dtype: ") + dtype);
    step_table(*table, 1, {1, 2, 3, 4});
    const std::vector<FileTensors> files = written(*table);
    const FileTensor& weights = files[0].at("weights");
    EXPECT_EQ(tensor_type_bytes(weights.type), 2);
    EXPECT_EQ(weights.bytes.size(), 4 * 3 * 2);
    const Ids ids = numbers_of<int64_t>(files[0].at("ids").bytes);
    RowIndex row = 0;
    table->find({{ids[2]}}, {&row, 1});
    EXPECT_EQ(weights.bytes.substr(2 * 6, 6), std::string(table->content().rows().record(row), 6));
  }
}

TEST_F(TableWriterTest, AnEmptyTableHasAFileWithoutRows) {
  const std::vector<FileTensors> files = written(*tiny_table());
  ASSERT_THAT(files, SizeIs(1));
  EXPECT_THAT(files[0].at("ids").shape, ElementsAre(0));
  EXPECT_THAT(files[0].at("weights").shape, ElementsAre(0, 3));
  EXPECT_EQ(manifest_.files(1).last_hash(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(manifest_.tables(0).rows(), 0);
}

TEST_F(TableWriterTest, FilesShareTheHashes) {
  const auto table = tiny_table();
  Ids ids;
  for (int64_t id = 0; id < 300; ++id) ids.push_back(id);
  step_table(*table, 1, ids);
  TableWriterOptions options;
  options.files = 3;
  std::vector<FileTensors> files = written(*table, options);
  ASSERT_THAT(files, SizeIs(3));
  Ids all;
  for (size_t f = 0; f < files.size(); ++f) {
    const CheckpointManifest::File& entry = manifest_.files(static_cast<int>(f) + 1);
    ASSERT_EQ(entry.kind(), CheckpointManifest::TABLE_FILE);
    const Ids part = numbers_of<int64_t>(files[f].at("ids").bytes);
    EXPECT_GT(part.size(), 50);
    for (const int64_t id : part) {
      EXPECT_GE(placement_hash(id), entry.first_hash());
      EXPECT_LE(placement_hash(id), entry.last_hash());
    }
    all.insert(all.end(), part.begin(), part.end());
  }
  EXPECT_EQ(all, by_hash(ids));
}

TEST_F(TableWriterTest, TheNumberOfFilesFollowsFromTheBytesOfAllRanks) {
  EXPECT_EQ(files_of_rank(0, 1, 100), 1);
  EXPECT_EQ(files_of_rank(100, 1, 100), 1);
  EXPECT_EQ(files_of_rank(101, 1, 100), 2);
  EXPECT_EQ(files_of_rank(401, 4, 100), 2);
  EXPECT_EQ(files_of_rank(int64_t{1} << 60, 1, 100), 1024);
  EXPECT_EQ(files_of_rank(int64_t{1} << 60, 3, 100), 341);
  EXPECT_EQ(files_of_rank(int64_t{1} << 60, 2000, 100), 1);
}

TEST_F(TableWriterTest, PartsCanBeLeftOut) {
  const auto table = tiny_table("admission { count { min_count: 2 } } eviction { idle_steps: 1 }");
  step_table(*table, 1, {1, 2});
  step_table(*table, 2, {1, 2});
  step_table(*table, 3, {9});
  ASSERT_OK(table->maintenance().evict({.step = 5}).status());
  EXPECT_THAT(names_of(written(*table)[0]),
              IsSupersetOf({"admission/counts", "admission/ids", "evicted/ids", "evicted/steps"}));
  TableWriterOptions options;
  options.table_state = false;
  EXPECT_THAT(names_of(written(*table, options)[0]),
              ElementsAre("frequency", "ids", "last_step", "slot/m", "weights"));
  EXPECT_EQ(manifest_.tables(0).applied_steps(), 0);
  options.row_state = false;
  EXPECT_THAT(names_of(written(*table, options)[0]), ElementsAre("ids", "weights"));
  EXPECT_EQ(manifest_.tables(0).slots_size(), 0);
}

TEST_F(TableWriterTest, CandidatesAndWhatWasEvicted) {
  const auto table = tiny_table("admission { count { min_count: 2 } } eviction { idle_steps: 1 }");
  step_table(*table, 1, {1, 2, 9});
  step_table(*table, 2, {1, 2});
  step_table(*table, 3, {1, 8});
  step_table(*table, 4, {1});
  ASSERT_OK(table->maintenance().evict({.step = 4}).status());
  const AdmissionState admission = table->content().admission_state();
  ASSERT_FALSE(admission.ids.empty());
  ASSERT_THAT(table->content().evicted_log().ids, ElementsAre(2));
  const FileTensors tensors = written(*table)[0];
  EXPECT_EQ(numbers_of<int64_t>(tensors.at("admission/ids").bytes), admission.ids);
  EXPECT_EQ(numbers_of<uint32_t>(tensors.at("admission/counts").bytes), admission.counts);
  EXPECT_THAT(numbers_of<int64_t>(tensors.at("evicted/ids").bytes), ElementsAre(2));
  EXPECT_THAT(numbers_of<int64_t>(tensors.at("evicted/steps").bytes), ElementsAre(4));
}

TEST_F(TableWriterTest, ASketchIsCutByItsRanges) {
  const auto table = tiny_table("admission { count { min_count: 3 sketch { capacity: 5000 } } }");
  Ids ids;
  for (int64_t id = 0; id < 200; ++id) ids.push_back(id * 17);
  step_table(*table, 1, ids);
  const CountSketchState sketch = table->content().admission_state().sketch;
  ASSERT_GT(sketch.width, 0);
  TableWriterOptions options;
  options.files = 3;
  int64_t ranges = 0;
  std::string bytes;
  for (const FileTensors& file : written(*table, options)) {
    ASSERT_THAT(file.at("admission/sketch").shape, SizeIs(3));
    ranges += file.at("admission/sketch").shape[0];
    EXPECT_EQ(file.at("admission/sketch").shape[2], sketch.width);
    bytes += file.at("admission/sketch").bytes;
  }
  EXPECT_EQ(ranges, 1024);
  EXPECT_EQ(bytes, bytes_of(sketch.counters));
}

TEST_F(TableWriterTest, ADeltaHasWhatChangedAndWhatWent) {
  const auto table = tiny_table("eviction { idle_steps: 2 }");
  step_table(*table, 1, {1, 2, 3});
  step_table(*table, 2, {2, 4});
  step_table(*table, 3, {5});
  ASSERT_OK(table->maintenance().evict({.step = 4}).status());  // 1 and 3
  TableWriterOptions options;
  options.since = 1;
  const FileTensors tensors = written(*table, options)[0];
  EXPECT_EQ(numbers_of<int64_t>(tensors.at("ids").bytes), by_hash({2, 4, 5}));
  EXPECT_EQ(numbers_of<int64_t>(tensors.at("tombstones").bytes), by_hash({1, 3}));
  EXPECT_EQ(manifest_.tables(0).rows(), 3) << "of the whole table";
  options.since = 3;
  const FileTensors none = written(*table, options)[0];
  EXPECT_THAT(none.at("ids").shape, ElementsAre(0));
  EXPECT_EQ(numbers_of<int64_t>(none.at("tombstones").bytes), by_hash({1, 3}))
      << "they went at step 4";
  options.since = 5;
  EXPECT_EQ(written(*table, options)[0].count("tombstones"), 0);
}

TEST_F(TableWriterTest, ADeltaOnWhatIsNotKnownIsRefused) {
  const auto table = tiny_table();
  step_table(*table, 5, {1});
  table->content().restart_evicted_log(5);
  ThreadPool threads(1);
  TableWriterOptions options;
  options.since = 4;
  EXPECT_THAT(TableWriter::create(table->content().view(), options, threads).status(),
              StatusIs(absl::StatusCode::kOutOfRange));
  options.since = 5;
  EXPECT_OK(TableWriter::create(table->content().view(), options, threads).status());
}

TEST_F(TableWriterTest, NamesThatAreNoneOfFilesAreRefused) {
  ThreadPool threads(1);
  for (const char* name : {"a/b", "..", "a b"}) {
    const auto table = tiny_table("", name);
    EXPECT_THAT(TableWriter::create(table->content().view(), {}, threads).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(name)));
  }
}

TEST_F(TableWriterTest, TheBytesDoNotDependOnThreads) {
  const auto table = tiny_table();
  Ids ids;
  for (int64_t id = 0; id < 5000; ++id) ids.push_back(id * id);
  step_table(*table, 1, ids);
  std::vector<std::string> contents;
  for (const int threads : {1, 4}) {
    MemoryFileSystem files;
    TableWriterOptions options;
    options.files = 2;
    ASSERT_OK(write_table(files, "c", 1, *table, options, std::nullopt, threads));
    ASSERT_OK_AND_ASSIGN(const std::string manifest,
                         read_file(files, "c/step-00000001/manifest.json"));
    contents.push_back(manifest);
  }
  EXPECT_EQ(contents[0], contents[1]);
}

TEST_F(TableWriterTest, SaysItsSizeBeforeItWrites) {
  const auto table = tiny_table();
  step_table(*table, 1, {1, 2, 3});
  ThreadPool threads(1);
  ASSERT_OK_AND_ASSIGN(const TableWriter writer,
                       TableWriter::create(table->content().view(), {}, threads));
  EXPECT_EQ(writer.rows(), 3);
  written(*table);
  EXPECT_EQ(writer.size_bytes(), manifest_.files(1).size());
}

}  // namespace
}  // namespace millrace
