// The features of a batch and their places, and the rules of their configuration.
#ifndef MILLRACE_IO_FEATURE_SCHEMA_H_
#define MILLRACE_IO_FEATURE_SCHEMA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

struct SparseFeature {
  std::string name;
  std::string table;
  Pooling pooling = SUM;
  int64_t max_ids = 0;  // of a list that are looked up; 0: all
};

// The features of a job in the order of its configuration; that order is the order of
// features and columns in every Batch. Immutable.
class FeatureSchema {
 public:
  // `kept_columns`: names of columns of the files, each once, that batches hold unchanged.
  // REQUIRES: names in `config` are expanded (expand_names).
  // Errors: as check_feature_schema.
  static absl::StatusOr<FeatureSchema> create(const TrainConfig& config,
                                              std::vector<std::string> kept_columns = {});

  const std::vector<FeatureConfig>& features() const { return features_; }  // all, as configured
  const std::vector<SparseFeature>& sparse() const { return sparse_; }
  const std::vector<std::string>& dense() const { return dense_; }    // columns of Batch::dense
  const std::vector<std::string>& labels() const { return labels_; }  // columns of Batch::labels

  const std::vector<std::string>& kept_columns() const { return kept_columns_; }  // of Batch::kept

  // Returns the index of a sparse feature in sparse(). Errors: NotFound naming the nearest.
  absl::StatusOr<int64_t> sparse_index(absl::string_view name) const;

 private:
  std::vector<FeatureConfig> features_;
  std::vector<SparseFeature> sparse_;
  std::vector<std::string> dense_;
  std::vector<std::string> labels_;
  std::vector<std::string> kept_columns_;
};

// Checks that names of features are unique, at least 1 feature is of kind LABEL, and at most 1 each
// is of kind WEIGHT, EXAMPLE_ID and GROUP_ID. Errors: InvalidArgument that begins with `where`, the
// place of `train` in the configuration, and names the feature.
absl::Status check_feature_schema(absl::string_view where, const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_SCHEMA_H_
