#include "checkpoint/state/save_filter.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "optim/name_pattern.h"

namespace millrace {
namespace {

// Removes excluded elements from a container; `name_of` returns an element's name.
template <typename Container, typename NameOf>
void remove_left_out(Container& all, const std::vector<std::string>& exclude, NameOf name_of,
                     std::vector<std::string>* removed) {
  const auto gone = [&](const auto& one) {
    const std::string name(name_of(one));
    if (!matches_any(name, exclude)) return false;
    if (removed != nullptr) removed->push_back(name);
    return true;
  };
  all.erase(std::remove_if(all.begin(), all.end(), gone), all.end());
}

}  // namespace

absl::Status check_save_filter(const TrainState& state, const std::vector<std::string>& exclude) {
  std::vector<std::string> names;
  for (const NamedParameter& tensor : state.dense) names.push_back(tensor.name);
  for (const EmbeddingTable* table : state.tables) names.emplace_back(table->name());
  for (const std::string& pattern : exclude) {
    if (fits_any(pattern, names)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "run.checkpoint.exclude \"", pattern, "\" fits no parameter, buffer or table",
        did_you_mean(pattern, names),
        absl::StrContains(pattern, '@')
            ? "; optimizer state goes with its parameter, slots with their table, and neither alone"
            : ""));
  }
  return absl::OkStatus();
}

absl::Status check_filtered_tables(const TrainState& state, const TableRowFilter& filter) {
  std::vector<std::string> names;
  for (const EmbeddingTable* table : state.tables) names.emplace_back(table->name());
  for (const std::string& pattern : filter.tables) {
    if (fits_any(pattern, names)) continue;
    return absl::InvalidArgumentError(absl::StrCat("run.checkpoint.row_filter.table \"", pattern,
                                                   "\" fits no table",
                                                   did_you_mean(pattern, names)));
  }
  return absl::OkStatus();
}

TrainState filter_state(TrainState state, const std::vector<std::string>& exclude) {
  if (exclude.empty()) return state;
  remove_left_out(
      state.dense, exclude, [](const NamedParameter& tensor) { return tensor.name; },
      &state.left_out);
  remove_left_out(
      state.tables, exclude, [](const EmbeddingTable* table) { return table->name(); },
      &state.left_out);
  if (state.rank.has_report()) {
    // A table that starts again has counted nothing.
    remove_left_out(
        *state.rank.mutable_report()->mutable_table(), exclude,
        [](const TableCountersState& table) { return table.table(); }, nullptr);
  }
  std::sort(state.left_out.begin(), state.left_out.end());
  state.left_out.erase(std::unique(state.left_out.begin(), state.left_out.end()),
                       state.left_out.end());
  return state;
}

}  // namespace millrace
