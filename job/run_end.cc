#include "job/run_end.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "proto/data_windows.h"

namespace millrace {

Limits limits_of(const TrainConfig& config) {
  return {.max_steps = config.max_steps(),
          .max_epochs = config.max_epochs(),
          .max_windows = config.max_windows(),
          .max_elapsed = absl::Seconds(config.max_seconds())};
}

std::vector<std::string> reached_limits(const TrainConfig& config, const Progress& progress) {
  const Limits limits = limits_of(config);
  std::vector<std::string> reached;
  const auto add = [&](const char* name, int64_t limit, int64_t at, const char* unit) {
    if (limit <= 0 || at < limit) return;
    reached.push_back(absl::StrCat("train.", name, " is ", limit));
    if (at == limit) return;
    absl::StrAppend(&reached.back(), ", but this run stands at ", unit, " ", at, " already");
  };
  add("max_steps", limits.max_steps, progress.step, "step");
  // Another stream is one epoch, and no other follows.
  if (!comes_in_windows(config.train_data()) || is_list_of_windows(config.train_data()) ||
      config.max_windows_per_epoch() > 0) {
    add("max_epochs", limits.max_epochs, progress.epoch, "epoch");
  }
  add("max_windows", limits.max_windows, progress.window, "window");
  if (time_is_up(limits, progress)) {
    reached.push_back(
        absl::StrFormat("train.max_seconds is %g, and this run has trained for %.1f s",
                        config.max_seconds(), absl::ToDoubleSeconds(progress.elapsed)));
  }
  return reached;
}

std::string finished_text(const TrainConfig& config, const Progress& progress,
                          absl::string_view how) {
  const std::string text =
      absl::StrCat("finished before (", how, ") after ", progress.step, " steps; ");
  if (how != "completed") {
    return absl::StrCat(text,
                        "no limit ended it: to train further, go on from an earlier checkpoint "
                        "(--resume=PATH) in another output_dir");
  }
  const std::vector<std::string> limits = reached_limits(config, progress);
  if (limits.empty())
    return absl::StrCat(text, "no limit ended it, but the data, which had no more");
  return absl::StrCat(text, absl::StrJoin(limits, "; "), ": raise ",
                      limits.size() > 1 ? "them" : "it", " to go on");
}

std::string no_step_text(const TrainConfig& config, const Progress& progress) {
  const std::string text = absl::StrCat("no step was made: training was at its end already (step ",
                                        progress.step, ", epoch ", progress.epoch, ")");
  const std::vector<std::string> limits = reached_limits(config, progress);
  return limits.empty() ? text : absl::StrCat(text, ": ", absl::StrJoin(limits, "; "));
}

}  // namespace millrace
