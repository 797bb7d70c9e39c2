#include "hooks/cadence_hooks.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace millrace {

absl::Status CadenceHook::start(HookContext& context) { return look_in_training(context); }

absl::Status CadenceHook::after_step(HookContext& context, const StepResult&) {
  return look_in_training(context);
}

absl::Status CadenceHook::after_window(HookContext& context, const Window&) {
  return look_in_training(context);
}

absl::Status CadenceHook::after_epoch(HookContext& context) { return look_in_training(context); }

absl::Status CadenceHook::look_in_training(HookContext& context) {
  if (context.phase() == Phase::kTrain) look(context);
  return absl::OkStatus();
}

void CadenceHook::look(HookContext& context) {
  if (context.due(cadence_)) when_due(context);
}

namespace {

// Version 1 has the step of all sets; version 2 has a line "STEP SET" per set.
constexpr int32_t kAllSets = 1;
constexpr int32_t kEachSet = 2;

// Returns true if `state` could be read.
bool parse(const HookState& state, std::map<std::string, int64_t>* asked_at) {
  if (state.version != kAllSets && state.version != kEachSet) return false;
  const std::vector<std::string> lines = absl::StrSplit(state.bytes, '\n');
  for (const std::string& line : lines) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    int64_t step = -1;
    if (!absl::SimpleAtoi(parts.first, &step) || step < 0) return false;
    if (!asked_at->emplace(parts.second, step).second) return false;
  }
  return state.version == kEachSet || (asked_at->size() == 1 && asked_at->count("") == 1);
}

}  // namespace

absl::Status EvaluationHook::start(HookContext& context) {
  if (!std::exchange(loaded_, false)) asked_at_.clear();
  for (const SetCadence& entry : sets_) {
    if (context.phase() == Phase::kTrain && entry.when.at_end) {
      context.requests().evaluate_at_end(entry.set);
    }
  }
  return CadenceHook::start(context);
}

absl::Status EvaluationHook::save_state(HookState& state) const {
  if (asked_at_.empty()) return absl::OkStatus();
  const auto all = asked_at_.find("");
  if (asked_at_.size() == 1 && all != asked_at_.end()) {
    state = {kAllSets, absl::StrCat(all->second)};
    return absl::OkStatus();
  }
  state = {kEachSet, absl::StrJoin(asked_at_, "\n", [](std::string* out, const auto& entry) {
             absl::StrAppend(out, entry.second, " ", entry.first);
           })};
  return absl::OkStatus();
}

absl::Status EvaluationHook::load_state(absl::Span<const HookState> per_rank) {
  std::map<std::string, int64_t> asked_at;
  if (!per_rank.empty() && !per_rank[0].bytes.empty() && !parse(per_rank[0], &asked_at)) {
    return absl::DataLossError("the step of the last evaluation cannot be read");
  }
  asked_at_ = std::move(asked_at);
  loaded_ = true;
  return absl::OkStatus();
}

void EvaluationHook::look(HookContext& context) {
  const int64_t step = context.progress().step;
  const bool begins = step == 0 && context.progress().window == 0;
  for (const SetCadence& entry : sets_) {
    Cadence when = entry.when;
    when.at_start &= begins;  // a resumed run evaluates where an undisturbed one does
    if (!context.due(when)) continue;
    auto asked = asked_at_.find(entry.set);
    if (asked == asked_at_.end()) asked = asked_at_.find("");
    if (asked != asked_at_.end() && asked->second == step) continue;
    context.requests().evaluate(entry.set);
    asked_at_[entry.set] = step;
  }
}

}  // namespace millrace
