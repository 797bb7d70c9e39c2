#include "hooks/evict_rows_hook.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "embedding/embedding_collection.h"
#include "proto/evict_rows_state.pb.h"
#include "proto/hook_configs.pb.h"

namespace millrace {
namespace {

constexpr int32_t kEvictRowsVersion = 1;
constexpr double kMarksPerHorizon = 256;  // idle_seconds is exact to a part of it
constexpr Cadence kEvictRowsCadence = {.every_steps = 1000, .every_windows = 1};

void save(const std::map<double, StepMarks>& all,
          google::protobuf::RepeatedPtrField<EvictRowsState::Marks>* states) {
  for (const auto& [horizon, marks] : all) {
    EvictRowsState::Marks* state = states->Add();
    state->set_horizon(horizon);
    for (const StepMark& mark : marks.state()) {
      state->add_at(mark.at);
      state->add_step(mark.step);
    }
  }
}

absl::Status load(const google::protobuf::RepeatedPtrField<EvictRowsState::Marks>& states,
                  std::map<double, StepMarks>& all) {
  for (const EvictRowsState::Marks& state : states) {
    if (state.at_size() != state.step_size()) {
      return absl::InvalidArgumentError("marks of steps without a moment");
    }
    const auto found = all.find(state.horizon());
    if (found == all.end()) continue;
    std::vector<StepMark> marks;
    for (int i = 0; i < state.at_size(); ++i) marks.push_back({state.at(i), state.step(i)});
    RETURN_IF_ERROR(found->second.set_state(marks));
  }
  return absl::OkStatus();
}

std::string by_reason(const EvictionCounts& counts) {
  std::vector<std::string> parts;
  for (int i = 0; i < kEvictionReasons; ++i) {
    const absl::string_view reason = eviction_reason_name(static_cast<EvictionReason>(i));
    if (counts[i] > 0) parts.push_back(absl::StrCat(reason, " ", counts[i]));
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace

EvictRowsHook::EvictRowsHook(Cadence when, std::vector<EmbeddingCollection*> collections)
    : when_(when), collections_(std::move(collections)) {
  make_marks();
}

absl::StatusOr<std::unique_ptr<Hook>> EvictRowsHook::create(const HookConfig& config,
                                                            const HookResources& resources) {
  // A rank whose eviction failed and that continues would keep rows that one rank would not have.
  if (on_error_of(config) != OnError::kFail) {
    return absl::InvalidArgumentError(
        "on_error must be FAIL: without its eviction a rank has other rows than the job");
  }
  const EvictRowsConfig& own = config.GetExtension(evict_rows);
  const Cadence when = own.has_when() ? Cadence::from_config(own.when()) : kEvictRowsCadence;
  if (!when.enabled()) {
    return absl::InvalidArgumentError("[millrace.evict_rows].when never comes");
  }
  if (when.at_end) {
    return absl::InvalidArgumentError(
        "[millrace.evict_rows].when.at_end comes after the last checkpoint; use every_epochs or "
        "every_windows");
  }
  bool any = false;
  for (const EmbeddingCollection* collection : resources.collections) {
    for (const auto& table : collection->tables())
      any |= table->maintenance().eviction_rules().has_value();
  }
  if (!any) {
    return absl::InvalidArgumentError("no table says what to evict (train.table.eviction)");
  }
  return std::make_unique<EvictRowsHook>(
      when, std::vector<EmbeddingCollection*>(resources.collections.begin(),
                                              resources.collections.end()));
}

void EvictRowsHook::make_marks() {
  for (const EmbeddingCollection* collection : collections_) {
    for (const auto& table : collection->tables()) {
      if (!table->maintenance().eviction_rules().has_value()) continue;
      const EvictionConfig& rules = table->maintenance().eviction_rules()->config();
      if (rules.has_idle_seconds()) {
        const double horizon = rules.idle_seconds();
        seconds_.try_emplace(horizon, horizon, horizon / kMarksPerHorizon);
      }
      if (rules.has_idle_windows()) {
        const auto horizon = static_cast<double>(rules.idle_windows());
        windows_.try_emplace(horizon, horizon, 1.0);
      }
    }
  }
}

// A resumed run has marks. Another mark would differ from an unbroken run.
void EvictRowsHook::begin_marks(const Progress& progress) {
  const double now = absl::ToDoubleSeconds(progress.elapsed);
  for (auto& [horizon, marks] : seconds_) {
    if (marks.empty()) marks.add(now, progress.step);
  }
  for (auto& [horizon, marks] : windows_) {
    if (marks.empty()) marks.add(static_cast<double>(progress.window), progress.step);
  }
}

void EvictRowsHook::mark(const Progress& progress) {
  const double now = absl::ToDoubleSeconds(progress.elapsed);
  for (auto& [horizon, marks] : seconds_) marks.add(now, progress.step);
  for (auto& [horizon, marks] : windows_) {
    marks.add(static_cast<double>(progress.window), progress.step);
  }
}

absl::Status EvictRowsHook::start(HookContext& context) {
  if (context.phase() != Phase::kTrain) return absl::OkStatus();
  if (!windows_.empty() && !context.windowed()) {
    return absl::InvalidArgumentError(
        "a table has eviction.idle_windows, but the training data has no windows");
  }
  begin_marks(context.progress());
  const bool begins = context.progress().step == 0 && context.progress().window == 0;
  return begins ? evict_if_due(context) : absl::OkStatus();
}

absl::Status EvictRowsHook::after_step(HookContext& context, const StepResult&) {
  if (context.phase() != Phase::kTrain) return absl::OkStatus();
  mark(context.progress());
  return evict_if_due(context);
}

absl::Status EvictRowsHook::after_window(HookContext& context, const Window&) {
  if (context.phase() == Phase::kTrain) mark(context.progress());
  return evict_if_due(context);
}

absl::Status EvictRowsHook::after_epoch(HookContext& context) { return evict_if_due(context); }

absl::Status EvictRowsHook::evict_if_due(HookContext& context) {
  if (context.phase() != Phase::kTrain || !context.due(when_)) return absl::OkStatus();
  return evict(context.progress());
}

absl::Status EvictRowsHook::evict(const Progress& progress) {
  for (EmbeddingCollection* collection : collections_) {
    for (const auto& table : collection->tables()) {
      if (!table->maintenance().eviction_rules().has_value()) continue;
      const EvictionConfig& rules = table->maintenance().eviction_rules()->config();
      EvictionTime now;
      now.step = progress.step;
      // Rows record only steps, so the limits in seconds and windows become limits in steps.
      if (rules.has_idle_seconds()) {
        const double since = absl::ToDoubleSeconds(progress.elapsed) - rules.idle_seconds();
        now.seconds_cut = seconds_.at(rules.idle_seconds()).step_at(since);
      }
      if (rules.has_idle_windows()) {
        const auto since = static_cast<double>(progress.window - rules.idle_windows());
        now.windows_cut = windows_.at(static_cast<double>(rules.idle_windows())).step_at(since);
      }
      const int64_t before = table->maintenance().statistics().rows;
      ASSIGN_OR_RETURN(const EvictionCounts counts, table->maintenance().evict(now));
      const int64_t after = table->maintenance().statistics().rows;
      if (after == before) continue;
      MILLRACE_LOG(INFO) << "step " << progress.step << ": evicted " << before - after << " of "
                         << before << " rows of table " << table->name() << " ("
                         << by_reason(counts) << ")";
    }
  }
  return absl::OkStatus();
}

absl::Status EvictRowsHook::save_state(HookState& state) const {
  EvictRowsState marks;
  save(seconds_, marks.mutable_seconds());
  save(windows_, marks.mutable_windows());
  state.version = kEvictRowsVersion;
  state.bytes = marks.SerializeAsString();
  return absl::OkStatus();
}

absl::Status EvictRowsHook::load_state(absl::Span<const HookState> per_rank) {
  EvictRowsState state;
  Marks seconds = seconds_, windows = windows_;
  absl::Status status;
  for (const HookState& one : per_rank) {
    const bool readable = one.version == kEvictRowsVersion && one.bytes == per_rank[0].bytes &&
                          state.ParseFromString(one.bytes);
    if (!readable) status = absl::InvalidArgumentError("its version or bytes");
  }
  if (status.ok()) status = load(state.seconds(), seconds);
  if (status.ok()) status = load(state.windows(), windows);
  RETURN_IF_ERROR(status, "the state of hook evict_rows is damaged or of another version");
  seconds_ = std::move(seconds);
  windows_ = std::move(windows);
  return absl::OkStatus();
}

MILLRACE_REGISTER_HOOK(evict_rows, "removes rows of tables by their rules of eviction",
                       &EvictRowsHook::create);

}  // namespace millrace
