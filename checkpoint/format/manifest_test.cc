#include "checkpoint/format/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "absl/strings/str_replace.h"
#include "base/hash.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;
constexpr char kSomeDigest[] = "06b05ab6733a618578af5f94892f3950";

CheckpointManifest::File* add_file(CheckpointManifest* manifest, const std::string& name,
                                   CheckpointManifest::FileKind kind, int64_t size) {
  CheckpointManifest::File* file = manifest->add_files();
  file->set_name(name);
  file->set_kind(kind);
  file->set_rank(0);
  file->set_size(size);
  file->set_digest(kSomeDigest);
  return file;
}

void add_tensor(CheckpointManifest::File* file, const std::string& name, const std::string& dtype,
                std::vector<int64_t> shape, int64_t offset) {
  CheckpointManifest::Tensor* tensor = file->add_tensors();
  tensor->set_name(name);
  tensor->set_dtype(dtype);
  for (const int64_t dimension : shape) tensor->add_shape(dimension);
  tensor->set_offset(offset);
}

// Returns a manifest with two table files, of hashes below and above 2^63, with 2 and 1 rows.
CheckpointManifest small_manifest() {
  CheckpointManifest manifest;
  manifest.set_producer("test");
  manifest.mutable_progress()->set_step(1000);
  manifest.mutable_progress()->set_elapsed_seconds(1.5);
  manifest.set_world_size(1);
  manifest.add_parts(CheckpointManifest::DENSE);
  manifest.add_parts(CheckpointManifest::ROWS);
  manifest.add_parts(CheckpointManifest::ROW_STATE);
  manifest.add_parts(CheckpointManifest::RANK_STATE);
  manifest.set_fingerprint("f");
  auto* digest = manifest.add_content_digests();
  digest->set_name("dense");
  digest->set_digest(kSomeDigest);
  CheckpointManifest::Table* table = manifest.add_tables();
  table->set_name("items");
  table->set_dim(4);
  table->set_dtype("BF16");
  table->set_rows(3);
  CheckpointManifest::Slot* slot = table->add_slots();
  slot->set_name("sum");
  slot->set_size(2);

  add_file(&manifest, "chunks-00000-of-00001.xxh", CheckpointManifest::CHUNKS_FILE, 30);
  auto* dense =
      add_file(&manifest, "dense-00000-of-00001.safetensors", CheckpointManifest::DENSE_FILE, 108);
  add_tensor(dense, "a", "F32", {2}, 100);
  add_tensor(dense, "none", "F32", {0, 3}, 108);
  add_file(&manifest, "state-00000-of-00001.pb", CheckpointManifest::STATE_FILE, 3);
  for (int i = 0; i < 2; ++i) {
    const int64_t rows = 2 - i;
    auto* file = add_file(&manifest,
                          i == 0 ? "table-items-00000-of-00002.safetensors"
                                 : "table-items-00001-of-00002.safetensors",
                          CheckpointManifest::TABLE_FILE, 200 + 24 * rows);
    file->set_table("items");
    file->set_first_hash(i == 0 ? 0 : uint64_t{1} << 63);
    file->set_last_hash(i == 0 ? (uint64_t{1} << 63) - 1 : UINT64_MAX);
    add_tensor(file, "table/items/ids", "I64", {rows}, 200);
    add_tensor(file, "table/items/slot/sum", "F32", {rows, 2}, 200 + 8 * rows);
    add_tensor(file, "table/items/weights", "BF16", {rows, 4}, 200 + 16 * rows);
  }
  return manifest;
}

// Inserts the correct digest into a text.
std::string with_digest(std::string text) {
  text.replace(14, 32, std::string(32, '0'));
  return text.replace(14, 32, format_digest(xxh3_128(text)));
}

std::string small_text() { return format_manifest(small_manifest()).value(); }

TEST(ManifestTest, TheBestScoreIsWholeAndNoLaterThanTheCheckpoint) {
  CheckpointManifest manifest = small_manifest();
  CheckpointManifest::BestScore& best = *manifest.mutable_best();
  best.set_score("eval/auc");
  best.set_value(0.75);
  best.set_step(1000);
  ASSERT_OK_AND_ASSIGN(const std::string text, format_manifest(manifest));
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest read, parse_manifest(text));
  EXPECT_EQ(read.best().DebugString(), best.DebugString());
  best.set_step(1001);
  EXPECT_THAT(format_manifest(manifest),
              StatusIs(kInvalid, HasSubstr("a best score of step 1001 at step 1000")));
  best.set_step(0);
  best.set_value(NAN);
  EXPECT_THAT(format_manifest(manifest), StatusIs(kInvalid, HasSubstr("best score is incomplete")));
  best.set_value(0.75);
  best.clear_score();
  EXPECT_THAT(format_manifest(manifest), StatusIs(kInvalid, HasSubstr("best score is incomplete")));
}

