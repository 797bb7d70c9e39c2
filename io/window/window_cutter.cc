#include "io/window/window_cutter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

void add_files(const WindowEntry& entry, WindowPosition& position) {
  for (const std::string& file : entry.files) position.add_file()->set_name(file);
}

}  // namespace

std::string window_name(const std::string& first, const std::string& last) {
  return first == last ? first : absl::StrCat(first, "..", last);
}

absl::StatusOr<int64_t> WindowCutter::cut(absl::Span<const WindowEntry> entries, bool no_more,
                                          WindowPosition& position) {
  return rows_ > 0 ? cut_rows(entries, no_more, position) : cut_files(entries, no_more, position);
}

int64_t WindowCutter::cut_files(absl::Span<const WindowEntry> entries, bool no_more,
                                WindowPosition& position) {
  const int64_t there = static_cast<int64_t>(entries.size());
  if (there == 0 || (there < files_ && !no_more)) {
    progress_ = absl::StrCat(there, " of ", files_, there == 1 ? " is there" : " are there");
    return -1;
  }
  const int64_t count = std::min(there, files_);
  position.clear_file();
  for (int64_t i = 0; i < count; ++i) add_files(entries[i], position);
  position.set_name(window_name(entries[0].name, entries[count - 1].name));
  position.clear_begin_row();
  position.clear_end_row();
  position.clear_rest_files();
  position.clear_rest_row();
  return count;
}

absl::StatusOr<int64_t> WindowCutter::cut_rows(absl::Span<const WindowEntry> entries, bool no_more,
                                               WindowPosition& position) {
  const int64_t begin = position.rest_row();
  const int64_t end = begin + rows_;
  WindowPosition next;
  std::vector<int64_t> ends;  // of each file's rows, as they lie end to end
  std::string first, last;
  const auto total = [&ends] { return ends.empty() ? 0 : ends.back(); };
  const auto add = [&](const WindowEntry& entry) -> absl::Status {
    for (const std::string& file : entry.files) {
      ASSIGN_OR_RETURN(const int64_t rows, rows_of(file));
      ends.push_back(total() + rows);
      next.add_file()->set_name(file);
    }
    if (first.empty()) first = entry.name;
    last = entry.name;
    return absl::OkStatus();
  };
  for (int i = position.file_size() - position.rest_files(); i < position.file_size(); ++i) {
    RETURN_IF_ERROR(add({position.file(i).name(), {position.file(i).name()}}));
  }
  size_t taken = 0;
  while (total() < end && taken < entries.size()) RETURN_IF_ERROR(add(entries[taken++]));
  const bool enough = total() >= end || (no_more && (total() > begin || taken > 0));
  if (!enough) {
    progress_ = absl::StrCat(total() - begin, " of ", rows_, " rows are there");
    return -1;
  }
  position.mutable_file()->Swap(next.mutable_file());
  position.set_name(window_name(first, last));
  position.set_begin_row(begin);
  position.set_end_row(std::min(end, total()));
  // The file that the next row is in.
  const auto rest = std::upper_bound(ends.begin(), ends.end(), end);
  position.set_rest_files(static_cast<int32_t>(ends.end() - rest));
  const int64_t before = rest == ends.begin() ? 0 : rest[-1];
  position.set_rest_row(rest == ends.end() ? 0 : end - before);
  std::map<std::string, int64_t> counted;
  for (int i = position.file_size() - position.rest_files(); i < position.file_size(); ++i) {
    counted[position.file(i).name()] = counted_[position.file(i).name()];
  }
  counted_ = std::move(counted);
  return static_cast<int64_t>(taken);
}

absl::StatusOr<int64_t> WindowCutter::rows_of(const std::string& file) {
  const auto known = counted_.find(file);
  if (known != counted_.end()) return known->second;
  ASSIGN_OR_RETURN(const int64_t rows, count_rows_(file));
  counted_[file] = rows;
  return rows;
}

}  // namespace millrace
