// Jobs whose examples, admission, eviction, saved rows and reports use registered parts, on one
// rank and on two.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "checkpoint/state/row_filter.h"
#include "distributed/one_rank_collectives.h"
#include "distributed/thread_collectives.h"
#include "embedding/embedding_collection.h"
#include "embedding/policies/admission_registry.h"
#include "embedding/policies/eviction_registry.h"
#include "framework/report/sink.h"
#include "io/epoch/dataset_registry.h"
#include "job/checked_job.h"
#include "job/job.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kExamples = 96;
constexpr int64_t kIds = 48;

// Example i has the id i mod kIds, the number i / kExamples and the label i mod 2.
class NumbersDataset : public Dataset {
 public:
  static absl::StatusOr<std::unique_ptr<Dataset>> create(const CustomConfig&,
                                                         const DatasetOptions& options) {
    return std::make_unique<NumbersDataset>(options);
  }
  explicit NumbersDataset(DatasetOptions options) : options_(std::move(options)) {}

  absl::Status start_epoch(int64_t epoch) override {
    epoch_ = epoch;
    const RowInterval all = {0, kExamples};
    const std::vector<RowInterval> own = deal_rows({&all, 1}, options_.rank, options_.world_size);
    left_ = own.empty() ? RowInterval() : own.front();
    return absl::OkStatus();
  }
  absl::Status seek(absl::Span<const Cursor> cursors) override {
    if (static_cast<int64_t>(cursors.size()) != options_.world_size) {
      return absl::InvalidArgumentError("cursors of another number of ranks");
    }
    const Cursor& own = cursors[options_.rank];
    epoch_ = own.epoch;
    left_ = own.rows_left().empty() ? RowInterval() : own.rows_left().front();
    return absl::OkStatus();
  }
  absl::StatusOr<std::optional<Batch>> next() override {
    const int64_t size = std::min(options_.data.batch_size(), left_.end - left_.begin);
    if (size == 0) return std::optional<Batch>();
    const at::Tensor rows = at::arange(left_.begin, left_.begin + size);
    left_.begin += size;
    Batch batch;
    batch.size = size;
    batch.sparse.values = rows % kIds;
    batch.sparse.offsets = at::arange(size + 1);
    batch.dense = (rows.to(at::kFloat) / kExamples).unsqueeze(1);
    batch.labels = (rows % 2).to(at::kFloat).unsqueeze(1);
    batch.example_ids = rows;
    batch.cursor.epoch = epoch_;
    if (left_.begin < left_.end) batch.cursor.left = std::vector<RowInterval>{left_};
    return batch;
  }
  void cancel() override {}

 private:
  const DatasetOptions options_;
  int64_t epoch_ = 0;
  RowInterval left_;
};
MILLRACE_REGISTER_DATASET(numbers, "examples without files", &NumbersDataset::create);

class EvenIds : public Admission {
 public:
  bool admits(int64_t id, int64_t) const override { return id % 2 == 0; }
  std::unique_ptr<Admission> clone() const override { return std::make_unique<EvenIds>(*this); }
};
absl::StatusOr<std::unique_ptr<Admission>> create_even_ids(const CustomConfig&,
                                                           const AdmissionInput& input) {
  EXPECT_EQ(input.table, "c");
  EXPECT_EQ(input.seed, 5);
  return std::make_unique<EvenIds>();
}
MILLRACE_REGISTER_ADMISSION(even_ids, "even ids", &create_even_ids);

class LargeIds : public EvictionRule {
 public:
  bool evicts(const EvictionCandidate& row, int64_t) const override { return row.id >= 24; }
};
absl::StatusOr<std::unique_ptr<EvictionRule>> create_large_ids(const CustomConfig&,
                                                               const EvictionInput&) {
  return std::make_unique<LargeIds>();
}
MILLRACE_REGISTER_EVICTION(large_ids, "ids from 24 on", &create_large_ids);

class Quarters : public RowFilter {
 public:
  bool saves(const RowToSave& row) const override { return row.id % 4 == 0; }
};
absl::StatusOr<std::unique_ptr<RowFilter>> create_quarters(const CustomConfig&) {
  return std::make_unique<Quarters>();
}
MILLRACE_REGISTER_ROW_FILTER(quarters, "multiples of 4", &create_quarters);

// Adds the steps of reports, and rows evicted by a registered rule, to static numbers.
class CountingSink : public Sink {
 public:
  absl::Status write_report(const Report& report) override {
    steps += report.steps;
    const auto& evicted = report.tables.at("c").evicted;
    if (evicted.count("custom") > 0) rows += evicted.at("custom");
    return absl::OkStatus();
  }
  absl::Status write_evaluation(const EvaluationResult&) override { return absl::OkStatus(); }

  static inline int64_t steps = 0, rows = 0;
};
absl::StatusOr<std::unique_ptr<Sink>> create_counting(const CustomConfig&, const SinkInput&) {
  return std::make_unique<CountingSink>();
}
MILLRACE_REGISTER_SINK(counting, "numbers of this test", &create_counting);