TEST(ManifestTest, ReadsBackWhatWasWritten) {
  ASSERT_OK_AND_ASSIGN(const std::string text, format_manifest(small_manifest()));
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest manifest, parse_manifest(text));
  CheckpointManifest expected = small_manifest();
  expected.set_digest(manifest.digest());
  expected.set_format_version(3);
  EXPECT_EQ(manifest.DebugString(), expected.DebugString());
  EXPECT_EQ(total_bytes(manifest), 30 + 108 + 3 + 248 + 224);
  EXPECT_TRUE(has_part(manifest, CheckpointManifest::ROWS));
  EXPECT_FALSE(has_part(manifest, CheckpointManifest::DENSE_OPTIMIZER));
  EXPECT_THAT(format_manifest(manifest), IsOkAndHolds(text)) << "equal manifests, equal bytes";
}

// The example of docs/checkpoint_format.md: the computation and the place of the digest.
TEST(ManifestTest, GoldenDigest) {
  const std::string text =
      "{\n \"digest\": \"b419baaa46f05afeb802637efc04b8cc\",\n \"format_version\": 1\n}\n";
  EXPECT_EQ(with_digest(text), text);
  EXPECT_THAT(parse_manifest(text), StatusIs(kDataLoss, HasSubstr("progress has no step")))
      << "the digest is right";
}

TEST(ManifestTest, TheTextBeginsWithTheDigest) {
  EXPECT_THAT(small_text(), StartsWith("{\n \"digest\": \""));
  EXPECT_EQ(with_digest(small_text()), small_text());
  EXPECT_THAT(small_text(), HasSubstr("\"last_hash\": \"18446744073709551615\""));
}

TEST(ManifestTest, EveryFlippedBitIsSeen) {
  const std::string good = small_text();
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string text = good;
      text[i] ^= 1 << bit;
      ASSERT_THAT(parse_manifest(text), StatusIs(kDataLoss)) << i << " " << bit;
    }
  }
}

TEST(ManifestTest, EveryTruncationAndEveryAdditionIsSeen) {
  const std::string good = small_text();
  for (size_t size = 0; size < good.size(); ++size) {
    ASSERT_THAT(parse_manifest(good.substr(0, size)), StatusIs(kDataLoss)) << size;
  }
  EXPECT_THAT(parse_manifest(good + " "), StatusIs(kDataLoss));
}

TEST(ManifestTest, UnknownFieldsAndBadJsonAreRefused) {
  auto edited = [](const std::string& from, const std::string& to) {
    return with_digest(absl::StrReplaceAll(small_text(), {{from, to}}));
  };
  EXPECT_THAT(parse_manifest(edited("\"producer\"", "\"maker\"")),
              StatusIs(kDataLoss, HasSubstr("maker")));
  EXPECT_THAT(parse_manifest(edited("ROW_STATE", "NO_STATE")), StatusIs(kDataLoss));
  EXPECT_THAT(parse_manifest(edited("\"world_size\": 1", "\"world_size\": [[[")),
              StatusIs(kDataLoss));
  EXPECT_THAT(parse_manifest(with_digest(small_text().substr(0, 46) + std::string(100000, '['))),
              StatusIs(kDataLoss));
}

TEST(ManifestTest, NewerVersionsAreNamedWhateverElseTheyHold) {
  const std::string newer = absl::StrReplaceAll(
      small_text(), {{"\"format_version\": 3", "\"format_version\": 4,\n \"more\": {\"x\": [1]}"}});
  EXPECT_THAT(parse_manifest(with_digest(newer)),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("format version 4 of test")));
  EXPECT_THAT(parse_manifest(newer), StatusIs(kDataLoss)) << "damage comes first";
  const std::string zero =
      absl::StrReplaceAll(small_text(), {{"\"format_version\": 3", "\"format_version\": 0"}});
  EXPECT_THAT(parse_manifest(with_digest(zero)), StatusIs(kDataLoss));
}

