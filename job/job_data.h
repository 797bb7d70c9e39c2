// The data that the parts of a job read.
#ifndef MILLRACE_JOB_JOB_DATA_H_
#define MILLRACE_JOB_JOB_DATA_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "distributed/collectives.h"
#include "framework/loop/evaluation_options.h"
#include "io/dataset.h"
#include "io/epoch/epoch_source.h"
#include "io/feature/label_range.h"
#include "io/feature_schema.h"
#include "io/windowed_dataset.h"
#include "job/data_report.h"
#include "proto/config.pb.h"

namespace millrace {

struct JobResources;

// Opens the data of a job on one rank, and describes it in a DataReport. Not thread-safe.
class JobData {
 public:
  // `config` and `resources` must outlive this object, and resources.data the datasets.
  JobData(const JobConfig& config, const JobResources& resources,
          std::shared_ptr<Collectives> collectives);

  // Makes the schema of the features. Called before the other functions. Errors: InvalidArgument
  // naming the feature or label.
  absl::Status make_schema();
  const FeatureSchema& schema() const { return schema_; }

  // Returns the training data, in batches of `batch_size` examples of this rank. Called before
  // evaluation sets are opened, since these follow its types. Errors: errors of opening files.
  absl::StatusOr<std::unique_ptr<Dataset>> open_training(int64_t batch_size);
  // The training data, if it comes in windows; otherwise null.
  WindowedDataset* windows() const { return windows_; }
  // Returns the sets of train.eval_data without windows. Errors: errors of opening files.
  absl::StatusOr<std::vector<EvaluationSet>> open_evaluation_sets();
  // Returns the sets of train.eval_data in windows. Errors: errors of opening files.
  absl::StatusOr<std::vector<PairedSet>> open_paired_sets();

  // Checks the opened sets against the training data. Errors: errors of check_hashed_columns();
  // InvalidArgument if an evaluation set has no examples after its split or sample. Opening finds
  // sets without rows; other empty sets are found by reading up to the first remaining example.
  // Rank 0 reads for all ranks, while the others wait. Skips large sets of which everything might
  // have to be read; their evaluation reports the error. validate() refuses sets that are mixes.
  absl::Status check_evaluation_sets() const;

  // Returns the number of examples of all ranks in an epoch of training, which is read if the data
  // has a split or a sample. Every rank counts all examples, so that nothing is exchanged.
  // REQUIRES: the training data is open and has no windows. Errors: errors of reading.
  absl::StatusOr<int64_t> count_training_examples() const;
  // Returns examples_of_epoch() of the training data, which is open.
  int64_t estimated_training_examples() const;

  // Logs a line for each set, and warnings of shared files, on rank 0.
  void log() const;

 private:
  DatasetOptions dataset_options(const DataConfig& data, DataSetReport* report = nullptr) const;
  absl::StatusOr<std::unique_ptr<Dataset>> open(const DataConfig& data, DataSetReport& report);
  absl::StatusOr<std::unique_ptr<WindowedDataset>> open_windows(const DataConfig& data,
                                                                absl::string_view name);
  // Returns the number of examples of all ranks in the first epoch of `config`, or `at_most`, by
  // reading the columns of `schema`.
  absl::StatusOr<int64_t> count_examples(const DataConfig& config, FeatureSchema schema,
                                         int64_t at_most) const;

  const JobConfig& config_;
  const JobResources& resources_;
  const std::shared_ptr<Collectives> collectives_;
  DataReport own_report_;  // if resources.data is null
  DataReport& report_;
  FeatureSchema schema_;
  std::map<std::string, LabelRange> label_ranges_;  // by label
  WindowedDataset* windows_ = nullptr;
};

}  // namespace millrace

#endif  // MILLRACE_JOB_JOB_DATA_H_