// The results of a job.
struct Outcome {
  std::set<int64_t> ids;  // of all ranks
  std::vector<std::string> notes;
  int64_t steps = 0;
};

// Returns a job of two epochs with 12 steps in total, on any number of ranks.
JobConfig job_of(const std::string& folder, int world_size) {
  JobConfig config;
  EXPECT_OK(parse_text(absl::StrCat(R"(
      train {
        seed: 5
        train_data { custom_dataset { name: "numbers" } batch_size: )",
                                    16 / world_size, R"( }
        feature { name: "label" kind: LABEL }
        feature { name: "d" kind: DENSE }
        feature { name: "c" }
        table {
          name: "c" dim: 4
          admission { custom { name: "even_ids" } }
          eviction { custom { name: "large_ids" } }
        }
        model { name: "deepfm" }
        hooks { name: "evict_rows" [millrace.evict_rows] { when { every_steps: 2 } } }
        max_epochs: 2
      }
      run {
        threads: 1
        signal_stop { enabled: false }  # one trainer of a process alone handles signals
        report { when { every_steps: 3 } }
        sink { custom { name: "counting" } }
        output_dir: ")",
                                    folder, "\" }"),
                       "the test", &config));
  return config;
}

Outcome run(const JobConfig& config, int world_size) {
  const absl::StatusOr<CheckedJob> job =
      CheckedJob::check(FileSystem::local(), config, "the test", {.ranks = world_size});
  EXPECT_OK(job);
  CountingSink::steps = CountingSink::rows = 0;
  Outcome outcome;
  std::mutex mutex;
  const auto train = [&](std::unique_ptr<Collectives> ranks) -> absl::Status {
    const int rank = ranks->rank();
    JobResources resources;
    ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                     build_trainer(*job, resources, std::move(ranks)));
    std::vector<std::string> notes;
    RETURN_IF_ERROR(trainer->resume(&notes).status());
    ASSIGN_OR_RETURN(const Summary summary, trainer->train());
    const TableRows rows = trainer->collections()[0]->tables()[0]->content().export_rows();
    const std::lock_guard<std::mutex> lock(mutex);
    outcome.ids.insert(rows.ids.begin(), rows.ids.end());
    outcome.steps = summary.progress.step;
    if (rank == 0) outcome.notes = notes;
    return absl::OkStatus();
  };
  if (world_size == 1) {
    EXPECT_OK(train(std::make_unique<OneRankCollectives>()));
    return outcome;
  }
  for (const absl::Status& status : run_thread_ranks({.world_size = world_size}, train)) {
    EXPECT_OK(status);
  }
  return outcome;
}

std::set<int64_t> multiples(int64_t of, int64_t below) {
  std::set<int64_t> ids;
  for (int64_t id = 0; id < below; id += of) ids.insert(id);
  return ids;
}

class RegisteredPartsTest : public testing::TestWithParam<int> {
 protected:
  RegisteredPartsTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = test->name();
    std::replace(name.begin(), name.end(), '/', '-');
    folder_ = absl::StrCat(testing::TempDir(), "/", name);
    remove_recursively(FileSystem::local(), folder_).IgnoreError();
  }
  std::string folder_;
};

TEST_P(RegisteredPartsTest, DecideWhatAJobReadsAndKeeps) {
  const Outcome outcome = run(job_of(folder_, GetParam()), GetParam());
  EXPECT_EQ(outcome.steps, 12);
  EXPECT_EQ(outcome.ids, multiples(2, 24));
  EXPECT_EQ(CountingSink::steps, 12);
  // Ids 24, 26, … 46 in each epoch, some of them twice.
  EXPECT_GE(CountingSink::rows, 24);
}

TEST_P(RegisteredPartsTest, ARowFilterDecidesWhatAResumedJobHas) {
  JobConfig config = job_of(folder_, GetParam());
  RowFilterConfig& filter = *config.mutable_run()->mutable_checkpoint()->mutable_row_filter();
  filter.mutable_custom()->set_name("quarters");
  config.mutable_train()->set_max_steps(6);
  EXPECT_THAT(run(config, GetParam()).notes, IsEmpty());
  config.mutable_train()->set_max_steps(7);
  const Outcome resumed = run(config, GetParam());
  EXPECT_EQ(resumed.steps, 7);
  EXPECT_THAT(resumed.notes, Contains(HasSubstr("was saved without 6 of 12 rows of table c")));
  // The saved rows, and the rows of the first step of the second epoch.
  std::set<int64_t> expected = multiples(4, 24);
  expected.merge(multiples(2, 16 / GetParam()));
  EXPECT_EQ(resumed.ids, expected);
}

INSTANTIATE_TEST_SUITE_P(Ranks, RegisteredPartsTest, testing::Values(1, 2));

}  // namespace
}  // namespace millrace
