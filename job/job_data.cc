#include "job/job_data.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "config/training_size.h"
#include "distributed/forwarded_collectives.h"
#include "distributed/one_rank_collectives.h"
#include "framework/loop/data_watch.h"
#include "io/epoch/batch_dataset.h"
#include "io/epoch/dataset_registry.h"
#include "io/mix/mixed_dataset.h"
#include "io/window/windowed_files.h"
#include "job/job.h"
#include "job/task_use.h"
#include "proto/data_windows.h"

namespace millrace {
namespace {

// Rows that take about a second to read.
constexpr int64_t kMostRowsBeforeTraining = 1000000;
constexpr int64_t kCountedTogether = 4096;  // examples

// Returns the metrics in the set's own list.
std::vector<std::string> metrics_of(const EvaluationSetConfig& set) {
  return {set.metric().begin(), set.metric().end()};
}

// Returns true if a set reads only a part of the rows of its files.
bool chooses(const DataConfig& data) { return data.has_split() || data.has_sample(); }

// Returns the features that decide which rows of `train` are examples.
absl::StatusOr<FeatureSchema> schema_of_labels(const TrainConfig& train) {
  TrainConfig labels;
  for (const FeatureConfig& feature : train.feature()) {
    if (feature.kind() == FeatureConfig::LABEL) *labels.add_feature() = feature;
  }
  return FeatureSchema::create(labels);
}

// The numbers of a rank without connections to others.
class FixedRankCollectives : public ForwardedCollectives {
 public:
  FixedRankCollectives(int rank, int world_size)
      : ForwardedCollectives(std::make_shared<OneRankCollectives>()),
        rank_(rank),
        world_size_(world_size) {}
  int rank() const override { return rank_; }
  int world_size() const override { return world_size_; }

