#include "io/mix/source_passes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// A bound of the size of positions.
constexpr int64_t kMaxOpenPasses = 256;

// REQUIRES: position is not empty.
int64_t first_pass(const SourcePosition& position) { return position.front().epoch; }

int64_t last_pass(const SourcePosition& position) {
  return first_pass(position) + static_cast<int64_t>(position.size()) - 1;
}

absl::Status check(const SourcePosition& position, int64_t epoch) {
  bool fits = first_pass(position) >= pass_epoch(epoch, 0) &&
              last_pass(position) < pass_epoch(epoch + 1, 0);
  for (size_t i = 0; i < position.size(); ++i) {
    fits &= position[i].epoch == first_pass(position) + static_cast<int64_t>(i);
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the cursors are not of passes of epoch ", epoch, " of a source"));
}

// Returns the rows that a rank has left of a pass.
std::vector<RowInterval> left_of(const SourcePosition& position, int64_t pass, int64_t rows,
                                 int64_t rank, int64_t world_size) {
  if (pass < first_pass(position)) return {};
  if (pass > last_pass(position)) return pass_share(pass, rows, rank, world_size);
  return position[static_cast<size_t>(pass - first_pass(position))].rows_left;
}

// Returns the number of rows that a rank has left out of a pass, 0 unless the pass is open.
int64_t bad_rows_of(const SourcePosition& position, int64_t pass) {
  if (pass < first_pass(position) || pass > last_pass(position)) return 0;
  return position[static_cast<size_t>(pass - first_pass(position))].bad_rows;
}

// Returns, of each pass from `first` to `last`, a new share of the rows that all have left, and an
// equal share of the rows that all have left out.
absl::StatusOr<SourcePosition> deal_passes(absl::Span<const SourcePosition> ranks, int64_t first,
                                           int64_t last, int64_t rows, int64_t rank,
                                           int64_t world_size) {
  const auto old_world_size = static_cast<int64_t>(ranks.size());
  SourcePosition own;
  for (int64_t pass = first; pass <= last; ++pass) {
    std::vector<PassPosition> left;
    int64_t bad_rows = 0;
    for (int64_t old = 0; old < old_world_size; ++old) {
      if (ranks[old].empty()) continue;
      left.push_back({pass, left_of(ranks[old], pass, rows, old, old_world_size)});
      bad_rows += bad_rows_of(ranks[old], pass);
    }
    ASSIGN_OR_RETURN(const std::vector<RowInterval> all, merge_rows_left(left, rows));
    own.push_back({.epoch = pass,
                   .rows_left = deal_rows(all, (rank + pass) % world_size, world_size),
                   .bad_rows = bad_rows / world_size});
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

absl::StatusOr<SourcePosition> resume_passes(absl::Span<const SourcePosition> ranks, int64_t epoch,
                                             int64_t rows, int64_t rank, int64_t world_size) {
  const SourcePosition nothing = {{.epoch = pass_epoch(epoch, 0)}};
  std::optional<int64_t> first, last;
  for (const SourcePosition& position : ranks) {
    if (position.empty()) continue;
    RETURN_IF_ERROR(check(position, epoch));
    first = std::min(first.value_or(first_pass(position)), first_pass(position));
    last = std::max(last.value_or(last_pass(position)), last_pass(position));
  }
  if (!first.has_value()) return nothing;
  if (*last - *first >= kMaxOpenPasses) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ranks are ", *last - *first, " passes of a source apart"));
  }
  // Also with an unchanged number of ranks, to check that positions do not contradict each other.
  ASSIGN_OR_RETURN(SourcePosition dealt, deal_passes(ranks, *first, *last, rows, rank, world_size));
  if (static_cast<int64_t>(ranks.size()) != world_size) return dealt;
  return ranks[rank].empty() ? nothing : ranks[rank];
}

}  // namespace millrace
