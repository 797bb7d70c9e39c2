// Features of a first configuration, one for each column of data.
#ifndef MILLRACE_JOB_DRAFT_FEATURE_DRAFT_H_
#define MILLRACE_JOB_DRAFT_FEATURE_DRAFT_H_

#include <optional>
#include <string>
#include <vector>

#include "io/look/data_look.h"
#include "proto/config.pb.h"

namespace millrace {

// A column and the feature that is made of it, or why none is.
struct FeatureDraft {
  std::string column;
  bool is_used = true;
  FeatureConfig feature;  // if it is used
  std::string note;       // the reason of the choice
};

// Returns true for a partition whose values do not come again: a directory for each day or load, by
// its name or since the values are dates YYYYMMDD.
bool is_time_partition(const ColumnLook& column);

// Returns the column, with the missing_texts that it has in the evaluation data, too.
ColumnLook with_missing_texts_of_eval(const ColumnLook& column, const DataLook& look);

// Returns the name of the label's feature: that of its column without blanks around it, or "label"
// for a comparison.
std::string label_name(const LabelRule& rule);

// Returns the transform that removes what stands for a missing value in the column: its
// missing_texts, with them all plain_missing_texts(), and not-a-number; none if it has neither.
// `as_numbers`: the values are to be numbers, and not integers or text.
std::optional<TransformConfig> draft_missing_values(const ColumnLook& column, bool as_numbers);

// Returns a draft for each column of the look but the label's, in their order.
//
// Text and integers that are ids or have few values are SPARSE; text, whole numbers beyond int64
// included, and cells of delimited text are hashed. Numbers and counts are DENSE, with log1p where
// they are heavy-tailed, else standardized where they are large, or far from mean 0 and
// deviation 1. Times are cut into SPARSE periods that hold equal shares of the rows. Not-a-number
// is missing, and so are texts such as "NA" among numbers, those of the evaluation data included. A
// column named as a group, such as "session_id" or "qid", is GROUP_ID. A column is left out if it
// is unreadable, equal to the label, without values, constant, unique per row, a list of numbers,
// infinite somewhere, a partition by time, or has a name that a configuration cannot have. Whole
// numbers that are integers in some files count as integers. A feature is named as its column, or
// similarly if that name has characters that the name of a table cannot have.
std::vector<FeatureDraft> draft_features(const DataLook& look);

}  // namespace millrace

#endif  // MILLRACE_JOB_DRAFT_FEATURE_DRAFT_H_