 private:
  const int rank_;
  const int world_size_;
};

}  // namespace

JobData::JobData(const JobConfig& config, const JobResources& resources,
                 std::shared_ptr<Collectives> collectives)
    : config_(config),
      resources_(resources),
      collectives_(std::move(collectives)),
      report_(resources.data != nullptr ? *resources.data : own_report_) {}

absl::Status JobData::make_schema() {
  ASSIGN_OR_RETURN(schema_, FeatureSchema::create(config_.train(), resources_.kept_columns));
  ASSIGN_OR_RETURN(label_ranges_, label_ranges(config_.train()));
  return absl::OkStatus();
}

DatasetOptions JobData::dataset_options(const DataConfig& data, DataSetReport* report) const {
  DatasetOptions options;
  options.data = data;
  options.schema = schema_;
  options.seed = config_.train().seed();
  options.split_rule = config_.train().split_rule();
  options.time_types = resources_.time_types;
  // Evaluation sets follow the checkpoint, or else the training data, which is opened first.
  if (!report_.sets().empty() && report_.sets().front().name == DataReport::kTrainData) {
    options.time_types.merge(time_types_of(report_.sets().front().hashed_columns));
  }
  options.rank = collectives_->rank();
  options.world_size = collectives_->world_size();
  options.labels = label_range(config_.train());
  options.labels_of = label_ranges_;
  options.labels_may_miss = resources_.labels_may_miss;
  options.reader_threads = config_.run().read().reader_threads();
  options.prefetch_batches = config_.run().read().prefetch_batches();
  options.files = &resources_.files;
  if (report != nullptr && resources_.data != nullptr) options.bad_files = &report->bad_files;
  return options;
}

absl::StatusOr<std::unique_ptr<Dataset>> JobData::open(const DataConfig& data,
                                                       DataSetReport& report) {
  report.part = part_text(data);
  if (data.has_custom_dataset()) {
    report.is_registered = true;
    return dataset_registry().create(data.custom_dataset(), dataset_options(data, &report));
  }
  if (data.has_mix()) {
    ASSIGN_OR_RETURN(std::unique_ptr<MixedDataset> mixed,
                     open_mixed_dataset(dataset_options(data, &report)));
    report.files = mixed->file_count();
    report.rows = mixed->rows();
    report.hashed_columns = mixed->hashed_columns();
    return mixed;
  }
  ASSIGN_OR_RETURN(std::unique_ptr<BatchDataset> dataset,
                   open_dataset(dataset_options(data, &report)));
  report.files = static_cast<int64_t>(dataset->files().size());
  report.rows = dataset->rows();
  report.paths = dataset->files();
  report.missing_labels = dataset->missing_labels();
  report.hashed_columns = dataset->hashed_columns();
  return dataset;
}

absl::StatusOr<std::unique_ptr<WindowedDataset>> JobData::open_windows(const DataConfig& data,
                                                                       absl::string_view name) {
  DataSetReport& report = report_.add(name);
  report.in_windows = true;
  WindowedFilesOptions options;
  options.dataset = dataset_options(data, &report);
  options.clock = &resources_.clock;
  // The dataset must not keep this rank in a job that the trainer has left.
  options.broadcast = [job = std::weak_ptr<Collectives>(collectives_)](
                          absl::string_view bytes) -> absl::StatusOr<std::string> {
    const std::shared_ptr<Collectives> collectives = job.lock();
    if (collectives == nullptr) return absl::AbortedError("this rank has left the job");
    return collectives->broadcast(bytes, /*root=*/0);
  };
  return WindowedFiles::create(std::move(options));
}

absl::StatusOr<std::unique_ptr<Dataset>> JobData::open_training(int64_t batch_size) {
  DataConfig data = config_.train().train_data();
  data.set_batch_size(batch_size);
  if (!comes_in_windows(data)) return open(data, report_.add(DataReport::kTrainData));
  ASSIGN_OR_RETURN(std::unique_ptr<WindowedDataset> windows,
                   open_windows(data, DataReport::kTrainData));
  windows_ = windows.get();
  return windows;
}

absl::StatusOr<std::vector<PairedSet>> JobData::open_paired_sets() {
  std::vector<PairedSet> sets;
  for (const EvaluationSetConfig& set : config_.train().eval_data()) {
    if (!set.data().has_windows()) continue;
    const std::string name = DataReport::name_of(set.name());
    ASSIGN_OR_RETURN(std::unique_ptr<WindowedDataset> windows, open_windows(set.data(), name),
                     absl::StrCat("train.", name));
    sets.push_back({set.name(), std::move(windows), metrics_of(set)});
  }
  return sets;
}

absl::StatusOr<std::vector<EvaluationSet>> JobData::open_evaluation_sets() {
  std::vector<EvaluationSet> sets;
  for (int i = 0; i < config_.train().eval_data_size(); ++i) {
    const EvaluationSetConfig& set = config_.train().eval_data(i);
    if (set.data().has_windows()) continue;
    DataSetReport& report =
        report_.add(DataReport::name_of(set.name()),
                    resources_.eval_data_is_of_flag ? resources_.eval_data_flag : "");
    ASSIGN_OR_RETURN(std::unique_ptr<Dataset> data, open(set.data(), report), report.place);
    EvaluationSet added{set.name(), std::move(data), metrics_of(set)};
    if (chooses(set.data())) {
      added.no_examples = std::string(no_examples_error(report, set.data(), i).message());
    }
    sets.push_back(std::move(added));
  }
  return sets;
}

absl::StatusOr<int64_t> JobData::count_examples(const DataConfig& config, FeatureSchema schema,
                                                int64_t at_most) const {
  DatasetOptions options = dataset_options(config);
  options.schema = std::move(schema);
  options.data.set_batch_size(std::min(at_most, kCountedTogether));
  options.data.set_drop_remainder(false);
  options.data.set_shuffle_rows(0);
  options.rank = 0;
  options.world_size = 1;
  if (at_most == 1) options.reader_threads = 1;
  options.prefetch_batches = 1;
  ASSIGN_OR_RETURN(std::unique_ptr<BatchDataset> data, open_dataset(options));
  RETURN_IF_ERROR(data->start_epoch(0));
  DataWatch watch(absl::Seconds(config_.run().distributed().data_timeout_seconds()),
                  [this] { return !collectives_->failure().ok(); });
  absl::StatusOr<std::optional<Batch>> batch;
  int64_t count = 0;
  do {
    batch = watch.next(*data);
    if (batch.ok() && batch->has_value()) count += (*batch)->size;
  } while (batch.ok() && batch->has_value() && count < at_most);
  // The threads of the dataset hang, and so would its destructor.
  if (watch.gave_up()) {
    report_.set_gave_up();
    static_cast<void>(data.release());
  }
  RETURN_IF_ERROR(batch.status());
  return count;
}

absl::Status JobData::check_evaluation_sets() const {
  RETURN_IF_ERROR(check_hashed_columns(report_.sets().front().hashed_columns, report_));
  if (collectives_->rank() != 0) return absl::OkStatus();
  for (int i = 0; i < config_.train().eval_data_size(); ++i) {
    const EvaluationSetConfig& set = config_.train().eval_data(i);
    if (!chooses(set.data()) || set.data().has_windows()) continue;
    // A part by hash of the example has its first example near the beginning.
    const bool may_read_all =
        set.data().has_sample() || set.data().split().by() != SplitConfig::HASH_OF_EXAMPLE;
    const std::string name = DataReport::name_of(set.name());
    const auto report = std::find_if(report_.sets().begin(), report_.sets().end(),
                                     [&](const DataSetReport& r) { return r.name == name; });
    if (may_read_all && report->rows > kMostRowsBeforeTraining) continue;
    ASSIGN_OR_RETURN(const int64_t count, count_examples(set.data(), schema_, 1), report->place);
    if (count == 0) return no_examples_error(*report, set.data(), i);
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> JobData::count_training_examples() const {
  const TrainConfig& train = config_.train();
  if (!chooses(train.train_data())) return report_.sets().front().rows;
  ASSIGN_OR_RETURN(FeatureSchema labels, schema_of_labels(train));
  collectives_->set_phase(RankPhase::kData, 0);
  ASSIGN_OR_RETURN(
      const int64_t examples,
      count_examples(train.train_data(), std::move(labels), std::numeric_limits<int64_t>::max()),
      "train.train_data");
  collectives_->set_phase(RankPhase::kStart, 0);
  return examples;
}

int64_t JobData::estimated_training_examples() const {
  return examples_of_epoch(report_.sets().front(), config_.train().train_data());
}

void JobData::log() const {
  if (collectives_->rank() != 0 || resources_.data == nullptr) return;
  for (const DataSetReport& set : report_.sets()) MILLRACE_LOG(INFO) << to_string(set);
  for (const std::string& warning : shared_file_warnings(report_, config_.train())) {
    MILLRACE_LOG(WARNING) << warning;
  }
}

absl::StatusOr<JobDataset> open_job_data(const CheckedJob& job, const JobResources& resources,
                                         absl::string_view set, int rank, int world_size) {
  const TrainConfig& train = job.config().train();
  JobDataset opened{.collectives = std::make_shared<FixedRankCollectives>(rank, world_size)};
  JobData data(job.config(), resources, opened.collectives);
  RETURN_IF_ERROR(data.make_schema());
  const bool is_training = set == "train";
  if (is_training && world_size > 1 && comes_in_windows(train.train_data())) {
    return absl::InvalidArgumentError(
        "train.train_data comes in windows, which one of several ranks cannot read without the "
        "others; read it with one");
  }
  ASSIGN_OR_RETURN(const StepSize size, step_size(train, world_size), "train");
  // Evaluation sets follow the types of the training data.
  ASSIGN_OR_RETURN(opened.data, data.open_training(size.batch_size), "train.train_data");
  opened.windows = data.windows();
  if (is_training) return opened;
  opened.data = nullptr;
  opened.windows = nullptr;
  ASSIGN_OR_RETURN(std::vector<EvaluationSet> sets, data.open_evaluation_sets());
  std::vector<std::string> names = {"train"};
  for (EvaluationSet& each : sets) {
    if (each.name == set) opened.data = std::move(each.data);
    names.push_back(each.name);
  }
  if (opened.data != nullptr) return opened;
  return absl::NotFoundError(absl::StrCat(
      "the job has no data \"", set, "\" without windows; it has ", absl::StrJoin(names, ", ")));
}

}  // namespace millrace
