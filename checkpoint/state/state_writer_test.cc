#include "checkpoint/state/state_writer.h"

#include <ATen/ATen.h>

#include <map>
#include <utility>

#include "base/hash.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/folder/content_digests.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/testing/tiny_state_testing.h"
#include "proto/checkpoint_state.pb.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr char kSaved[] = "c/step-00000002";

class StateWriterTest : public testing::Test {
 protected:
  StateWriterTest() : state_(tiny_state(1, {"row_dtype: FLOAT16", ""})) {
    step_state(state_, {1, 2, 3});
    step_state(state_, {3, 4});
  }
  absl::Status create(const TrainState& state) {
    return StateWriter::create(view_state(state), {}, threads_).status();
  }

  TinyState state_;
  MemoryFileSystem files_;
  ThreadPool threads_{2};
};

TEST_F(StateWriterTest, TheManifestSaysWhatThereIs) {
  TrainState state = state_.state();
  state.shared.set_finished(true);
  DataIdentity::Column& column = *state.shared.mutable_train_data()->add_column();
  column.set_name("user");
  column.set_cells(DataIdentity::TEXT);
  state.shared.mutable_train_data()->add_column()->set_name("zip");  // of two types
  ASSERT_OK(write_state(files_, "c", state));
  ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(files_, kSaved));
  const CheckpointManifest& manifest = reader->manifest();
  EXPECT_EQ(manifest.parts_size(), 6);
  EXPECT_TRUE(manifest.finished());
  ASSERT_EQ(manifest.train_columns_size(), 1);
  EXPECT_EQ(manifest.train_columns(0).DebugString(), column.DebugString());
  EXPECT_FALSE(manifest.has_base());
  EXPECT_EQ(manifest.progress().examples(), 20);
  ASSERT_EQ(manifest.tables_size(), 2);
  EXPECT_EQ(manifest.tables(0).dtype(), "F16");
  EXPECT_EQ(manifest.tables(1).name(), "items1");
  std::vector<std::string> names;
  for (const auto& file : manifest.files()) names.push_back(file.name());
  EXPECT_THAT(names,
              ElementsAre("chunks-00000-of-00001.xxh", "dense-00000-of-00001.safetensors",
                          "state-00000-of-00001.pb", "table-items-00000-of-00001.safetensors",
                          "table-items1-00000-of-00001.safetensors"));
}

TEST_F(StateWriterTest, DigestsAreThoseOfTheFiles) {
  ASSERT_OK(write_state(files_, "c", state_.state()));
  ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(files_, kSaved));
  ASSERT_OK_AND_ASSIGN(const auto computed,
                       compute_content_digests(*reader, DigestOf::kEverything, threads_));
  std::map<std::string, std::string> said;
  for (const auto& digest : reader->manifest().content_digests()) {
    said[digest.name()] = digest.digest();
  }
  ASSERT_EQ(said.size(), 3);
  for (const auto& [name, digest] : computed) EXPECT_EQ(said[name], format_digest(digest)) << name;
  EXPECT_EQ(computed.size(), 3);
  const absl::uint128 items = state_.tables[0]->content().digest();
  EXPECT_EQ(said["table/items"], format_digest(items));
}

TEST_F(StateWriterTest, TensorsKeepTypeAndShapeWhateverTheirStrides) {
  TrainState state = state_.state();
  state.dense.push_back({"turned", at::arange(6, at::kInt).view({2, 3}).t()});
  state.dense.push_back({"number", at::scalar_tensor(2.5, at::kDouble)});
  state.dense.push_back({"none", at::empty({0, 4}, at::kLong)});
  ASSERT_OK(write_state(files_, "c", state));
  ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(files_, kSaved));
  std::map<std::string, std::string> types, bytes;
  const CheckpointManifest::File& dense = reader->manifest().files(1);
  for (const auto& tensor : dense.tensors()) {
    types[tensor.name()] = tensor.dtype();
    for (const int64_t size : tensor.shape()) types[tensor.name()] += " " + std::to_string(size);
  }
  EXPECT_EQ(types["turned"], "I32 3 2");
  EXPECT_EQ(types["number"], "F64");
  EXPECT_EQ(types["none"], "I64 0 4");
  EXPECT_EQ(types["half"], "F16 3");
  EXPECT_EQ(types["brain"], "BF16 1 2");
  EXPECT_EQ(types["flag"], "BOOL 2");
  EXPECT_EQ(types["optimizer/fc.weight/exp_avg"], "F32 2 3");
  ThreadPool one(1);
  ASSERT_OK(reader->read_tensors(
      dense,
      [&](const TensorInfo& tensor, int64_t, absl::Span<const char> piece) {
        bytes[tensor.name].append(piece.data(), piece.size());
        return absl::OkStatus();
      },
      one));
  const int32_t turned[] = {0, 3, 1, 4, 2, 5};
  EXPECT_EQ(bytes["turned"], std::string(reinterpret_cast<const char*>(turned), sizeof(turned)));
}

