#include "sinks/mlflow/row_follower.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/lines/file_lines.h"
#include "base/status_macros.h"

namespace millrace {

RowFollower::RowFollower(FileSystem& files, const std::string& directory,
                         std::optional<SinkStart> start, SentSteps sent)
    : files_(files), start_(std::move(start)), sent_(std::move(sent)) {
  files_of_rows_[0].path = join_path(directory, kTrainRows);
  files_of_rows_[1].path = join_path(directory, kEvalRows);
}

void RowFollower::restart() {
  sent_.clear();
  for (RowFile& file : files_of_rows_) file.offset = 0;
}

absl::StatusOr<RowFollower::Batch> RowFollower::peek(size_t most_numbers) {
  ASSIGN_OR_RETURN(Batch batch, read(0, most_numbers));
  return batch.rows.empty() ? read(1, most_numbers) : batch;
}

absl::StatusOr<RowFollower::Batch> RowFollower::read(size_t index, size_t most_numbers) {
  RowFile& file = files_of_rows_[index];
  // Read before the file is opened.
  const bool may_have_old_rows = start_.has_value() && !file.has_new_row;
  const auto opened =
      LineReader::open(files_, file.path, {.first_byte = std::max<int64_t>(file.offset - 1, 0)});
  if (absl::IsNotFound(opened.status())) {
    file.offset = 0;
    return Batch();
  }
  RETURN_IF_ERROR(opened.status());
  LineReader& reader = **opened;
  absl::string_view line;
  if (file.offset > 0) {
    // Invariant: a line ends at the offset, unless the file was replaced.
    ASSIGN_OR_RETURN(const bool any, reader.next(line));
    if (!any || !line.empty()) {
      file.offset = 0;
      return read(index, most_numbers);
    }
  }
  Batch batch{.rows = {}, .file = index, .end = file.offset};
  for (size_t numbers = 0; numbers < most_numbers;) {
    ASSIGN_OR_RETURN(const bool more, reader.next(line));
    if (!more) break;
    absl::StatusOr<ReportRow> row = parse_report_row(line);
    if (row.ok() && may_have_old_rows && start_->comes_again(row->step, row->set)) break;
    batch.end = reader.end_of_line();
    if (!row.ok()) continue;
    const auto sent = sent_.find(row->set);
    if (sent != sent_.end() && row->step <= sent->second) continue;
    numbers += std::max<size_t>(row->numbers.size(), 1);
    batch.rows.push_back(*std::move(row));
  }
  if (batch.rows.empty()) file.offset = batch.end;
  return batch;
}

}  // namespace millrace
