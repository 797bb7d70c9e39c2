#include "checkpoint/state/state_reader.h"

#include <ATen/ATen.h>

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/folder/model_only.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/testing/tiny_state_testing.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using Ids = std::vector<int64_t>;
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

class StateReaderTest : public testing::Test {
 protected:
  StateReaderTest() : state_(make(1)) {
    for (const Ids& ids : {Ids{1, 2, 3}, Ids{2, 3, 4}, Ids{5}}) step_state(state_, ids);
  }
  static TinyState make(int64_t seed) {
    return tiny_state(seed, {"row_dtype: BFLOAT16 eviction { idle_steps: 2 }",
                             "admission { count { min_count: 2 } }"});
  }
  static std::string path(int64_t step) { return join_path("c", checkpoint_name(step)); }

  absl::StatusOr<LoadedState> read(const TinyState& target, int64_t step = 3) {
    ASSIGN_OR_RETURN(const auto chain, open_chain(files_, path(step)));
    return read_state(chain, target.state(), threads_);
  }
  // Returns the content of `target` after reading and putting a checkpoint.
  absl::StatusOr<std::string> restored(TinyState& target, int64_t step = 3) {
    const std::string before = target.to_string();
    ASSIGN_OR_RETURN(LoadedState loaded, read(target, step));
    EXPECT_EQ(target.to_string(), before) << "reading changed it";
    RETURN_IF_ERROR(put_state(target.state(), 0, 1, loaded));
    target.step = step;
    return target.to_string();
  }
  // Saves state_ after `spoil` has changed the manifest and `spoil_state` the bytes of the state
  // file.
  absl::Status write_spoilt(const std::function<void(CheckpointManifest&)>& spoil,
                            const std::function<void(CheckpointState&)>& spoil_state) {
    MemoryFileSystem good;
    RETURN_IF_ERROR(write_state(good, "c", state_.state()));
    ASSIGN_OR_RETURN(const auto reader, CheckpointReader::open(good, path(3)));
    ASSIGN_OR_RETURN(StateWriter writer,
                     StateWriter::create(view_state(state_.state()), {}, threads_));
    CommitOptions options = {"c", 3, new_nonce(), 0, 1};
    ASSIGN_OR_RETURN(const auto directory, CommitDirectory::begin(files_, options));
    CheckpointManifest manifest = writer.manifest();
    for (const CheckpointManifest::File& file : reader->manifest().files()) {
      if (file.kind() == CheckpointManifest::CHUNKS_FILE) continue;
      ASSIGN_OR_RETURN(std::string bytes, reader->read_all(file, 1 << 20));
      if (file.kind() == CheckpointManifest::STATE_FILE) {
        CheckpointState state;
        EXPECT_TRUE(state.ParseFromString(bytes));
        spoil_state(state);
        bytes = state.SerializeAsString();
      }
      RETURN_IF_ERROR(directory->write(file, bytes));
    }
    ASSIGN_OR_RETURN(const auto entries, directory->finish_files(threads_));
    for (const CheckpointManifest::File& file : entries) *manifest.add_files() = file;
    spoil(manifest);
    return directory->commit(std::move(manifest), threads_).status();
  }
  absl::Status read_spoilt(const std::function<void(CheckpointState&)>& spoil_state) {
    RETURN_IF_ERROR(write_spoilt([](CheckpointManifest&) {}, spoil_state));
    return read(make(2)).status();
  }

  TinyState state_;
  MemoryFileSystem files_;
  ThreadPool threads_{2};
};

TEST_F(StateReaderTest, EverythingComesBack) {
  ASSERT_OK(write_state(files_, "c", state_.state()));
  TinyState target = make(2);
  step_state(target, {8, 9});
  EXPECT_THAT(restored(target), IsOkAndHolds(state_.to_string()));
  ASSERT_OK_AND_ASSIGN(const LoadedState loaded, read(target));
  EXPECT_EQ(loaded.shared.progress().examples(), 30);
  ASSERT_THAT(loaded.ranks, SizeIs(1));
  EXPECT_EQ(loaded.ranks[0].table_size(), 2);
}

TEST_F(StateReaderTest, WithoutTablesAndWithOne) {
  for (const std::vector<std::string>& tables :
       {std::vector<std::string>{}, std::vector<std::string>{""}}) {
    TinyState from = tiny_state(1, tables), to = tiny_state(2, tables);
    step_state(from, {1, 2, 3});
    MemoryFileSystem files;
    ASSERT_OK(write_state(files, "c", from.state()));
    ASSERT_OK_AND_ASSIGN(const auto chain, open_chain(files, path(1)));
    ASSERT_OK_AND_ASSIGN(LoadedState loaded, read_state(chain, to.state(), threads_));
    ASSERT_OK(put_state(to.state(), 0, 1, loaded));
    EXPECT_EQ(to.to_string(), from.to_string());
  }
}

