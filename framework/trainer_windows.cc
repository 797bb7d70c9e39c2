// The loop of the trainer where data comes in windows.
#include <torch/nn/module.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "framework/model.h"
#include "framework/trainer.h"
#include "framework/trainer_internal.h"

namespace millrace {

absl::StatusOr<Trainer::PassEnd> Trainer::train_windows() {
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<WindowState> state, wait_for_window(*windows_));
    if (!state.has_value()) return PassEnd::kInterrupted;
    position_.stream_ended = state->kind == WindowState::kEnded;
    if (position_.stream_ended && !paired_.empty())
      MILLRACE_LOG(INFO) << "the windows to train on have ended";
    if (position_.stream_ended) return PassEnd::kOutOfData;
    position_.open_window(state->window);
    if (!state->window.damage.empty()) ++summary_.damaged_windows;
    at_boundary_ = false;
    RETURN_IF_ERROR(hooks_->before_window(*context_, state->window));
    RETURN_IF_ERROR(evaluate_window());
    at_boundary_ = true;
    if (stopped_) return PassEnd::kInterrupted;
    const int64_t cap = options_.max_steps_per_window;
    ASSIGN_OR_RETURN(const PassEnd end, train_pass({"window", state->window.index},
                                                   cap > 0 ? position_.window_first_step + cap : 0,
                                                   /*may_be_empty=*/true));
    if (end == PassEnd::kInterrupted) return end;
    RETURN_IF_ERROR(evaluate_paired(state->window));
    if (stopped_) return PassEnd::kInterrupted;
    RETURN_IF_ERROR(complete_window(state->window, end == PassEnd::kOutOfData));
    if (position_.stream_ended) return PassEnd::kOutOfData;
    if (training_is_over()) return PassEnd::kInterrupted;
  }
}

// Returns: ready or ended; none if a stop or a limit came first.
absl::StatusOr<std::optional<WindowState>> Trainer::wait_for_window(WindowedDataset& windows) {
  while (true) {
    parts_.collectives->set_phase(RankPhase::kWindowWait, position_.steps_done());
    RETURN_IF_ERROR(agreement_->meet({"window wait", position_.progress.window}, share(nullptr)));
    update_elapsed();
    served_any_ = false;
    RETURN_IF_ERROR(poll_saves(agreement_->result()));
    RETURN_IF_ERROR(serve_agreed());
    // What comes due by time while there is no window is due after the next step.
    RETURN_IF_ERROR(serve_common(/*marks=*/false));
    if (training_is_over()) {
      parts_.collectives->set_phase(RankPhase::kBetweenSteps, position_.steps_done());
      return std::nullopt;
    }
    // What was served may have failed on a rank, which must be heard of before next_window.
    if (served_any_) continue;
    const absl::StatusOr<WindowState> state = windows.next_window();
    if (!state.ok() || state->kind != WindowState::kNotYet) {
      parts_.collectives->set_phase(RankPhase::kBetweenSteps, position_.steps_done());
      RETURN_IF_ERROR(state.status(), "looking for a window");
      return *state;
    }
    clock_.sleep(options_.poll_interval);
  }
}

// Before it is trained on, so that its figures are those of data that the model has not seen.
absl::Status Trainer::evaluate_window() {
  if (!options_.progressive_evaluation) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::unique_ptr<Dataset> data, windows_->open_window_again());
  if (data == nullptr) return absl::OkStatus();
  EvaluationOptions options;
  options.name = kNextWindow;
  ASSIGN_OR_RETURN(const std::optional<EvaluationResult> result, evaluate_inside(*data, options));
  if (!result.has_value()) return absl::OkStatus();
  last_evaluated_step_[options.name] = position_.progress.step;
  return hooks_->after_evaluate(*context_, *result);
}

// A window of each paired set. Where one has ended, training ends with this window.
absl::Status Trainer::evaluate_paired(const Window& window) {
  at_boundary_ = false;
  for (const std::unique_ptr<PairedEvaluation>& set : paired_) {
    if (set->was_evaluated(window.index)) continue;
    ASSIGN_OR_RETURN(WindowedDataset* const windows, set->stream(),
                     absl::StrCat("evaluation set ", set->name()));
    ASSIGN_OR_RETURN(const std::optional<WindowState> state, wait_for_window(*windows),
                     absl::StrCat("evaluation set ", set->name()));
    if (!state.has_value()) break;
    if (state->kind == WindowState::kEnded) {
      position_.stream_ended = true;
      MILLRACE_LOG(INFO) << "the windows of evaluation set " << set->name()
                         << " have ended, and training ends with them";
      continue;
    }
    EvaluationOptions options;
    options.name = set->name();
    ASSIGN_OR_RETURN(const std::optional<EvaluationResult> result,
                     evaluate_inside(set->open_window(), options));
    if (!result.has_value()) break;
    set->evaluated(state->window, window.index);
    last_evaluated_step_[set->name()] = position_.progress.step;
    RETURN_IF_ERROR(hooks_->after_evaluate(*context_, *result));
  }
  at_boundary_ = true;
  return absl::OkStatus();
}

absl::Status Trainer::complete_window(const Window& window, bool out_of_data) {
  if (out_of_data) RETURN_IF_ERROR(hooks_->out_of_data(*context_, DataEnd::kWindow));
  at_boundary_ = false;
  position_.complete_window(window);
  RETURN_IF_ERROR(hooks_->after_window(*context_, window));
  RETURN_IF_ERROR(report_if_due());
  RETURN_IF_ERROR(serve_common());
  at_boundary_ = true;
  return absl::OkStatus();
}

}  // namespace millrace
