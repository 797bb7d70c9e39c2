#include "job/health/health.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "job/health/awaited_ranks.h"

namespace millrace {
namespace {

struct Limit {
  const char* field;    // of run.health
  const char* missing;  // what has not come
  double seconds;
};

Limit limit_of(const Activity& activity, const HealthConfig& limits) {
  if (activity.loading) return {"load_seconds", "first step", limits.load_seconds()};
  switch (activity.phase) {
    case RankPhase::kData: return {"data_seconds", "batch", limits.data_seconds()};
    case RankPhase::kWindowWait: return {"window_seconds", "window", limits.window_seconds()};
    case RankPhase::kEvaluation:
      return {"evaluation_seconds", "batch or end of the evaluation", limits.evaluation_seconds()};
    case RankPhase::kCheckpoint: return {"save_seconds", "end of the save", limits.save_seconds()};
    // Hooks may write files at the end, as saves do.
    case RankPhase::kEnd: return {"save_seconds", "end of the run", limits.save_seconds()};
    default: return {"step_seconds", "step", limits.step_seconds()};
  }
}

std::string phase_text(RankPhase phase, int64_t step) {
  return absl::StrCat(rank_phase_name(phase), " of step ", step);
}

// Whole seconds from 10 s on, else tenths.
std::string seconds_text(absl::Duration time) {
  const double seconds = absl::ToDoubleSeconds(time);
  return absl::StrFormat(seconds < 10 ? "%.1f s" : "%.0f s", seconds);
}

std::string peers_text(const std::vector<PeerActivity>& peers) {
  std::vector<AwaitedRank> ranks;
  for (const PeerActivity& peer : peers) {
    ranks.push_back({peer.rank, std::string(rank_phase_name(peer.phase)), peer.step});
  }
  return awaited_text(ranks);
}

}  // namespace

HealthReport check_health(const Activity& activity, const HealthConfig& limits) {
  const std::string phase = phase_text(activity.phase, activity.step);
  if (activity.exchange.has_value()) {
    return {true, absl::StrCat("ok: ", phase, ", waits for ", peers_text(activity.behind), " for ",
                               seconds_text(*activity.exchange))};
  }
  const Limit limit = limit_of(activity, limits);
  const std::string field = absl::StrCat("limit run.health.", limit.field, " ", limit.seconds);
  if (limit.seconds > 0 && activity.idle > absl::Seconds(limit.seconds)) {
    return {false, absl::StrCat("no ", limit.missing, " for ", seconds_text(activity.idle), "; ",
                                field, "; phase ", phase)};
  }
  return {true,
          absl::StrCat("ok: ", phase, activity.loading ? ", loading" : "", " for ",
                       seconds_text(activity.idle), "; ", limit.seconds > 0 ? field : "no limit")};
}

}  // namespace millrace