TEST_F(StateReaderTest, AChainOfDeltasGivesTheWhole) {
  ASSERT_OK(write_state(files_, "c", state_.state()));
  for (int64_t step = 4; step <= 8; ++step) {
    step_state(state_, {step, 2 * step, 3});
    ASSERT_OK(state_.tables[0]->maintenance().evict({.step = step}).status());
    StateWriterOptions options;
    options.base = base_of(files_, path(step - 1));
    ASSERT_OK(write_state(files_, "c", state_.state(), options));
    TinyState target = make(2);
    EXPECT_THAT(restored(target, step), IsOkAndHolds(state_.to_string()));
  }
  EXPECT_GT(state_.tables[0]->content().evicted_log().ids.size(), 3);
}

TEST_F(StateReaderTest, ADeltaWithAnotherNumberOfRowsThanItSaysIsDamage) {
  ASSERT_OK(write_state(files_, "c", state_.state()));
  step_state(state_, {1});
  StateWriterOptions options;
  options.base = base_of(files_, path(3));
  ASSERT_OK_AND_ASSIGN(StateWriter writer,
                       StateWriter::create(view_state(state_.state()), options, threads_));
  ASSERT_OK_AND_ASSIGN(const auto directory, CommitDirectory::begin(files_, {"c", 4, "n", 0, 1}));
  ASSERT_OK(writer.write(*directory, threads_));
  CheckpointManifest manifest = writer.manifest();
  ASSERT_OK_AND_ASSIGN(const auto entries, directory->finish_files(threads_));
  for (const CheckpointManifest::File& file : entries) *manifest.add_files() = file;
  manifest.mutable_tables(0)->set_rows(manifest.tables(0).rows() + 1);
  ASSERT_OK(directory->commit(manifest, threads_).status());
  EXPECT_THAT(read(make(2), 4).status(),
              StatusIs(kDataLoss, AllOf(HasSubstr("table items"), HasSubstr("rows"))));
}

TEST_F(StateReaderTest, AnotherModelIsRefusedWithAllThatDiffers) {
  ASSERT_OK(write_state(files_, "c", state_.state()));
  TinyState other = tiny_state(2, {"row_dtype: FLOAT16"});
  other.dense[2].value = at::zeros({4}, at::kHalf);
  other.dense[3].value = at::zeros({1, 2}, at::kFloat);
  other.dense.push_back({"more", at::zeros({1})});
  EXPECT_THAT(read(other).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("another model, in 5 points"),
                             HasSubstr("rows of BF16 there, F16 here"), HasSubstr("\"half\""),
                             HasSubstr("\"brain\""), HasSubstr("\"more\""),
                             HasSubstr("table items1 of the checkpoint is not in the model"))));
}

TEST_F(StateReaderTest, AModelAlone) {
  ASSERT_OK(write_state(files_, "c", state_.state()));
  for (const bool reduced : {false, true}) {
    if (reduced) {
      ASSERT_OK(make_model_only(files_, path(3), threads_));
    }
    TinyState target = make(2);
    ASSERT_OK_AND_ASSIGN(const auto chain, open_chain(files_, path(3)));
    TrainState model = target.state();
    model.dense_optimizers.clear();
    ASSERT_OK_AND_ASSIGN(LoadedState loaded, read_model(chain, model, threads_));
    EXPECT_TRUE(loaded.optimizer_tensors.empty());
    EXPECT_TRUE(loaded.ranks.empty());
    ASSERT_OK(put_state(model, 0, 1, loaded));
    for (size_t i = 0; i < target.dense.size(); ++i) {
      EXPECT_TRUE(target.dense[i].value.equal(state_.dense[i].value)) << target.dense[i].name;
    }
    const TableRows rows = target.tables[0]->content().export_rows(),
                    due = state_.tables[0]->content().export_rows();
    EXPECT_EQ(rows.ids, due.ids);
    EXPECT_EQ(rows.weights, due.weights);
    EXPECT_NE(rows.slots[0].values, due.slots[0].values) << "as in new rows";
  }
  EXPECT_THAT(read(make(2)).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("RANK_STATE"), HasSubstr("the model alone"))));
}

