// Description of the data that a job reads, for people and for the summary.
#ifndef MILLRACE_JOB_DATA_REPORT_H_
#define MILLRACE_JOB_DATA_REPORT_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "io/files/bad_files.h"
#include "io/hashed_columns.h"
#include "proto/config.pb.h"
#include "proto/data_identity.pb.h"

namespace millrace {

// The training data or one evaluation set.
struct DataSetReport {
  std::string name;            // "train_data", or "eval_data" and the set's name in quotes
  std::string place;           // in errors: "train." and the name, or the flag that names the data
  bool in_windows = false;     // true for data in windows, whose amount is unknown
  bool is_registered = false;  // true for a registered dataset, whose amount is unknown too
  int64_t files = 0;           // files, omitted ones included
  int64_t rows = 0;            // of all ranks, before split and sample
  std::string part;            // part_text() of its data; "" if it comes in windows
  BadFiles bad_files;
  std::vector<std::string> missing_labels =
      {};                               // for which the files of a plain set have no column
  HashedColumns hashed_columns = {};    // none of windows and of a registered dataset: not known
  std::vector<std::string> paths = {};  // of a plain set
};

// A description that is filled while the parts of a trainer are built. Bad files of windows are
// added while the trainer runs. Must outlive the trainer.
class DataReport {
 public:
  static constexpr char kTrainData[] = "train_data";  // DataSetReport::name of the training data

  // Appends a set with name and place. Default of the place: the field. The reference is valid for
  // the lifetime of the report.
  DataSetReport& add(absl::string_view name, absl::string_view place = "");
  const std::deque<DataSetReport>& sets() const { return sets_; }
  // Returns DataSetReport::name of an evaluation set.
  static std::string name_of(absl::string_view evaluation_set);

  // Returns true if reading a source was given up: threads may hang in the source although no
  // trainer exists yet (DataWatch::gave_up).
  bool gave_up() const { return gave_up_; }
  void set_gave_up() { gave_up_ = true; }

  // Returns the approximate number of steps of an epoch of training; 0: not known, see
  // examples_of_epoch().
  int64_t epoch_steps() const { return epoch_steps_; }
  void set_epoch_steps(int64_t steps) { epoch_steps_ = steps; }

 private:
  std::deque<DataSetReport> sets_;
  bool gave_up_ = false;
  int64_t epoch_steps_ = 0;
};

// Compares the columns of all sets with the columns of training. Errors: errors of
// check_hashed_columns(HashedColumns, HashedColumns), which begin with the place of the set.
absl::Status check_hashed_columns(const HashedColumns& trained, const DataReport& report);

// Returns the split and the sample of `data`, preceded by the resulting share of the rows, if
// known: `about 10 %: split { by: HASH_OF_EXAMPLE from: 0.9 }`. Returns "" without split and
// sample.
std::string part_text(const DataConfig& data);

// Returns the approximate number of examples of an epoch of `set`, since splits and samples are by
// hash and bad data is omitted. Returns 0 if the number is unknown: for data in windows, from a
// registered dataset or as a mix, and for splits and samples by values. `data`: that of `set`.
int64_t examples_of_epoch(const DataSetReport& set, const DataConfig& data);

// Returns the error of an evaluation set without examples after its split and sample:
// InvalidArgument with both, and with the flags that take all of `set`. `index`: the index of the
// set in train.eval_data.
absl::Status no_examples_error(const DataSetReport& set, const DataConfig& data, int index);

// Returns a warning for each evaluation set that shares files with the training data, unless the
// splits of both in `config` share no example, and one for files that the training data has twice.
// Files are the same if they have the same device and inode, also behind links; URIs are compared
// as text. Returns none if the report has no training data.
std::vector<std::string> shared_file_warnings(const DataReport& report, const TrainConfig& config);

// Returns a warning for each evaluation set of `config` with files that a model was trained on,
// unless the splits of both share no example. `trained`: the identity of the training data
// (io/data_identity.h), `training`: its configuration. Files are the same if name, size and end
// are; files that cannot be read are omitted.
std::vector<std::string> trained_file_warnings(FileSystem& files, const DataIdentity& trained,
                                               const TrainConfig& training,
                                               const DataReport& report, const TrainConfig& config);

// Returns `train_data: 3 files, 12000 rows; 1 file left out as bad data: b.csv`, with the part of
// the rows that is read, unless all rows are.
std::string to_string(const DataSetReport& set);

}  // namespace millrace

#endif  // MILLRACE_JOB_DATA_REPORT_H_
