// What data a job reads, for people and for the summary.
#ifndef MILLRACE_JOB_DATA_REPORT_H_
#define MILLRACE_JOB_DATA_REPORT_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "io/files/bad_files.h"
#include "io/hashed_columns.h"
#include "proto/config.pb.h"

namespace millrace {

// The training data or one evaluation set.
struct DataSetReport {
  std::string name;            // "train_data", or "eval_data" and the set's name in quotes
  std::string place;           // in errors: "train." and the name, or the flag that names the data
  bool in_windows = false;     // how much there is, is not known then
  bool is_registered = false;  // neither is it of a registered dataset
  int64_t files = 0;           // those that were left out included
  int64_t rows = 0;            // of all ranks, before split and sample
  std::string part;            // part_text() of its data; "" if it comes in windows
  BadFiles bad_files;
  std::vector<std::string> missing_labels =
      {};                               // for which the files of a plain set have no column
  HashedColumns hashed_columns = {};    // none of windows and of a registered dataset: not known
  std::vector<std::string> paths = {};  // of a plain set
};

// Filled while the parts of a trainer are made; bad files of windows are added while it runs. Must
// outlive the trainer.
class DataReport {
 public:
  static constexpr char kTrainData[] = "train_data";  // DataSetReport::name of the training data

  // Sets name and place; without one, the place is that of the field. The reference stays valid as
  // long as the report.
  DataSetReport& add(absl::string_view name, absl::string_view place = "");
  const std::deque<DataSetReport>& sets() const { return sets_; }
  // Returns DataSetReport::name of an evaluation set.
  static std::string name_of(absl::string_view evaluation_set);

  // Returns true if a source was given up while it was looked at: threads may hang in it, though
  // there is no trainer yet (DataWatch::gave_up).
  bool gave_up() const { return gave_up_; }
  void set_gave_up() { gave_up_ = true; }

 private:
  std::deque<DataSetReport> sets_;
  bool gave_up_ = false;
};

// Compares the columns of all sets with those of training. Errors: those of
// check_hashed_columns(HashedColumns, HashedColumns), beginning with the place of the set.
absl::Status check_hashed_columns(const HashedColumns& trained, const DataReport& report);

// Returns the split and the sample of `data`, and before them the share of the rows that they
// leave, where it is known: `about 10 %: split { by: HASH_OF_EXAMPLE from: 0.9 }`. "" without both.
std::string part_text(const DataConfig& data);

// Returns the number of steps that an epoch of training will have, about, since splits, samples and
// ranks deal rows unevenly and bad data is left out; 0 where it is not known: data that comes in
// windows, from a registered dataset or as a mix, and choices by values. `set`: of the training
// data; `step_examples`: examples of a step, of all ranks.
int64_t steps_of_epoch(const DataSetReport& set, const TrainConfig& train, int64_t step_examples);

// Returns the error of an evaluation set of which its split and its sample leave nothing:
// InvalidArgument with both and with the flags that take all of `set`. `index`: of the set in
// train.eval_data.
absl::Status no_examples_error(const DataSetReport& set, const DataConfig& data, int index);

// Returns a warning for each evaluation set that shares files with the training data, unless the
// splits of both in `config` are parts that share no example. None if the report has no training
// data.
std::vector<std::string> shared_file_warnings(const DataReport& report, const TrainConfig& config);

// Returns `train_data: 3 files, 12000 rows; 1 file left out as bad data: b.csv`, with the part of
// the rows that is read, if it is not all.
std::string to_string(const DataSetReport& set);

}  // namespace millrace

#endif  // MILLRACE_JOB_DATA_REPORT_H_
