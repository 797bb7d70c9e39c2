// The data that a first configuration trains and is evaluated on.
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
  std::optional<DataConfig> eval;  // none of too few rows
  std::string comment;             // about `eval`
  std::string blanks;     // a comment about cells and names with blanks around them; "": none
  double train_rows = 0;  // of `train`, as far as its split is exact
};

// Returns the data of the look. Holds out evaluation data if there is none: the last file, or with
// partitions by time all files of the last one, if it has at most a quarter of the rows, else a
// tenth of the rows by hash. Of fewer than 100 rows it may be that none is in that tenth, so that
// none is held out.
DataDraft draft_data(const DataLook& look);

// Returns a text as a part of a comment, on one line.
std::string comment_text(absl::string_view text);

}  // namespace millrace

#endif  // MILLRACE_JOB_DRAFT_DATA_DRAFT_H_