TEST_F(StateWriterTest, WhatCannotBeSavedIsNamedBeforeAnythingIsWritten) {
  for (const char* name : {"table/x", "optimizer/fc.weight/exp_avg"}) {
    TrainState state = state_.state();
    state.dense[3].name = name;
    EXPECT_THAT(create(state), StatusIs(kInvalid, AllOf(HasSubstr(name), HasSubstr("taken"))));
  }
  TrainState complex = state_.state();
  complex.dense.push_back({"wave", at::zeros({2}, at::kComplexFloat)});
  EXPECT_THAT(create(complex), StatusIs(kInvalid, HasSubstr("\"wave\"")));
  TrainState twice = state_.state();
  twice.dense.push_back(twice.dense[0]);
  EXPECT_THAT(create(twice), StatusIs(kInvalid, HasSubstr("fc.weight")));
  TinyState other = tiny_state(1, {});
  other.tables.push_back(tiny_table("", "no name"));
  EXPECT_THAT(create(other.state()), StatusIs(kInvalid, HasSubstr("no name")));
}

TEST_F(StateWriterTest, WhatIsTheSameOnAllRanksIsWrittenByTheFirst) {
  TrainState state = state_.state();
  state.tables.clear();
  StateWriterOptions options;
  options.rank = 1;
  options.world_size = 3;
  ASSERT_OK_AND_ASSIGN(StateWriter writer,
                       StateWriter::create(view_state(state), options, threads_));
  EXPECT_EQ(writer.manifest().content_digests_size(), 0);
  ASSERT_OK(CommitDirectory::make(files_, {"c", 2, "n"}));
  ASSERT_OK_AND_ASSIGN(const auto directory, CommitDirectory::begin(files_, {"c", 2, "n", 1, 3}));
  ASSERT_OK(writer.write(*directory, threads_));
  ASSERT_OK_AND_ASSIGN(const auto entries, directory->finish_files(threads_));
  ASSERT_EQ(entries.size(), 2);
  EXPECT_EQ(entries[0].name(), state_file_name(1, 3));
  EXPECT_EQ(entries[0].rank(), 1);
  ASSERT_OK_AND_ASSIGN(const std::string bytes,
                       read_file(files_, "c/step-00000002.tmp-n/" + state_file_name(1, 3)));
  CheckpointState written;
  ASSERT_TRUE(written.ParseFromString(bytes));
  EXPECT_EQ(written.rank(), 1);
  EXPECT_EQ(written.world_size(), 3);
  EXPECT_FALSE(written.has_shared());
  EXPECT_EQ(writer.size_bytes(), static_cast<int64_t>(bytes.size()));
}

TEST_F(StateWriterTest, SaysItsSizeBeforeItWrites) {
  ASSERT_OK_AND_ASSIGN(const StateWriter writer,
                       StateWriter::create(view_state(state_.state()), {}, threads_));
  ASSERT_OK(write_state(files_, "c", state_.state()));
  ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(files_, kSaved));
  EXPECT_EQ(writer.size_bytes(),
            total_bytes(reader->manifest()) - reader->manifest().files(0).size());
}

TEST_F(StateWriterTest, ADeltaHasAllThatIsDenseAndTheRowsSince) {
  ASSERT_OK(write_state(files_, "c", state_.state()));
  step_state(state_, {4, 5});
  StateWriterOptions options;
  options.base = base_of(files_, kSaved);
  ASSERT_OK(write_state(files_, "c", state_.state(), options));
  ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(files_, "c/step-00000003"));
  EXPECT_EQ(reader->manifest().base().step(), 2);
  EXPECT_EQ(reader->manifest().base().depth(), 1);
  EXPECT_EQ(reader->manifest().tables(0).rows(), 5);
  for (const auto& file : reader->manifest().files()) {
    for (const auto& tensor : file.tensors()) {
      const bool rows = tensor.name() == "table/items/ids";
      if (rows || tensor.name() == "fc.weight") {
        EXPECT_EQ(tensor.shape(0), 2) << tensor.name();
      }
    }
  }
  EXPECT_EQ(reader->manifest().content_digests_size(), 3) << "of the whole";
}

}  // namespace
}  // namespace millrace
