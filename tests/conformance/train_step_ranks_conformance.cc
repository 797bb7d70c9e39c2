#include "tests/conformance/train_step_ranks_conformance.h"

#include <gmock/gmock.h>

#include <limits>
#include <map>

#include "base/mutex.h"
#include "distributed/thread_collectives.h"
#include "framework/model/model_parts.h"
#include "tests/fakes/fake_dataset.h"

namespace millrace::train_step_testing {
namespace {

using ::testing::ElementsAre;

// Returns rows [begin, end) of a batch with one id for each feature.
Batch rows(const Batch& batch, int64_t begin, int64_t end) {
  Batch part;
  part.size = end - begin;
  part.dense = batch.dense.slice(0, begin, end);
  part.labels = batch.labels.slice(0, begin, end);
  part.sparse.values = batch.sparse.values.view({-1, batch.size}).slice(1, begin, end).flatten();
  part.sparse.offsets = at::arange(part.sparse.values.numel() + 1, at::kLong);
  return part;
}

// The outcome of two ranks.
struct TwoRanks {
  // Adds the outcome of a rank.
  void add(Bench& bench) {
    MutexLock lock(mutex);
    states[bench.rank] = bench.state();
    for (const NamedParameter& parameter : parameters_of(bench.model())) {
      const at::Tensor flat = parameter.value.detach().contiguous();
      parameters[bench.rank].append(static_cast<const char*>(flat.const_data_ptr()), flat.nbytes());
    }
    const TableRows table = bench.rows();
    for (size_t i = 0; i < table.ids.size(); ++i) {
      const float* row = table.weights.data() + i * table.dim;
      rows[table.ids[i]] = at::tensor(at::ArrayRef<float>(row, table.dim));
      frequencies[table.ids[i]] = table.frequency[i];
    }
  }

