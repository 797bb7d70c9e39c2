#include "checkpoint/state/table_reader.h"

#include <cstring>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "checkpoint/testing/table_files_testing.h"
#include "checkpoint/testing/tiny_state_testing.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<int64_t>;
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

constexpr char kFirst[] = "c/step-00000001";

void expect_equal(const EmbeddingTable& a, const EmbeddingTable& b) {
  EXPECT_EQ(a.content().digest(), b.content().digest());
  EXPECT_EQ(a.content().admission_state(), b.content().admission_state());
  EXPECT_EQ(a.content().evicted_log(), b.content().evicted_log());
}

// Reverses the rows of a tensor.
void reverse_rows(FileTensor& tensor) {
  const size_t rows = tensor.shape[0], size = tensor.bytes.size() / rows;
  std::string reversed;
  for (size_t row = rows; row-- > 0;) reversed += tensor.bytes.substr(row * size, size);
  tensor.bytes = reversed;
}

class TableReaderTest : public testing::Test {
 protected:
  static TableReaderOptions all(bool table_state = true) {
    TableReaderOptions options;
    options.table = "items";
    options.table_state = table_state;
    return options;
  }
  absl::Status read(const std::string& path, EmbeddingTable& table,
                    const TableReaderOptions& options = all()) {
    ASSIGN_OR_RETURN(const auto reader, CheckpointReader::open(files_, path));
    return read_table(*reader, options, table, threads_);
  }

  // Returns a table of 20 rows, with candidates and evicted ids.
  std::unique_ptr<EmbeddingTable> full() {
    auto table = tiny_table(kConfig);
    Ids ids, seen_once;
    for (int64_t id = 0; id < 40; ++id) ids.push_back(id);
    for (int64_t id = 100; id < 120; ++id) seen_once.push_back(id);
    step_table(*table, 1, ids);
    step_table(*table, 2, ids);
    ids.resize(20);
    step_table(*table, 3, ids);
    EXPECT_OK(table->maintenance().evict({.step = 5}).status());
    step_table(*table, 4, seen_once);
    return table;
  }

  // Writes the content of full() after `spoil` has changed it. Returns the result of reading.
  absl::Status read_spoilt(const std::function<void(std::vector<FileTensors>&)>& spoil) {
    const auto table = full();
    MemoryFileSystem files;
    TableWriterOptions options;
    options.files = 2;
    RETURN_IF_ERROR(write_table(files, "c", 1, *table, options));
    ASSIGN_OR_RETURN(const auto reader, CheckpointReader::open(files, kFirst));
    ASSIGN_OR_RETURN(std::vector<FileTensors> content, read_table_files(*reader));
    spoil(content);
    if (files_.info(kFirst).ok()) RETURN_IF_ERROR(remove_recursively(files_, kFirst));
    RETURN_IF_ERROR(write_table_files(files_, "c", reader->manifest(), content));
    const auto to = tiny_table(kConfig);
    return read(kFirst, *to);
  }

  static constexpr char kConfig[] =
      "admission { count { min_count: 2 } } eviction { idle_steps: 2 }";
  MemoryFileSystem files_;
  ThreadPool threads_{2};
};

TEST_F(TableReaderTest, WhatWasWrittenComesBack) {
  for (const char* dtype : {"FLOAT32", "FLOAT16", "BFLOAT16"}) {
    for (const char* admission :
         {"", "admission { count { min_count: 2 } }",
          "admission { count { min_count: 3 sketch { capacity: 2000 } } }"}) {
      for (const int files : {1, 2, 5}) {
        SCOPED_TRACE(absl::StrCat(dtype, " ", admission, " ", files));
        const std::string config =
            absl::StrCat("row_dtype: ", dtype, " ", admission, " eviction { idle_steps: 2 }");
        const auto table = tiny_table(config);
        for (int64_t step = 1; step <= 8; ++step) {
          Ids ids;
          for (int64_t i = 0; i < 30; ++i) ids.push_back((step * 7 + i) % 50 - 25);
          step_table(*table, step, ids);
          ASSERT_OK(table->maintenance().evict({.step = step}).status());
        }
        MemoryFileSystem written;
        TableWriterOptions options;
        options.files = files;
        ASSERT_OK(write_table(written, "c", 1, *table, options));
        ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(written, kFirst));
        const auto to = tiny_table(config);
        ASSERT_OK(read_table(*reader, all(), *to, threads_));
        expect_equal(*to, *table);
      }
    }
  }
}

