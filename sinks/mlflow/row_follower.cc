#include "sinks/mlflow/row_follower.h"

#include <algorithm>
#include <utility>

#include "base/checksum/crc32c.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// Returns the place of the last line that was read. `begin`: the end of the line before.
RowPlace place_of(int64_t begin, const LineReader& reader, absl::string_view line) {
  return {.begin = begin, .end = reader.end_of_line(), .checksum = crc32c(line)};
}

}  // namespace

RowFollower::RowFollower(FileSystem& files, const std::string& directory,
                         std::optional<SinkStart> start, const SentRows& sent)
    : files_(files), start_(std::move(start)) {
  for (const size_t i : {0, 1}) {
    const char* const name = i == 0 ? kTrainRows : kEvalRows;
    RowFile& file = files_of_rows_[i];
    file.path = join_path(directory, name);
    if (const auto last = sent.find(name); last != sent.end()) file.last = last->second;
    if (!start_.has_value()) continue;
    auto opened = LineReader::open(files_, file.path);
    if (!opened.ok()) continue;  // no such file, most likely
    file.at_start = *std::move(opened);
    file.size_at_start = file.at_start->file().size_bytes();
  }
}

void RowFollower::restart() {
  for (RowFile& file : files_of_rows_) file.last = {};
}

SentRows RowFollower::sent() const {
  return {{kTrainRows, files_of_rows_[0].last}, {kEvalRows, files_of_rows_[1].last}};
}

void RowFollower::find_replaced(RowFile& file) const {
  if (file.at_start == nullptr) return;
  LineReader& reader = *file.at_start;
  RowPlace row, kept;  // the present row, and the last one before `replaced`
  bool has_last = false;
  // Reads up to the first replaced row, and at least up to `last`.
  while (!file.replaced.has_value() || row.end < file.last.end) {
    absl::string_view line;
    const absl::StatusOr<bool> more = reader.next(line);
    if (!more.ok() || !*more) break;
    if (!file.replaced.has_value()) kept = row;
    row = place_of(row.end, reader, line);
    has_last = has_last || row == file.last;
    if (file.replaced.has_value()) continue;
    const absl::StatusOr<ReportKey> parsed = parse_report_key(line);
    if (parsed.ok() && start_->comes_again(parsed->step, parsed->set)) file.replaced = row;
  }
  file.at_start.reset();
  if (!has_last) file.last = {};
  if (file.replaced.has_value() && file.last.end > kept.end) file.last = kept;
}

absl::StatusOr<RowFollower::Batch> RowFollower::peek(size_t most_numbers) {
  ASSIGN_OR_RETURN(Batch batch, read(0, most_numbers));
  return batch.rows.empty() ? read(1, most_numbers) : batch;
}

absl::StatusOr<RowFollower::Batch> RowFollower::read(size_t index, size_t most_numbers) {
  RowFile& file = files_of_rows_[index];
  find_replaced(file);
  const auto opened = LineReader::open(files_, file.path, {.first_byte = file.last.begin});
  if (absl::IsNotFound(opened.status())) {
    file.last = {};
    return Batch();
  }
  RETURN_IF_ERROR(opened.status());
  LineReader& reader = **opened;
  absl::string_view line;
  if (file.last.end > 0) {
    // Invariant: the file has the row, unless the file was replaced.
    ASSIGN_OR_RETURN(const bool any, reader.next(line));
    if (!any || place_of(file.last.begin, reader, line) != file.last) {
      file.last = {};
      return read(index, most_numbers);
    }
  }
  const bool as_at_start = reader.file().size_bytes() == file.size_at_start;
  Batch batch{.rows = {}, .file = index, .last = file.last};
  for (size_t numbers = 0; numbers < most_numbers;) {
    ASSIGN_OR_RETURN(const bool more, reader.next(line));
    if (!more) break;
    const RowPlace row = place_of(batch.last.end, reader, line);
    if (as_at_start && row == file.replaced) break;
    batch.last = row;
    absl::StatusOr<ReportRow> parsed = parse_report_row(line);
    if (!parsed.ok()) continue;
    numbers += std::max<size_t>(parsed->numbers.size(), 1);
    batch.rows.push_back(*std::move(parsed));
  }
  if (batch.rows.empty()) file.last = batch.last;
  return batch;
}

}  // namespace millrace
