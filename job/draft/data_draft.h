// The training and evaluation data of a first configuration.
#ifndef MILLRACE_JOB_DRAFT_DATA_DRAFT_H_
#define MILLRACE_JOB_DRAFT_DATA_DRAFT_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "io/look/data_look.h"
#include "proto/config.pb.h"

namespace millrace {

struct DataDraft {
  DataConfig train;
  std::optional<DataConfig> eval;  // none if the rows are too few
  std::string comment;             // about `eval`
  std::string blanks;     // a comment about cells and names with blanks around them; "": none
  double train_rows = 0;  // of `train`, as far as its split is exact
};

// Returns the data of the look, with csv.list_delimiter for lists in cells. Holds out evaluation
// data if there is none: the last file if it has at most a quarter of the rows, or with partitions
// by time all files of the last partition if it has at most half; else a tenth of the rows by hash.
// Holds out nothing of fewer than 100 rows, since the tenth could be empty.
DataDraft draft_data(const DataLook& look);

// Returns a text as part of a comment, on one line.
std::string comment_text(absl::string_view text);

}  // namespace millrace

#endif  // MILLRACE_JOB_DRAFT_DATA_DRAFT_H_
