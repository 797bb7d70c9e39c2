#include "io/mix/source_passes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// Ranks that far apart would make cursors large.
constexpr int64_t kMaxOpenPasses = 256;

int64_t last_pass(const Cursor& cursor) {
  return cursor.epoch + static_cast<int64_t>(cursor.parts.size());
}

absl::Status check(const Cursor& cursor, int64_t epoch) {
  bool fits = cursor.epoch >= pass_epoch(epoch, 0) && last_pass(cursor) < pass_epoch(epoch + 1, 0);
  for (size_t i = 0; i < cursor.parts.size(); ++i) {
    fits &= cursor.parts[i].epoch == cursor.epoch + 1 + static_cast<int64_t>(i);
    fits &= cursor.parts[i].parts.empty();
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the cursors are not of passes of epoch ", epoch, " of a source"));
}

// What a rank has left of a pass.
std::vector<RowInterval> left_of(const Cursor& cursor, int64_t pass, int64_t rows, int64_t rank,
                                 int64_t world_size) {
  if (pass < cursor.epoch) return {};
  if (pass == cursor.epoch) return cursor.rows_left;
  if (pass > last_pass(cursor)) return pass_share(pass, rows, rank, world_size);
  return cursor.parts[static_cast<size_t>(pass - cursor.epoch - 1)].rows_left;
}

// Of each pass from `first` to `last`, a new share of what all have left.
absl::StatusOr<Cursor> deal_anew(absl::Span<const std::optional<Cursor>> cursors, int64_t first,
                                 int64_t last, int64_t rows, int64_t rank, int64_t world_size) {
  const auto old_world_size = static_cast<int64_t>(cursors.size());
  Cursor own;
  for (int64_t pass = first; pass <= last; ++pass) {
    std::vector<Cursor> left;
    for (int64_t old = 0; old < old_world_size; ++old) {
      if (!cursors[old].has_value()) continue;
      left.emplace_back().rows_left = left_of(*cursors[old], pass, rows, old, old_world_size);
    }
    Cursor& share = pass == first ? own : own.parts.emplace_back();
    share.epoch = pass;
    ASSIGN_OR_RETURN(const std::vector<RowInterval> all, merge_rows_left(left, rows));
    share.rows_left = deal_rows(all, (rank + pass) % world_size, world_size);
  }
  return own;
}

}  // namespace

int64_t pass_epoch(int64_t epoch, int64_t pass) { return epoch << 32 | pass; }

std::vector<RowInterval> pass_share(int64_t source_epoch, int64_t rows, int64_t rank,
                                    int64_t world_size) {
  const RowInterval all{0, rows};
  return deal_rows({&all, 1}, (rank + source_epoch) % world_size, world_size);
}

absl::StatusOr<Cursor> go_on_in_passes(absl::Span<const std::optional<Cursor>> cursors,
                                       int64_t epoch, int64_t rows, int64_t rank,
                                       int64_t world_size) {
  Cursor nothing;
  nothing.epoch = pass_epoch(epoch, 0);
  std::optional<int64_t> first, last;
  for (const std::optional<Cursor>& cursor : cursors) {
    if (!cursor.has_value()) continue;
    RETURN_IF_ERROR(check(*cursor, epoch));
    first = std::min(first.value_or(cursor->epoch), cursor->epoch);
    last = std::max(last.value_or(last_pass(*cursor)), last_pass(*cursor));
  }
  if (!first.has_value()) return nothing;
  if (*last - *first >= kMaxOpenPasses) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ranks are ", *last - *first, " passes of a source apart"));
  }
  // Also to check that they fit each other.
  ASSIGN_OR_RETURN(Cursor anew, deal_anew(cursors, *first, *last, rows, rank, world_size));
  if (static_cast<int64_t>(cursors.size()) != world_size) return anew;
  return cursors[rank].value_or(nothing);
}

}  // namespace millrace