TEST(ManifestTest, VersionOneIsReadAndHasNoDigestOfTablesState) {
  const auto first = [](const CheckpointManifest& manifest) {
    const absl::StatusOr<std::string> text = format_manifest(manifest);
    EXPECT_OK(text);
    return with_digest(
        absl::StrReplaceAll(*text, {{"\"format_version\": 3", "\"format_version\": 1"}}));
  };
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest old, parse_manifest(first(small_manifest())));
  EXPECT_EQ(old.format_version(), 1);
  CheckpointManifest manifest = small_manifest();
  manifest.mutable_tables(0)->set_state_digest(kSomeDigest);
  EXPECT_THAT(format_manifest(manifest), StatusIs(kInvalid, HasSubstr("state that is not there")));
  manifest.add_parts(CheckpointManifest::TABLE_STATE);
  EXPECT_THAT(parse_manifest(first(manifest)),
              StatusIs(kDataLoss, HasSubstr("state that is not there")));
  manifest.mutable_tables(0)->set_state_digest("x");
  EXPECT_THAT(format_manifest(manifest), StatusIs(kInvalid));
}

TEST(ManifestTest, ColumnsOfTrainingAreInOrderAndKnown) {
  CheckpointManifest manifest = small_manifest();
  for (const char* name : {"item", "user"}) {
    DataIdentity::Column& column = *manifest.add_train_columns();
    column.set_name(name);
    column.set_cells(DataIdentity::TEXT);
    column.set_file("a.csv");
  }
  ASSERT_OK_AND_ASSIGN(const std::string text, format_manifest(manifest));
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest read, parse_manifest(text));
  ASSERT_EQ(read.train_columns_size(), 2);
  EXPECT_EQ(read.train_columns(1).DebugString(), manifest.train_columns(1).DebugString());
  const std::string second =
      absl::StrReplaceAll(text, {{"\"format_version\": 3", "\"format_version\": 2"}});
  EXPECT_THAT(parse_manifest(with_digest(second)),
              StatusIs(kDataLoss, HasSubstr("train_columns in format version 2")));
  manifest.mutable_train_columns(0)->clear_cells();
  EXPECT_THAT(format_manifest(manifest), StatusIs(kInvalid, HasSubstr("cells of column \"item\"")));
  manifest.mutable_train_columns()->SwapElements(0, 1);
  EXPECT_THAT(format_manifest(manifest),
              StatusIs(kInvalid, HasSubstr("column \"item\" after \"user\"")));
}

TEST(ManifestTest, TextsMustBeUtf8) {
  CheckpointManifest manifest = small_manifest();
  manifest.set_config("gr\xc3\xbc\xc3\x9f \"\\\n\t\x01");
  ASSERT_OK_AND_ASSIGN(const std::string text, format_manifest(manifest));
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest back, parse_manifest(text));
  EXPECT_EQ(back.config(), manifest.config());
  manifest.set_config("\xff");
  EXPECT_THAT(format_manifest(manifest), StatusIs(kInvalid, HasSubstr("UTF-8")));
}

TEST(ManifestTest, NumbersSurvive) {
  CheckpointManifest manifest = small_manifest();
  const double values[] = {0.1, -1e300, std::numeric_limits<double>::denorm_min(),
                           std::numeric_limits<double>::infinity(), std::nan("")};
  for (const double value : values) {
    auto* metric = manifest.add_metrics();
    metric->set_name("auc");
    metric->set_value(value);
  }
  manifest.mutable_progress()->set_examples(INT64_MAX);
  ASSERT_OK_AND_ASSIGN(const std::string text, format_manifest(manifest));
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest back, parse_manifest(text));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(back.metrics(i).value(), values[i]);
  EXPECT_TRUE(std::isnan(back.metrics(4).value()));
  EXPECT_EQ(back.progress().examples(), INT64_MAX);
}

struct Rule {
  const char* message;
  std::function<void(CheckpointManifest&)> break_it;
};