TEST_F(TableReaderTest, AnEmptyTable) {
  ASSERT_OK(write_table(files_, "c", 1, *tiny_table(kConfig)));
  const auto to = tiny_table(kConfig);
  ASSERT_OK(read(kFirst, *to));
  EXPECT_EQ(to->rows(), 0);
}

TEST_F(TableReaderTest, RowsThatAreThereAreReplaced) {
  ASSERT_OK(write_table(files_, "c", 1, *full()));
  const auto to = tiny_table();
  step_table(*to, 1, {1, 77});
  ASSERT_OK(read(kFirst, *to, all(/*table_state=*/false)));
  EXPECT_EQ(to->rows(), full()->rows() + 1);
  RowIndex theirs = 0, ours = 0;
  const auto from = full();
  from->find({{1}}, {&theirs, 1});
  to->find({{1}}, {&ours, 1});
  EXPECT_EQ(to->content().rows().slots(ours)[1], from->content().rows().slots(theirs)[1]);
}

TEST_F(TableReaderTest, PartsCanBeLeftOut) {
  const auto from = full();
  ASSERT_OK(write_table(files_, "c", 1, *from));
  RowIndex row = 0, theirs = 0;
  from->find({{3}}, {&theirs, 1});
  const auto weights_alone = tiny_table();
  TableReaderOptions options = all(/*table_state=*/false);
  options.row_state = false;
  ASSERT_OK(read(kFirst, *weights_alone, options));
  weights_alone->find({{3}}, {&row, 1});
  EXPECT_EQ(weights_alone->content().rows().slots(row)[0], 0.5f);
  EXPECT_EQ(weights_alone->content().rows().slots(row)[1], 0.5f) << "as in a new row";
  EXPECT_EQ(weights_alone->content().rows().frequency(row), 0);
  EXPECT_EQ(std::string(weights_alone->content().rows().record(row), 12),
            std::string(from->content().rows().record(theirs), 12));
  const auto some = tiny_table();
  options.row_state = true;
  options.last_step = false;
  options.slots.emplace();  // none of them
  ASSERT_OK(read(kFirst, *some, options));
  some->find({{3}}, {&row, 1});
  EXPECT_EQ(some->content().rows().slots(row)[1], 0.5f);
  EXPECT_EQ(some->content().rows().last_step(row), 0);
  EXPECT_EQ(some->content().rows().frequency(row), from->content().rows().frequency(theirs));
}

TEST_F(TableReaderTest, ADeltaTakesRowsAwayAndPutsOthersInTheirPlace) {
  const auto table = tiny_table("eviction { idle_steps: 2 }");
  const auto write = [&](int64_t step, std::optional<int64_t> since) -> absl::Status {
    TableWriterOptions options;
    options.files = 2;
    options.since = since;
    std::optional<CheckpointManifest::Base> base;
    if (since.has_value()) {
      base = base_of(files_, absl::StrCat("c/step-0000000", *since));
    }
    return write_table(files_, "c", step, *table, options, base);
  };
  const auto to = tiny_table("eviction { idle_steps: 2 }");
  for (int64_t step = 1; step <= 6; ++step) {
    step_table(*table, step, {step, step + 1, 10 * step, 100});
    ASSERT_OK(table->maintenance().evict({.step = step}).status());
    if (step == 5) step_table(*table, 7, {1, 10});  // some come back
    ASSERT_OK(write(step, step == 1 ? std::nullopt : std::optional(step - 1)));
    ASSERT_OK(read(absl::StrCat("c/step-0000000", step), *to));
    expect_equal(*to, *table);
    if (step == 5) break;
  }
  EXPECT_GT(table->content().evicted_log().ids.size(), 1);
}

