// The options of a dataset of files.
#ifndef MILLRACE_IO_EPOCH_DATASET_OPTIONS_H_
#define MILLRACE_IO_EPOCH_DATASET_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "io/cursor.h"
#include "io/feature/label_range.h"
#include "io/feature_schema.h"
#include "io/files/bad_files.h"
#include "proto/config.pb.h"

namespace millrace {

// The options of one source of a mix, in addition to its data; see DatasetOptions.
struct MixPartOptions {
  int source = 0;  // its number, where others are left out
  RowInterval rows = {};
  bool may_be_empty = false;
  // Number of files of the source in earlier windows, which default example ids count. -1: the data
  // does not come in windows.
  int64_t files_before = -1;
  int64_t sources = 1;  // in all windows, with those left out
};

struct DatasetOptions {
  // Decide the result.
  DataConfig data;
  FeatureSchema schema;
  uint64_t seed = 1;                                           // of shuffle and sample
  TrainConfig::SplitRule split_rule = TrainConfig::FILE_NAME;  // of a split by HASH_OF_EXAMPLE
  int64_t rank = 0;
  int64_t world_size = 1;
  // The types to which dates and times are converted, by column, as DataIdentity::Column::time. Of
  // other columns the type of the first file.
  std::map<std::string, std::string> time_types = {};
  LabelRange labels = LabelRange::kBinary;
  std::map<std::string, LabelRange> labels_of = {};  // of single labels, by name, instead
  // If true, columns and single values of labels and weights may be missing, as in data to predict
  // from. Missing labels are not-a-number or, if the column exists, the default of their feature;
  // missing weights are undefined.
  bool labels_may_miss = false;
  // Sparse and dense features. Batches have a further column of Batch::dense for each of them: 1
  // where the feature has no value before its default and its transforms, missing_values apart,
  // else 0.
  std::vector<std::string> missing_of = {};
  // The rows to read, counted over all files laid end to end; {0, 0}: all.
  RowInterval rows = {};
  // If true, the data may have no rows.
  bool may_be_empty = false;
  // For a mix: `rows` and `may_be_empty` of each source; none: the defaults. The mix omits an empty
  // source that may be empty.
  std::vector<MixPartOptions> mix_parts = {};
  // Number of the first file in default example ids, and the distance between the numbers of two
  // files.
  int64_t first_file = 0;
  int64_t file_step = 1;

  // Do not.
  int reader_threads = 1;                    // at least 1
  int64_t prefetch_batches = 8;              // at least 1
  FileSystem* files = &FileSystem::local();  // must outlive the dataset
  BadFiles* bad_files = nullptr;             // receives the omitted files; must outlive the dataset
};

}  // namespace millrace

#endif  // MILLRACE_IO_EPOCH_DATASET_OPTIONS_H_