TEST(ManifestTest, EveryRuleIsHeld) {
  using M = CheckpointManifest;
  // files(): 0 chunks, 1 dense, 2 state, 3 and 4 table
  const Rule rules[] = {
      {"progress has no step", [](M& m) { m.clear_progress(); }},
      {"negative", [](M& m) { m.mutable_progress()->set_examples(-1); }},
      {"world_size", [](M& m) { m.set_world_size(0); }},
      {"world_size", [](M& m) { m.set_world_size(100000); }},
      {"1 chunks files of 2", [](M& m) { m.set_world_size(2); }},
      {"a part twice", [](M& m) { m.add_parts(M::ROWS); }},
      {"a part twice, or unknown", [](M& m) { m.add_parts(M::UNKNOWN_PART); }},
      {"digest of dense", [](M& m) { m.mutable_content_digests(0)->set_digest("x"); }},
      {"two content digests", [](M& m) { *m.add_content_digests() = m.content_digests(0); }},
      {"digest of the base", [](M& m) { m.mutable_base()->set_depth(1); }},
      {"base of step 1000",
       [](M& m) {
         m.mutable_base()->set_digest(kSomeDigest);
         m.mutable_base()->set_step(1000);
         m.mutable_base()->set_depth(1);
       }},
      {"depth 1001",
       [](M& m) {
         m.mutable_base()->set_digest(kSomeDigest);
         m.mutable_base()->set_step(0);
         m.mutable_base()->set_depth(1001);
       }},
      {"bad name of a table", [](M& m) { m.mutable_tables(0)->set_name("../x"); }},
      {"two tables", [](M& m) { *m.add_tables() = m.tables(0); }},
      {"has dim 0", [](M& m) { m.mutable_tables(0)->set_dim(0); }},
      {"has dtype F64", [](M& m) { m.mutable_tables(0)->set_dtype("F64"); }},
      {"negative number", [](M& m) { m.mutable_tables(0)->set_applied_steps(-1); }},
      {"bad slot", [](M& m) { *m.mutable_tables(0)->add_slots() = m.tables(0).slots(0); }},
      {"bad slot", [](M& m) { m.mutable_tables(0)->mutable_slots(0)->set_size(0); }},
      {"has 4 rows, its files 3", [](M& m) { m.mutable_tables(0)->set_rows(4); }},
      {"after", [](M& m) { *m.add_files() = m.files(4); }},
      {"where dense-00000-of-00001.safetensors is due",
       [](M& m) { m.mutable_files(1)->set_name("dense-00000-of-00002.safetensors"); }},
      {"is due", [](M& m) { m.mutable_files(1)->set_name("dense/../x"); }},
      {"/etc/passwd after", [](M& m) { m.mutable_files(2)->set_name("/etc/passwd"); }},
      {"negative size", [](M& m) { m.mutable_files(0)->set_size(-1); }},
      {"digest of state", [](M& m) { m.mutable_files(2)->set_digest(std::string(32, 'A')); }},
      {"is of rank 1", [](M& m) { m.mutable_files(1)->set_rank(1); }},
      {"has no kind", [](M& m) { m.mutable_files(2)->clear_kind(); }},
      {"has no table",
       [](M& m) {
         m.mutable_files(3)->set_table("other");
         m.mutable_files(3)->clear_tensors();
       }},
      {"0 state files of 1", [](M& m) { m.mutable_files()->DeleteSubrange(2, 1); }},
      {"1 state files of 0", [](M& m) { m.mutable_parts()->RemoveLast(); }},
      {"0 chunks files of 1", [](M& m) { m.mutable_files()->DeleteSubrange(0, 1); }},
      {"tensors where none may be",
       [](M& m) { *m.mutable_files(2)->add_tensors() = m.files(1).tensors(0); }},
      {"is due", [](M& m) { m.mutable_files()->DeleteSubrange(3, 1); }},
      {"is due", [](M& m) { m.mutable_files()->DeleteSubrange(4, 1); }},
      {"comes next", [](M& m) { m.mutable_files(4)->set_first_hash(5); }},
      {"comes next", [](M& m) { m.mutable_files(3)->set_last_hash(5); }},
      {"comes next", [](M& m) { m.mutable_files(4)->set_last_hash(UINT64_MAX - 1); }},
      {"comes next", [](M& m) { m.mutable_files(3)->set_last_hash(UINT64_MAX); }},
      {"twice", [](M& m) { m.mutable_files(1)->mutable_tensors(1)->set_name("a"); }},
      {"holds \"..\"", [](M& m) { m.mutable_files(1)->mutable_tensors(0)->set_name("../a"); }},
      {"may not be there",
       [](M& m) { m.mutable_files(1)->mutable_tensors(0)->set_name("table/items/ids"); }},
      {"may not be there",
       [](M& m) { m.mutable_files(3)->mutable_tensors(0)->set_name("table/item/ids"); }},
      {"cannot be", [](M& m) { m.mutable_files(1)->mutable_tensors(0)->set_dtype("F33"); }},
      {"cannot be", [](M& m) { m.mutable_files(1)->mutable_tensors(0)->set_shape(0, 3); }},
      {"cannot be", [](M& m) { m.mutable_files(1)->mutable_tensors(0)->set_shape(0, -1); }},
      {"cannot be", [](M& m) { m.mutable_files(1)->mutable_tensors(0)->set_shape(0, INT64_MAX); }},
      {"cannot be", [](M& m) { m.mutable_files(1)->mutable_tensors(1)->set_offset(109); }},
      {"the file at 109", [](M& m) { m.mutable_files(1)->set_size(109); }},
      {"unknown tensor",
       [](M& m) { m.mutable_files(3)->mutable_tensors(1)->set_name("table/items/slot/other"); }},
      {"in a table of 2 rows",
       [](M& m) { m.mutable_files(3)->mutable_tensors(2)->set_dtype("F16"); }},
      {"unknown tensor",
       [](M& m) { m.mutable_files(3)->mutable_tensors(0)->set_name("table/items/tombstones"); }},
  };
  for (const Rule& rule : rules) {
    CheckpointManifest manifest = parse_manifest(small_text()).value();
    rule.break_it(manifest);
    EXPECT_THAT(check_manifest(manifest), StatusIs(kInvalid, HasSubstr(rule.message)))
        << rule.message;
  }
}