TEST_F(TableReaderTest, RowsThatBreakARuleAreNamed) {
  struct Case {
    const char* says;
    std::function<void(std::vector<FileTensors>&)> spoil;
  };
  const auto set = [](FileTensor& tensor, size_t at, auto value) {
    std::memcpy(tensor.bytes.data() + at * sizeof(value), &value, sizeof(value));
  };
  const std::vector<Case> cases = {
      {"is not in the order of hashes",
       [](auto& files) {
         for (auto& [name, tensor] : files[0]) reverse_rows(tensor);
       }},
      {"is not in the order of hashes",  // there twice
       [&](auto& files) {
         set(files[1].at("ids"), 1, numbers_of<int64_t>(files[1].at("ids").bytes)[0]);
       }},
      {"belongs into another file",
       [&](auto& files) {
         FileTensor& ids = files[0].at("ids");
         set(ids, ids.shape[0] - 1, numbers_of<int64_t>(files[1].at("ids").bytes)[0]);
       }},
      {"frequency", [&](auto& files) { set(files[0].at("frequency"), 0, int64_t{-1}); }},
      {"last_step", [&](auto& files) { set(files[1].at("last_step"), 1, int64_t{1} << 32); }},
      {"weights is missing", [](auto& files) { files[1].erase("weights"); }},
      {"slot/m is missing", [](auto& files) { files[0].erase("slot/m"); }},
      {"frequency is missing", [](auto& files) { files[0].erase("frequency"); }},
      {"admission/ids and admission/counts differ",
       [](auto& files) {
         files[0].at("admission/counts").bytes.resize(4);
         files[0].at("admission/counts").shape = {1};
       }},
      {"evicted/ids and evicted/steps differ",
       [](auto& files) { files[1].erase("evicted/steps"); }},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.says);
    const absl::Status status = read_spoilt(one.spoil);
    EXPECT_THAT(status, StatusIs(kDataLoss, HasSubstr(one.says)));
    if (absl::IsDataLoss(status)) {
      EXPECT_THAT(status.message(), AllOf(HasSubstr("table items"), HasSubstr("c/step-00000001")));
    }
  }
  EXPECT_OK(read_spoilt([](auto&) {}));
}

TEST_F(TableReaderTest, StateThatBreaksARuleIsRefused) {
  const auto set = [](FileTensor& tensor, auto value) {
    std::memcpy(tensor.bytes.data(), &value, sizeof(value));
  };
  EXPECT_FALSE(
      read_spoilt([&](auto& files) { set(files[0].at("admission/counts"), uint32_t{0}); }).ok());
  EXPECT_FALSE(
      read_spoilt([&](auto& files) { set(files[0].at("evicted/steps"), int64_t{-3}); }).ok());
  EXPECT_FALSE(read_spoilt([&](auto& files) {
                 FileTensor sketch = {TensorType::kU8, {512, 1, 3}, std::string(512 * 3, '\1')};
                 files[0].emplace("admission/sketch", sketch);
               }).ok());
}

TEST_F(TableReaderTest, ALimitOfTheTableIsKept) {
  ASSERT_OK(write_table(files_, "c", 1, *full()));
  const auto to = tiny_table("limit { max_rows: 19 on_full: FAIL }");
  EXPECT_THAT(read(kFirst, *to, all(/*table_state=*/false)),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(TableReaderTest, DamageIsNamedByFileAndPlace) {
  ASSERT_OK(write_table(files_, "c", 1, *full()));
  const std::string path = absl::StrCat(kFirst, "/table-items-00000-of-00001.safetensors");
  ASSERT_OK_AND_ASSIGN(std::string content, read_file(files_, path));
  content[content.size() / 2] ^= 1;
  files_.put(path, content);
  EXPECT_THAT(read(kFirst, *tiny_table(kConfig)),
              StatusIs(kDataLoss, HasSubstr("table-items-00000-of-00001.safetensors")));
}

}  // namespace
}  // namespace millrace
