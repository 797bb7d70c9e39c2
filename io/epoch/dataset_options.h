// What a dataset of files is made of.
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

// What a source of a mix has of its own beside its data; see DatasetOptions.
struct MixPartOptions {
  int source = 0;  // its number, where others are left out
  RowInterval rows = {};
  bool may_be_empty = false;
};

struct DatasetOptions {
  // Decide the result.
  DataConfig data;
  FeatureSchema schema;
  uint64_t seed = 1;  // of shuffle and sample
  int64_t rank = 0;
  int64_t world_size = 1;
  LabelRange labels = LabelRange::kBinary;
  std::map<std::string, LabelRange> labels_of = {};  // of single labels, by name, instead
  // Whether columns and single values of labels and of weights may be missing, as in data to
  // predict from: then those labels are not-a-number or, if the column is there, the default of
  // their feature, and weights are undefined.
  bool labels_may_miss = false;
  // Only these rows, counted over all files as they lie end to end; {0, 0}: all.
  RowInterval rows = {};
  // Whether there may be no rows at all.
  bool may_be_empty = false;
  // Of a mix: for each source what `rows` and `may_be_empty` are of other data; none: the defaults.
  // A source that may be empty, and is, is left out of the mix.
  std::vector<MixPartOptions> mix_parts = {};
  // How many files of other data come before these: default example ids count them too.
  int64_t first_file = 0;

  // Do not.
  int reader_threads = 1;                    // at least 1
  int64_t prefetch_batches = 8;              // at least 1
  FileSystem* files = &FileSystem::local();  // must outlive the dataset
  BadFiles* bad_files = nullptr;  // gets the files that are left out; must outlive the dataset
};

}  // namespace millrace

#endif  // MILLRACE_IO_EPOCH_DATASET_OPTIONS_H_
