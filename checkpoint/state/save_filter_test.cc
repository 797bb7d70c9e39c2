#include "checkpoint/state/save_filter.h"

#include <ATen/ATen.h>

#include <map>

#include "absl/strings/match.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/state/state_reader.h"
#include "checkpoint/testing/tiny_state_testing.h"
#include "optim/dense_optimizer_factory.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::vector<std::string> names_of(const std::vector<NamedParameter>& tensors) {
  std::vector<std::string> names;
  for (const NamedParameter& tensor : tensors) names.push_back(tensor.name);
  return names;
}

class SaveFilterTest : public testing::Test {
 protected:
  SaveFilterTest() {
    step_state(saved_, {1, 2, 3});
    step_state(saved_, {2, 5});
    step_state(fresh_, {9});
  }

  // Saves with this filter and reads the checkpoint for the other state.
  absl::StatusOr<LoadedState> written_and_read(const std::vector<std::string>& exclude) {
    EXPECT_OK(write_state(files_, "ck", filter_state(saved_.state(), exclude)));
    ThreadPool threads(2);
    ASSIGN_OR_RETURN(const auto chain, open_chain(files_, path_));
    return read_state(chain, fresh_.state(), threads);
  }

  MemoryFileSystem files_;
  const std::string path_ = "ck/" + checkpoint_name(2);
  TinyState saved_ = tiny_state(1, {"", ""}), fresh_ = tiny_state(2, {"", ""});
};

TEST_F(SaveFilterTest, WhatIsLeftOutIsNamedAndTheRestIsThere) {
  const TrainState kept = filter_state(saved_.state(), {"fc.w*", "items"});
  EXPECT_THAT(kept.left_out, ElementsAre("fc.weight", "items"));
  EXPECT_THAT(names_of(kept.dense), testing::Not(testing::Contains("fc.weight")));
  EXPECT_THAT(kept.dense, testing::SizeIs(saved_.dense.size() - 1));
  ASSERT_THAT(kept.tables, testing::SizeIs(1));
  EXPECT_EQ(kept.tables[0]->name(), "items1");
  for (const std::string& name : names_of(kept.optimizer_tensors())) {
    EXPECT_THAT(name, HasSubstr("optimizer/fc.bias/"));
  }
  EXPECT_EQ(kept.rank.table_size(), 2) << "when they were seen last";
  TrainState reported = saved_.state();
  for (const auto& table : saved_.tables) {
    reported.rank.mutable_report()->add_table()->set_table(table->name());
  }
  reported = filter_state(reported, {"items"});
  ASSERT_EQ(reported.rank.report().table_size(), 1);
  EXPECT_EQ(reported.rank.report().table(0).table(), "items1");
  EXPECT_THAT(filter_state(saved_.state(), {}).left_out, IsEmpty());
}

TEST_F(SaveFilterTest, ATrainerKeepsWhatWasLeftOutAndTakesTheRest) {
  ASSERT_OK_AND_ASSIGN(LoadedState loaded, written_and_read({"fc.weight", "items"}));
  EXPECT_THAT(loaded.left_out, ElementsAre("fc.weight", "items"));
  const at::Tensor weight = fresh_.dense[0].value.clone();
  const int64_t own_rows = fresh_.tables[0]->rows();
  ASSERT_OK(put_state(fresh_.state(), 0, 1, loaded));
  ASSERT_EQ(fresh_.dense[0].name, "fc.weight");
  EXPECT_TRUE(fresh_.dense[0].value.equal(weight));
  EXPECT_EQ(fresh_.tables[0]->rows(), own_rows);
  EXPECT_EQ(fresh_.tables[0]->content().counters().last_step, 2);
  EXPECT_EQ(fresh_.tables[0]->content().counters().applied_steps, 1) << "its own";
  for (size_t i = 1; i < fresh_.dense.size(); ++i) {
    EXPECT_TRUE(fresh_.dense[i].value.equal(saved_.dense[i].value)) << fresh_.dense[i].name;
  }
  EXPECT_EQ(fresh_.tables[1]->content().digest(), saved_.tables[1]->content().digest());
  const auto steps = [](const TinyState& state) {
    std::map<std::string, double> steps;
    for (const NamedParameter& tensor : state.state().optimizer_tensors()) {
      if (absl::EndsWith(tensor.name, "/step")) steps[tensor.name] = tensor.value.item<double>();
    }
    return steps;
  };
  EXPECT_THAT(steps(fresh_), ElementsAre(testing::Pair("optimizer/fc.bias/step", 2),
                                         testing::Pair("optimizer/fc.weight/step", 1)));
}

// Adagrad has state from the beginning, and every step requires the state.
TEST_F(SaveFilterTest, AnOptimizerThatAlwaysHasStateBeginsAnew) {
  DenseOptimizerConfig adagrad;
  adagrad.mutable_adagrad();
  for (TinyState* state : {&saved_, &fresh_}) {
    auto optimizer = create_dense_optimizer(adagrad, {state->dense[0], state->dense[1]});
    ASSERT_OK(optimizer.status());
    state->optimizer = *std::move(optimizer);
  }
  step_state(saved_, {1});
  EXPECT_OK(write_state(files_, "ck", filter_state(saved_.state(), {"fc.weight"})));
  ThreadPool threads(2);
  ASSERT_OK_AND_ASSIGN(const auto chain, open_chain(files_, "ck/" + checkpoint_name(3)));
  ASSERT_OK_AND_ASSIGN(LoadedState loaded, read_state(chain, fresh_.state(), threads));
  ASSERT_OK(put_state(fresh_.state(), 0, 1, loaded));
  step_state(fresh_, {1});
}

TEST_F(SaveFilterTest, EverythingMayBeLeftOut) {
  ASSERT_OK_AND_ASSIGN(LoadedState loaded, written_and_read({"*"}));
  EXPECT_THAT(loaded.dense, IsEmpty());
  EXPECT_THAT(loaded.tables, IsEmpty());
  ASSERT_OK(put_state(fresh_.state(), 0, 1, loaded));
}

TEST_F(SaveFilterTest, AnotherModelIsStillRefused) {
  TinyState other = tiny_state(2, {"row_dtype: BFLOAT16", ""});
  EXPECT_OK(write_state(files_, "ck", filter_state(saved_.state(), {"fc.weight"})));
  ThreadPool threads(2);
  ASSERT_OK_AND_ASSIGN(const auto chain, open_chain(files_, path_));
  EXPECT_THAT(read_state(chain, other.state(), threads).status(),
              StatusIs(kInvalid, HasSubstr("items")));
}

TEST_F(SaveFilterTest, APatternThatFitsNothingIsAnError) {
  EXPECT_OK(check_save_filter(saved_.state(), {"fc.*", "items*", "half"}));
  EXPECT_THAT(check_save_filter(saved_.state(), {"fc.*", "itens"}),
              StatusIs(kInvalid, AllOf(HasSubstr("\"itens\""), HasSubstr("\"items\""))));
  EXPECT_THAT(check_save_filter(saved_.state(), {"items@m"}),
              StatusIs(kInvalid, HasSubstr("slots with their table")));
}

}  // namespace
}  // namespace millrace