  Mutex mutex;
  std::vector<std::string> states = std::vector<std::string>(2);      // with the rank's own rows
  std::vector<std::string> parameters = std::vector<std::string>(2);  // dense parameters, as bytes
  std::map<int64_t, at::Tensor> rows;                                 // of both ranks, by id
  std::map<int64_t, int64_t> frequencies;                             // likewise
};

// Expects that ranks have the same parameters, and together the rows of `reference`.
void expect_same_ranks(const TwoRanks& ranks, const TwoRanks& reference) {
  EXPECT_EQ(ranks.parameters[0], ranks.parameters[1]) << "all ranks hold the same bits";
  EXPECT_FALSE(reference.rows.empty());
  EXPECT_EQ(ranks.frequencies, reference.frequencies);
  for (const auto& [id, row] : ranks.rows) {
    const auto found = reference.rows.find(id);
    ASSERT_NE(found, reference.rows.end()) << id;
    EXPECT_TRUE(at::allclose(row, found->second, 1e-5, 1e-6)) << id;
  }
}

// Runs `steps` on two ranks; rank 1 begins at row `cut` of each batch of 8.
std::unique_ptr<TwoRanks> train_two_ranks(
    const MakeStep& make, int64_t cut, int steps,
    const std::function<void(int step, int rank, Bench&, absl::StatusOr<StepResult>)>& check,
    const std::function<void(int rank, Bench&)>& prepare = nullptr) {
  auto ranks = std::make_unique<TwoRanks>();
  const auto body = [&](std::unique_ptr<Collectives> collectives) -> absl::Status {
    const int rank = collectives->rank();
    Bench bench(make, "sgd", std::move(collectives));
    if (prepare) prepare(rank, bench);
    FakeDataset data({.batches = steps, .batch_size = 8, .sparse = 2});
    EXPECT_OK(data.start_epoch(0));
    for (int step = 0; step < steps; ++step) {
      const Batch batch = **data.next();
      const Batch part = rank == 0 ? rows(batch, 0, cut) : rows(batch, cut, 8);
      check(step, rank, bench, bench.run({part}, 8));
    }
    ranks->add(bench);
    return absl::OkStatus();
  };
  for (const absl::Status& status : run_thread_ranks({.world_size = 2}, body)) EXPECT_OK(status);
  return ranks;
}

void check_ranks(const MakeStep& make) {
  std::vector<at::Tensor> losses(3);
  at::Tensor weight;
  const auto applied = [&](int step, int rank, Bench& bench, absl::StatusOr<StepResult> result) {
    ASSERT_OK(result);
    EXPECT_TRUE(result->applied);
    EXPECT_EQ(result->examples, 8) << "those of the whole step";
    if (rank != 0) return;
    losses[step] = result->loss;
    weight = bench.parameter(0).detach().clone();
  };
  const auto halves = train_two_ranks(make, 4, 3, applied);
  const std::vector<at::Tensor> reference = losses;
  const at::Tensor expected = weight;
  for (const at::Tensor& loss : reference) ASSERT_TRUE(loss.defined());
  for (const int64_t cut : {1, 7, 8}) {
    SCOPED_TRACE(absl::StrCat(cut, " examples on rank 0, ", 8 - cut, " on rank 1"));
    losses.assign(3, at::Tensor());
    expect_same_ranks(*train_two_ranks(make, cut, 3, applied), *halves);
    EXPECT_TRUE(at::allclose(weight, expected, 1e-6, 1e-7));
    for (size_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(losses[i].defined()) << "step " << i;
      EXPECT_TRUE(at::allclose(losses[i], reference[i], 1e-6, 1e-7));
    }
  }
}

// Checks the same over ranks: targets are the sum over all ranks, and a rank may have none.
void check_tasks_on_ranks(const MakeStep& make) {
  std::map<int64_t, std::vector<at::Tensor>> results;  // examples on rank 0 → losses and weights
  const FakeDatasetOptions data_options{
      .batches = 3, .batch_size = 16, .sparse = 2, .two_labels = true};
  TwoRanks whole_on_first;
  for (const int64_t cut : {16, 1, 2, 8}) {
    SCOPED_TRACE(absl::StrCat(cut, " examples on rank 0"));
    TwoRanks divided;
    TwoRanks& ranks = cut == 16 ? whole_on_first : divided;
    const auto body = [&](std::unique_ptr<Collectives> collectives) -> absl::Status {
      const int rank = collectives->rank();
      Bench bench(make, "sgd", std::move(collectives));
      bench.model().counts_targets = true;
      FakeDataset data(data_options);
      EXPECT_OK(data.start_epoch(0));
      for (int step = 0; step < 3; ++step) {
        const Batch whole = **data.next();
        const Batch part = rank == 0 ? rows(whole, 0, cut) : rows(whole, cut, 16);
        const absl::StatusOr<StepResult> result = bench.run({part}, 16, bench.targets_of({whole}));
        if (!result.ok()) return result.status();
        EXPECT_THAT(result->task_targets, ElementsAre(12, 3));
        if (!result->task_losses.defined()) return absl::InternalError("no losses of tasks");
        EXPECT_TRUE(at::allclose(result->loss, result->task_losses.sum()));
        if (rank == 0) results[cut].push_back(result->task_losses);
      }
      if (rank == 0) results[cut].push_back(bench.parameter(0).detach().clone());
      ranks.add(bench);
      return absl::OkStatus();
    };
    for (const absl::Status& status : run_thread_ranks({.world_size = 2}, body)) EXPECT_OK(status);
    if (cut == 16) continue;
    expect_same_ranks(ranks, whole_on_first);
    ASSERT_EQ(results[cut].size(), results[16].size());
    for (size_t i = 0; i < results[cut].size(); ++i) {
      EXPECT_TRUE(at::allclose(results[cut][i], results[16][i], 1e-5, 1e-6)) << i;
    }
  }
}

// Checks that ranks with different gradients compute one norm, which does not depend on the
// division of a step's examples, so that their parameters stay equal.
void check_clipping_on_ranks(const MakeStep& make) {
  std::map<int64_t, std::vector<double>> norms;  // number of examples on rank 0 → norm of each step
  std::vector<double> first_of_rank(2);
  for (const int64_t cut : {1, 4, 8}) {
    SCOPED_TRACE(absl::StrCat(cut, " examples on rank 0"));
    Mutex mutex;
    const auto ranks = train_two_ranks(
        make, cut, 3,
        [&](int step, int rank, Bench&, absl::StatusOr<StepResult> result) {
          ASSERT_OK(result);
          ASSERT_EQ(result->figures.size(), 1u);
          MutexLock lock(mutex);
          if (step == 0) first_of_rank[rank] = result->figures[0].second;
          if (rank == 0) norms[cut].push_back(result->figures[0].second);
        },
        [](int, Bench& bench) { bench.clipping = clipping_by_norm(0.01); });
    EXPECT_EQ(ranks->parameters[0], ranks->parameters[1]);
    EXPECT_EQ(first_of_rank[0], first_of_rank[1]);
    ASSERT_EQ(norms[cut].size(), 3) << "one norm for each step";
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(norms[cut][i], norms[1][i], 1e-5 * norms[1][i]);
    }
  }
}

// Checks a fault of a rank in its second step, on two ranks of three steps.
void check_bad_rank(const MakeStep& make) {
  const auto spoil_loss = [](int rank, Bench& bench) {
    if (rank == 0) return;
    bench.model().on_output = [calls = 0](ModelOutput& output) mutable {
      if (++calls == 2) output.loss = output.loss * std::numeric_limits<double>::infinity();
    };
  };
  auto ranks = train_two_ranks(
      make, 4, 3,
      [](int step, int, Bench&, absl::StatusOr<StepResult> result) {
        ASSERT_OK(result);
        EXPECT_EQ(result->applied, step != 1) << "one rank's loss refuses the step on all";
        if (step == 1) {
          EXPECT_THAT(result->refused, testing::HasSubstr("rank 1"));
        }
      },
      spoil_loss);
  EXPECT_EQ(ranks->parameters[0], ranks->parameters[1]);
  const auto fail = [](int rank, Bench& bench) {
    if (rank == 0) return;
    bench.model().on_forward = [calls = 0](const Batch&) mutable {
      return ++calls == 2 ? absl::DataLossError("planted") : absl::OkStatus();
    };
  };
  std::vector<std::string> after_first(2);
  ranks = train_two_ranks(
      make, 4, 2,
      [&](int step, int rank, Bench& bench, absl::StatusOr<StepResult> result) {
        if (step == 0) {
          EXPECT_OK(result);
          after_first[rank] = bench.state();
        } else if (rank == 0) {
          EXPECT_THAT(result, StatusIs(absl::StatusCode::kAborted, "rank 1 failed: planted"));
        } else {
          EXPECT_THAT(result, StatusIs(absl::StatusCode::kDataLoss, "planted"));
        }
      },
      fail);
  EXPECT_EQ(ranks->states, after_first) << "no rank applied the step";
}

}  // namespace

std::vector<Property> train_step_ranks_properties(const MakeStep& make) {
  const auto property = properties_of(make);
  return {
      property("TrainsAlikeOnTwoRanks", check_ranks),
      property("DividesEachTaskByTheTargetsOfAllRanks", check_tasks_on_ranks),
      property("RefusesAndFailsOnAllRanks", check_bad_rank),
      property("ClipsByTheNormOfAllRanks", check_clipping_on_ranks),
  };
}

}  // namespace millrace::train_step_testing