TEST_F(StateReaderTest, AModelOfAverages) {
  begin_average(state_);
  step_state(state_, {1});
  ASSERT_OK(write_state(files_, "c", state_.state()));
  for (const bool reduced : {false, true}) {
    if (reduced) {
      ASSERT_OK(make_model_only(files_, path(4), threads_));
    }
    for (const ModelWeights weights : {ModelWeights::kTrained, ModelWeights::kAverage}) {
      TinyState target = make(2);
      TrainState model = target.state();
      model.dense_optimizers.clear();
      ASSERT_OK_AND_ASSIGN(const auto chain, open_chain(files_, path(4)));
      ASSERT_OK_AND_ASSIGN(LoadedState loaded, read_model(chain, model, threads_, weights));
      EXPECT_TRUE(loaded.optimizer_tensors.empty());
      ASSERT_OK(put_state(model, 0, 1, loaded));
      const bool average = weights == ModelWeights::kAverage;
      for (size_t i = 0; i < target.dense.size(); ++i) {
        const bool averaged = average && i < 2;
        const at::Tensor due =
            averaged ? state_.average->state()[2 * i + 1].value : state_.dense[i].value;
        EXPECT_TRUE(target.dense[i].value.equal(due)) << target.dense[i].name;
        EXPECT_EQ(target.dense[i].value.equal(state_.dense[i].value), !averaged);
      }
    }
  }
}

TEST_F(StateReaderTest, AveragesOfACheckpointWithoutAreRefused) {
  ASSERT_OK(write_state(files_, "c", state_.state()));
  ASSERT_OK_AND_ASSIGN(const auto chain, open_chain(files_, path(3)));
  EXPECT_THAT(read_model(chain, make(2).state(), threads_, ModelWeights::kAverage).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("step-00000003 has no moving average"),
                             HasSubstr("--weights trained"))));
}

TEST_F(StateReaderTest, AStateFileOfAnotherPlaceIsDamage) {
  EXPECT_OK(read_spoilt([](CheckpointState&) {}));
  const std::vector<std::function<void(CheckpointState&)>> spoils = {
      [](CheckpointState& state) { state.set_rank(1); },
      [](CheckpointState& state) { state.set_world_size(2); },
      [](CheckpointState& state) { state.clear_shared(); },
      [](CheckpointState& state) { state.mutable_shared()->mutable_progress()->set_step(4); }};
  for (size_t i = 0; i < spoils.size(); ++i) {
    ASSERT_OK(remove_recursively(files_, path(3)));
    EXPECT_THAT(read_spoilt(spoils[i]), StatusIs(kDataLoss, HasSubstr("step-00000003")))
        << "number " << i;
  }
}

TEST_F(StateReaderTest, EveryRankHasItsOwn) {
  MemoryFileSystem files;
  TrainState state = state_.state();
  state.tables.clear();
  std::vector<CheckpointManifest::File> all;
  CheckpointManifest manifest;
  std::vector<std::unique_ptr<CommitDirectory>> directories;
  for (int rank = 0; rank < 3; ++rank) {
    state.rank.mutable_table(0)->set_steps(100 + rank);
    StateWriterOptions options;
    options.rank = rank;
    options.world_size = 3;
    ASSERT_OK_AND_ASSIGN(StateWriter writer,
                         StateWriter::create(view_state(state), options, threads_));
    ASSERT_OK_AND_ASSIGN(directories.emplace_back(),
                         CommitDirectory::begin(files, {"c", 3, "n", rank, 3}));
    ASSERT_OK(writer.write(*directories[rank], threads_));
    if (rank == 0) manifest = writer.manifest();
    ASSERT_OK_AND_ASSIGN(const auto entries, directories[rank]->finish_files(threads_));
    all.insert(all.end(), entries.begin(), entries.end());
  }
  for (const CheckpointManifest::File& file : all) *manifest.add_files() = file;
  ASSERT_OK(directories[0]->commit(manifest, threads_).status());
  ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(files, path(3)));
  ASSERT_OK_AND_ASSIGN(const RankStates states, read_rank_states(*reader));
  ASSERT_THAT(states.ranks, SizeIs(3));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(states.ranks[rank].table(0).steps(), 100 + rank);
  }
  EXPECT_EQ(states.shared.progress().step(), 3);
}

TEST_F(StateReaderTest, DamageIsNamedByItsFile) {
  ASSERT_OK(write_state(files_, "c", state_.state()));
  ASSERT_OK_AND_ASSIGN(const auto entries, files_.list(path(3)));
  for (const DirectoryEntry& entry : entries) {
    const std::string victim = join_path(path(3), entry.name);
    ASSERT_OK_AND_ASSIGN(const std::string content, read_file(files_, victim));
    std::string damaged = content;
    damaged[content.size() - 3] ^= 4;
    files_.put(victim, damaged);
    EXPECT_THAT(read(make(2)).status(), StatusIs(kDataLoss, HasSubstr(entry.name)));
    files_.put(victim, content);
  }
  EXPECT_OK(read(make(2)).status());
}

}  // namespace
}  // namespace millrace
