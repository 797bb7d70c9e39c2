// Ids of a table that are texts outside the job's data.
#ifndef MILLRACE_IO_FEATURE_TEXT_IDS_H_
#define MILLRACE_IO_FEATURE_TEXT_IDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "io/column.h"
#include "io/feature/feature_transform.h"
#include "proto/config.pb.h"

namespace millrace {

// Converts texts to ids as the features of a table do: of the item "B00X4WHP5E", say, the row of
// the table whose feature hashes that text. Immutable; thread-safe.
//
//   ASSIGN_OR_RETURN(const std::optional<TextIds> ids,
//                    TextIds::create(features, "items", files));
//   if (ids.has_value()) ... ids->find(texts)
class TextIds {
 public:
  // `features`: all features of the job. `files` holds vocabularies.
  // Returns: none if no sparse feature of `table` makes ids of text: its first transform is hash,
  // vocabulary or a registered one that takes text.
  // Errors: InvalidArgument naming table and features for transforms that differ between two
  // features, or make several ids of a text; errors of create_transform() and FeatureTransform.
  static absl::StatusOr<std::optional<TextIds>> create(absl::Span<const FeatureConfig> features,
                                                       absl::string_view table, FileSystem& files);

  // Returns the feature of the transforms, for messages.
  const std::string& feature() const { return feature_; }

  // Returns the id of each text; none for a word outside the vocabulary. Errors: InvalidArgument
  // naming feature and text if registered transforms make several ids of the text; errors of the
  // transforms.
  absl::StatusOr<std::vector<std::optional<int64_t>>> find(const StringValues& texts) const;

 private:
  TextIds(std::string feature, FeatureTransform transform)
      : feature_(std::move(feature)), transform_(std::move(transform)) {}

  std::string feature_;
  FeatureTransform transform_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_FEATURE_TEXT_IDS_H_
