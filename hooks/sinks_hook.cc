#include "hooks/sinks_hook.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/byte_stream.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "hooks/inspect/tensor_statistic.h"

namespace millrace {
namespace {

constexpr int32_t kSinksVersion = 1;

}  // namespace

SinksHook::SinksHook(std::vector<NamedSink> sinks) {
  for (NamedSink& named : sinks) sinks_.push_back({.named = std::move(named)});
}

absl::Status SinksHook::call(absl::FunctionRef<absl::Status(Sink&)> call) {
  absl::Status first;
  for (Entry& entry : sinks_) {
    if (entry.failed) continue;
    const absl::Status status = catch_exceptions([&] { return call(*entry.named.sink); });
    if (status.ok()) continue;
    entry.failed = true;
    const absl::Status error = annotate(
        status,
        absl::StrCat("sink ", entry.named.name, " is switched off for the rest of the run"));
    if (!first.ok()) MILLRACE_LOG(WARNING) << error;
    first.Update(error);
  }
  return first;
}

absl::Status SinksHook::start(HookContext& context) {
  for (Entry& entry : sinks_) entry.failed = false;
  first_step_ = context.progress().step;
  // State of an earlier run, if the checkpoint loaded since has no state of this hook.
  if (written_.has_value() && written_->step > first_step_) written_.reset();
  if (!written_.has_value() && first_step_ == 0) written_ = Written();
  SinkStart start{.first_step = first_step_};
  if (written_.has_value()) {
    start.written = written_->step == first_step_ ? written_->names : std::set<std::string>();
  }
  start_ = call([&](Sink& sink) { return sink.start(start); });
  // An error returned here would disable other sinks, too.
  if (!start_.ok()) MILLRACE_LOG(WARNING) << start_.message();
  return absl::OkStatus();
}

bool SinksHook::wants_distributions() const {
  return std::any_of(sinks_.begin(), sinks_.end(), [](const Entry& entry) {
    return !entry.failed && entry.named.sink->wants_distributions();
  });
}

absl::Status SinksHook::after_backward(HookContext& context, const Gradients& gradients) {
  if (!context.report_due() || !wants_distributions()) return absl::OkStatus();
  for (const NamedParameter& parameter : gradients.dense()) {
    context.report_distribution("parameters/" + parameter.name,
                                tensor_distribution(parameter.value));
    const at::Tensor& gradient = parameter.value.grad();
    if (!gradient.defined()) continue;
    context.report_distribution("gradients/" + parameter.name, tensor_distribution(gradient));
  }
  return absl::OkStatus();
}

// If the names of the first step of the run are not known, records names from the next step on.
void SinksHook::note_written(int64_t step, const std::string& name) {
  if (!written_.has_value() && step == first_step_) return;
  if (!written_.has_value() || written_->step != step) written_ = Written{.step = step};
  written_->names.insert(name);
}

absl::Status SinksHook::after_report(HookContext&, const Report& report) {
  note_written(report.progress.step, SinkStart::kTrain);
  return call([&](Sink& sink) { return sink.write_report(report); });
}

absl::Status SinksHook::after_evaluate(HookContext&, const EvaluationResult& result) {
  note_written(result.progress.step, result.set);
  return call([&](Sink& sink) { return sink.write_evaluation(result); });
}

absl::Status SinksHook::after_checkpoint(HookContext&, const CheckpointInfo&) {
  return call([](Sink& sink) { return sink.flush(); });
}

absl::Status SinksHook::end(HookContext&, const absl::Status&) {
  absl::Status status = call([](Sink& sink) { return sink.flush(); });
  status.Update(start_);
  return status;
}

absl::Status SinksHook::save_state(HookState& state) const {
  if (!written_.has_value()) return absl::OkStatus();
  ByteWriter writer;
  writer.write_int64(written_->step);
  for (const std::string& name : written_->names) writer.write_string(name);
  state = {kSinksVersion, writer.take()};
  return absl::OkStatus();
}

absl::Status SinksHook::load_state(absl::Span<const HookState> per_rank) {
  std::optional<Written> written;
  // All ranks have the same reports and evaluations.
  if (!per_rank.empty() && !per_rank[0].empty()) {
    ByteReader reader(per_rank[0].bytes);
    written = Written{.step = reader.read_int64()};
    while (reader.remaining() > 0) written->names.emplace(reader.read_string());
    if (per_rank[0].version != kSinksVersion || !reader.ok()) {
      return absl::InvalidArgumentError("the state of hook sinks is damaged or of another version");
    }
  }
  written_ = std::move(written);
  return absl::OkStatus();
}

}  // namespace millrace
