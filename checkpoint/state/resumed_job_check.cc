#include "checkpoint/state/resumed_job_check.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/config.pb.h"
#include "proto/config_fingerprint.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

constexpr size_t kMostDifferences = 20;  // maximum number in an error

// Returns a line per difference, at most the first kMostDifferences.
std::string in_lines(const std::vector<std::string>& differences) {
  std::string text;
  for (size_t i = 0; i < differences.size() && i < kMostDifferences; ++i) {
    absl::StrAppend(&text, "\n  ", differences[i]);
  }
  if (differences.size() <= kMostDifferences) return text;
  return absl::StrCat(text, "\n  and ", differences.size() - kMostDifferences, " more");
}

}  // namespace

absl::StatusOr<std::vector<std::string>> check_resumed_job(const CheckpointManifest& manifest,
                                                           const std::string& fingerprint,
                                                           const std::string& config,
                                                           bool accept_changes) {
  if (manifest.fingerprint() == fingerprint) return std::vector<std::string>();
  TrainConfig then, now;
  std::vector<std::string> lines;
  bool can_continue = false;
  if (!manifest.config().empty() &&
      parse_text(manifest.config(), "its configuration", &then).ok() &&
      parse_text(config, "the configuration", &now).ok()) {
    // The fingerprint may have been computed by the rules of another version.
    if (config_fingerprint(then) == fingerprint) return std::vector<std::string>();
    can_continue = can_continue_as(then, now);
    const bool all = can_continue || !accept_changes;
    lines = all ? config_differences(then, now) : fixed_differences(then, now);
    for (std::string& line : lines) line = absl::StrCat("train.", line);
    if (accept_changes && can_continue) return lines;
    if (lines.empty()) lines = {"train: the order of entries"};
  }
  const char* const remedy =
      can_continue
          ? "go back to its configuration, or continue it with the new one by --accept_changes"
          : "go back to its configuration, or start a new run in another output_dir: "
            "train.initialize_from takes its weights along, a source of train.model_bank with "
            "parts: [WEIGHTS, SLOTS, DENSE_OPTIMIZER, PROGRESS, CURSOR, HOOKS] takes along its "
            "optimizers, progress, place in the data and hooks too, so that training continues "
            "where it stood (docs/model_bank.md)";
  return absl::InvalidArgumentError(absl::StrCat(
      "this checkpoint is of another job; ", remedy,
      lines.empty() ? ""
                    : absl::StrCat(". What differs", accept_changes ? " and cannot change" : "",
                                   ", then → now:"),
      in_lines(lines)));
}

}  // namespace millrace
