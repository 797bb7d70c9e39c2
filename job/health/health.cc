#include "job/health/health.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace millrace {
namespace {

constexpr size_t kMostPeers = 3;

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

}  // namespace

std::string peers_text(const std::vector<PeerActivity>& peers) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(peers.size(), kMostPeers); ++i) {
    texts.push_back(
        absl::StrCat("rank ", peers[i].rank, " (", phase_text(peers[i].phase, peers[i].step), ")"));
  }
  if (peers.size() > kMostPeers) {
    texts.push_back(absl::StrCat(peers.size() - kMostPeers, " more"));
  }
  return absl::StrJoin(texts, ", ");
}

HealthReport check_health(const Activity& activity, const HealthConfig& limits) {
  const std::string phase = phase_text(activity.phase, activity.step);
  if (activity.exchange.has_value()) {
    const std::string peers = activity.behind.empty() ? "other ranks" : peers_text(activity.behind);
    return {true, absl::StrCat("ok: ", phase, ", waits for ", peers, " for ",
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