TEST(ManifestTest, RulesAreHeldWhenReadingAndWriting) {
  CheckpointManifest manifest = small_manifest();
  manifest.mutable_tables(0)->set_rows(4);
  EXPECT_THAT(format_manifest(manifest), StatusIs(kInvalid));
  const std::string text =
      with_digest(absl::StrReplaceAll(small_text(), {{"\"rows\": \"3\"", "\"rows\": \"4\""}}));
  EXPECT_THAT(parse_manifest(text), StatusIs(kDataLoss, HasSubstr("has 4 rows")));
}

TEST(ManifestTest, DeltasHoldSomeRowsAndTombstones) {
  CheckpointManifest manifest = small_manifest();
  manifest.mutable_base()->set_step(900);
  manifest.mutable_base()->set_digest(kSomeDigest);
  manifest.mutable_base()->set_depth(1);
  manifest.mutable_tables(0)->set_rows(100);
  CheckpointManifest::File* file = manifest.mutable_files(4);
  for (CheckpointManifest::Tensor& tensor : *file->mutable_tensors()) {
    if (tensor.offset() > 200) tensor.set_offset(tensor.offset() + 16);
  }
  add_tensor(file, "table/items/tombstones", "I64", {2}, 208);
  file->set_size(file->size() + 16);
  EXPECT_OK(format_manifest(manifest));
}

TEST(ManifestTest, EqualContent) {
  const CheckpointManifest manifest = small_manifest();
  CheckpointManifest other = manifest;
  other.set_producer("another");
  other.set_created("later");
  other.set_digest(kSomeDigest);
  other.mutable_progress()->set_elapsed_seconds(9);
  other.mutable_files(0)->set_size(31);
  other.set_finished(false);
  other.mutable_parts()->SwapElements(0, 1);
  EXPECT_TRUE(equal_content(manifest, other));
  for (const auto& change : std::vector<std::function<void(CheckpointManifest&)>>{
           [](CheckpointManifest& m) { m.mutable_progress()->set_epoch(1); },
           [](CheckpointManifest& m) { m.mutable_parts()->RemoveLast(); },
           [](CheckpointManifest& m) { m.set_fingerprint("g"); },
           [](CheckpointManifest& m) { m.set_finished(true); },
           [](CheckpointManifest& m) { m.add_state_digests(kSomeDigest); },
           [](CheckpointManifest& m) { m.mutable_base()->set_step(1); },
           [](CheckpointManifest& m) { m.mutable_content_digests(0)->set_digest(""); },
           [](CheckpointManifest& m) { m.mutable_tables(0)->set_applied_steps(1); }}) {
    other = manifest;
    change(other);
    EXPECT_FALSE(equal_content(manifest, other)) << other.DebugString();
  }
}

