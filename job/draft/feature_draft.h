// Features of a first configuration, one per column of data.
#ifndef MILLRACE_JOB_DRAFT_FEATURE_DRAFT_H_
#define MILLRACE_JOB_DRAFT_FEATURE_DRAFT_H_

#include <optional>
#include <string>
#include <vector>

#include "io/look/data_look.h"
#include "proto/config.pb.h"

namespace millrace {

// A column and its feature, or the reason for none.
struct FeatureDraft {
  std::string column;
  bool is_used = true;
  FeatureConfig feature;  // if it is used
  std::string note;       // the reason of the choice
};

// Returns true for a partition whose values do not recur: a directory for each day or load,
// according to its name or to values that are dates YYYYMMDD.
bool is_time_partition(const ColumnLook& column);

// Returns the column with the missing_texts of the same column in the evaluation data added.
ColumnLook with_missing_texts_of_eval(const ColumnLook& column, const DataLook& look);

// Returns the name of the label's feature: the name of its column without surrounding blanks, or
// "label" for a comparison.
std::string label_name(const LabelRule& rule);

// Returns the transform that removes the column's values for a missing value: missing_texts, with
// all plain_missing_texts() added, and not-a-number. Returns none if the column has neither.
// `as_numbers`: if true, the values become numbers, not integers or text.
std::optional<TransformConfig> draft_missing_values(const ColumnLook& column, bool as_numbers);

// Returns a draft for each column of the look except the label's, in their order.
//
// Text and integers that are ids or have few values are SPARSE. Text (whole numbers beyond int64
// included) and cells of delimited text are hashed. Numbers and counts are DENSE, with log1p if
// they are heavy-tailed, else standardized if they are large, or far from mean 0 and deviation 1.
// Times are cut into SPARSE periods with equal shares of the rows. Not-a-number is missing, as are
// texts such as "NA" among numbers, including texts of the evaluation data. A column named as a
// group, such as "session_id" or "qid", is GROUP_ID. A column is omitted if it is unreadable, equal
// to the label, without values, constant, unique in 99.9 % of the rows, dates as text, a list of
// numbers, infinite somewhere, a partition by time, or has a name that a configuration cannot have.
// The note of ids names evaluation data whose values have another form or are all new.
// Whole numbers that are integers in some files count as integers. A feature has the name of its
// column, or a similar name if that name has characters that the name of a table cannot have.
std::vector<FeatureDraft> draft_features(const DataLook& look);

}  // namespace millrace

#endif  // MILLRACE_JOB_DRAFT_FEATURE_DRAFT_H_
