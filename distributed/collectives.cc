#include "distributed/collectives.h"

#include "absl/strings/str_cat.h"

namespace millrace {

absl::string_view rank_phase_name(RankPhase phase) {
  switch (phase) {
    case RankPhase::kRendezvous: return "rendezvous";
    case RankPhase::kStart: return "start";
    case RankPhase::kData: return "data";
    case RankPhase::kLookup: return "lookup";
    case RankPhase::kForward: return "forward";
    case RankPhase::kBackward: return "backward";
    case RankPhase::kCommit: return "commit";
    case RankPhase::kUpdate: return "update";
    case RankPhase::kBetweenSteps: return "between steps";
    case RankPhase::kEvaluation: return "evaluation";
    case RankPhase::kWindowWait: return "window wait";
    case RankPhase::kCheckpoint: return "checkpoint";
    case RankPhase::kEnd: return "end";
  }
  return "unknown";
}

bool is_unlimited(RankPhase phase) {
  return phase == RankPhase::kData || phase == RankPhase::kWindowWait ||
         phase == RankPhase::kCheckpoint;
}

absl::Status peer_error(int rank, RankPhase phase, int64_t step, absl::string_view what) {
  return absl::AbortedError(absl::StrCat("rank ", rank, " failed in ", rank_phase_name(phase),
                                         " of step ", step, ": ", what));
}

}  // namespace millrace