// Returns the manifest of rank `rank`, with 10 + rank rows of a table.
CheckpointManifest part(int rank) {
  CheckpointManifest manifest;
  manifest.mutable_progress()->set_step(7);
  manifest.mutable_progress()->set_elapsed_seconds(rank);
  manifest.add_state_digests(format_digest(100 + rank));
  if (rank == 0) {
    auto* dense = manifest.add_content_digests();
    dense->set_name("dense");
    dense->set_digest(format_digest(5));
  }
  auto* digest = manifest.add_content_digests();
  digest->set_name("table/a");
  digest->set_digest(format_digest(~absl::uint128(0) - rank));
  CheckpointManifest::Table* table = manifest.add_tables();
  table->set_name("a");
  table->set_rows(10 + rank);
  table->set_applied_steps(7);
  table->set_evicted_log_begins(rank == 1 ? 4 : 2);
  table->set_state_digest(format_digest(1000 + rank));
  manifest.add_files()->set_rank(rank);
  return manifest;
}

absl::StatusOr<CheckpointManifest> joined(
    int ranks, const std::function<void(CheckpointManifest&)>& spoil_last = nullptr) {
  std::vector<std::string> texts;
  for (int rank = 0; rank < ranks; ++rank) {
    CheckpointManifest manifest = part(rank);
    if (rank == ranks - 1 && spoil_last != nullptr) spoil_last(manifest);
    texts.push_back(manifest.SerializeAsString());
  }
  return joined_manifest(texts);
}

TEST(JoinedManifestTest, RowsAndDigestsOfTablesAreSums) {
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest manifest, joined(3));
  const CheckpointManifest::Table& table = manifest.tables(0);
  EXPECT_EQ(table.rows(), 10 + 11 + 12);
  EXPECT_EQ(table.applied_steps(), 7);
  EXPECT_EQ(table.evicted_log_begins(), 4) << "the largest";
  EXPECT_EQ(table.state_digest(), format_digest(1000 + 1001 + 1002));
  ASSERT_EQ(manifest.content_digests_size(), 2);
  EXPECT_EQ(manifest.content_digests(0).digest(), format_digest(5)) << "rank 0 has it alone";
  EXPECT_EQ(manifest.content_digests(1).digest(), format_digest(~absl::uint128(0) - 5))
      << "modulo 2^128";
  EXPECT_EQ(manifest.progress().elapsed_seconds(), 0) << "of rank 0";
  ASSERT_EQ(manifest.files_size(), 3);
  ASSERT_EQ(manifest.state_digests_size(), 3);
  EXPECT_EQ(manifest.files(2).rank(), 2);
  EXPECT_EQ(manifest.state_digests(2), format_digest(102));
}

TEST(JoinedManifestTest, OmittedRowsAreSums) {
  std::vector<std::string> texts;
  for (const int omitted : {0, 3, 4}) {
    CheckpointManifest manifest = part(static_cast<int>(texts.size()));
    if (omitted > 0) manifest.mutable_tables(0)->set_omitted_rows(omitted);
    texts.push_back(manifest.SerializeAsString());
  }
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest manifest, joined_manifest(texts));
  EXPECT_EQ(manifest.tables(0).omitted_rows(), 7);
  EXPECT_EQ(manifest.tables(0).rows(), 10 + 11 + 12);
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest without, joined(3));
  EXPECT_FALSE(without.tables(0).has_omitted_rows());
}

TEST(JoinedManifestTest, OneRankIsAsItWas) {
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest manifest, joined(1));
  EXPECT_EQ(manifest.SerializeAsString(), part(0).SerializeAsString());
}

TEST(JoinedManifestTest, RanksThatDisagreeAreNamed) {
  for (const auto& spoil : std::vector<std::function<void(CheckpointManifest&)>>{
           [](auto& m) { m.mutable_progress()->set_step(8); },
           [](auto& m) { m.mutable_tables(0)->set_name("b"); },
           [](auto& m) { m.mutable_tables(0)->set_dim(4); },
           [](auto& m) { m.mutable_tables(0)->set_applied_steps(6); },
           [](auto& m) { m.add_tables()->set_name("z"); }, [](auto& m) { m.add_left_out("x"); },
           [](auto& m) { m.mutable_base()->set_step(1); },
           [](auto& m) { m.add_parts(CheckpointManifest::ROWS); },
           [](auto& m) { m.mutable_tables(0)->set_state_digest("x"); },
           [](auto& m) { m.mutable_content_digests(0)->set_name("table/b"); }}) {
    EXPECT_THAT(joined(3, spoil), StatusIs(absl::StatusCode::kInternal, HasSubstr("rank 2")));
  }
  EXPECT_THAT(joined_manifest({part(0).SerializeAsString(), "\xff"}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("rank 1")));
}

}  // namespace
}  // namespace millrace
