#include "hooks/mllog_hook.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/lines/line_text.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "framework/report/directory_check.h"
#include "metrics/metric_registry.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/monitor_name.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kMllogWhere[] = "[millrace.mllog]";
constexpr int32_t kMllogVersion = 1;

// Returns the keys of lines that the hook writes by itself.
const std::set<std::string>& own_keys() {
  static const auto* keys = new std::set<std::string>{"submission_benchmark",
                                                      "submission_org",
                                                      "submission_division",
                                                      "submission_platform",
                                                      "submission_status",
                                                      "init_start",
                                                      "init_stop",
                                                      "run_start",
                                                      "run_stop",
                                                      "block_start",
                                                      "block_stop",
                                                      "epoch_start",
                                                      "epoch_stop",
                                                      "eval_start",
                                                      "eval_stop",
                                                      "eval_accuracy"};
  return *keys;
}

Json value_of(const MllogConfig::Value& value) {
  switch (value.value_case()) {
    case MllogConfig::Value::kText: return value.text();
    case MllogConfig::Value::kNumber: return value.number();
    case MllogConfig::Value::kInteger: return value.integer();
    case MllogConfig::Value::kFlag: return value.flag();
    default: return nullptr;
  }
}

absl::Status check_value(const MllogConfig::Value& value, const std::string& where) {
  if (value.key().empty()) return wrong(where, "key is missing");
  if (own_keys().contains(value.key())) {
    return wrong(where, absl::StrCat("key is \"", value.key(),
                                     "\", a line that the hook writes itself; remove the value"));
  }
  if (value.value_case() != MllogConfig::Value::VALUE_NOT_SET) return absl::OkStatus();
  return wrong(where, absl::StrCat("\"", value.key(),
                                   "\" has no value; give text, number, integer or flag"));
}

}  // namespace

// A line in progress.
class MllogHook::Line {
 public:
  enum Type { kPoint, kStart, kEnd };
  Line(Type type, const char* key, Json value = nullptr)
      : type_(type), key_(key), value_(std::move(value)) {}

  Line& at(absl::Time time) {
    time_ = time;
    return *this;
  }
  Line& add(const char* name, Json value) {
    metadata_[name] = std::move(value);
    return *this;
  }

  absl::Time time() const { return time_; }
  std::string text() const {
    static constexpr const char* kTypes[] = {"POINT_IN_TIME", "INTERVAL_START", "INTERVAL_END"};
    const Json json = {{"namespace", ""},
                       {"time_ms", absl::ToUnixMillis(time_)},
                       {"event_type", kTypes[type_]},
                       {"key", key_},
                       {"value", value_},
                       {"metadata", metadata_}};
    return ":::MLLOG " + json_line(json);
  }

 private:
  Type type_;
  std::string key_;
  Json value_;
  absl::Time time_ = absl::InfinitePast();
  Json metadata_ = Json::object();
};

MllogHook::MllogHook(FileSystem& files, Clock& clock, const std::string& output_dir,
                     const MllogConfig& config)
    : clock_(clock),
      config_(config),
      accuracy_(config.accuracy()),
      created_(clock.now()),
      lines_(files, join_path(output_dir, config.file())) {
  const absl::Status status = check(config);
  MILLRACE_CHECK(status.ok()) << status;
}

absl::Status MllogHook::check(const MllogConfig& config) {
  FieldErrors errors;
  errors.add(check_file(kMllogWhere, config.file()));
  const auto require = [&](const char* name, const std::string& value, const char* example) {
    if (value.empty()) {
      errors.add(wrong(kMllogWhere, absl::StrCat(name, " is missing; such as \"", example, "\"")));
    }
  };
  require("benchmark", config.benchmark(), "dlrmv4");
  require("organization", config.organization(), "example.org");
  require("platform", config.platform(), "2 nodes");
  if (config.division() != "open" && config.division() != "closed") {
    errors.add(wrong(kMllogWhere, absl::StrCat("division is \"", config.division(),
                                               "\"; it must be open or closed")));
  }
  if (!names_metric(config.accuracy())) {
    errors.add(wrong(kMllogWhere, absl::StrCat("accuracy is \"", config.accuracy(),
                                               "\"; set it to SET/METRIC with the name of an "
                                               "evaluation set, such as eval/auc")));
  }
  std::set<std::string> keys;
  for (int i = 0; i < config.value_size(); ++i) {
    const std::string where = absl::StrCat(kMllogWhere, ".value[", i, "]");
    errors.add(check_value(config.value(i), where));
    if (!config.value(i).key().empty() && !keys.insert(config.value(i).key()).second) {
      errors.add(wrong(where, absl::StrCat("there is a value for \"", config.value(i).key(),
                                           "\" before; remove one")));
    }
  }
  return errors.status();
}

absl::StatusOr<std::unique_ptr<Hook>> MllogHook::create(const HookConfig& config,
                                                        const HookResources& resources) {
  const MllogConfig& own = config.GetExtension(mllog);
  RETURN_IF_ERROR(check(own));
  return std::make_unique<MllogHook>(resources.files, resources.clock, resources.output_dir, own);
}

bool MllogHook::writes(const HookContext& context) const {
  return is_training_ && context.phase() == Phase::kTrain;
}

absl::Status MllogHook::write(Line line) {
  if (line.time() == absl::InfinitePast()) line.at(clock_.now());
  if (begun_) return lines_.append(line.text());
  waiting_.push_back(line.text());
  return absl::OkStatus();
}

absl::Status MllogHook::write_waiting() {
  RETURN_IF_ERROR(lines_.open());
  begun_ = true;
  absl::Status status;
  // After an error the next append() completes the previous line.
  for (const std::string& line : std::exchange(waiting_, {})) status.Update(lines_.append(line));
  return status;
}

absl::Status MllogHook::write_beginning() {
  const std::pair<const char*, const std::string&> submission[] = {
      {"submission_benchmark", config_.benchmark()},
      {"submission_org", config_.organization()},
      {"submission_division", config_.division()},
      {"submission_platform", config_.platform()},
      {"submission_status", config_.status()}};
  for (const auto& [key, value] : submission) {
    RETURN_IF_ERROR(write(Line(Line::kPoint, key, value).at(created_)));
  }
  RETURN_IF_ERROR(write(Line(Line::kStart, "init_start").at(created_)));
  for (const MllogConfig::Value& value : config_.value()) {
    RETURN_IF_ERROR(write(Line(Line::kPoint, value.key().c_str(), value_of(value))));
  }
  RETURN_IF_ERROR(write(Line(Line::kEnd, "init_stop")));
  return write(Line(Line::kStart, "run_start"));
}

absl::Status MllogHook::start(HookContext& context) {
  is_training_ = context.rank() == 0 && context.phase() == Phase::kTrain;
  in_evaluation_ = false;
  if (context.rank() != 0) lines_.set_bytes(LineFile::kUnknown);
  if (!is_training_) return absl::OkStatus();
  // An earlier run may have ended, or the checkpoint may be of a run without this hook.
  const bool continues = context.progress().step > 0 && lines_.bytes() > 0;
  lines_.begin(continues);
  waiting_.clear();
  begun_ = continues;
  if (continues) return absl::OkStatus();
  last_accuracy_.reset();
  open_ = kNone;
  return write_beginning();
}

bool MllogHook::opens(int64_t number) { return std::exchange(open_, number) != number; }

absl::Status MllogHook::before_epoch(HookContext& context) {
  const int64_t epoch = context.progress().epoch;
  if (!writes(context) || context.windowed() || !opens(epoch)) return absl::OkStatus();
  return write(Line(Line::kStart, "epoch_start")
                   .add("epoch_num", epoch + 1)
                   .add("samples_count", context.progress().examples));
}

absl::Status MllogHook::after_epoch(HookContext& context) {
  if (!writes(context) || context.windowed()) return absl::OkStatus();
  return write(Line(Line::kEnd, "epoch_stop")
                   .add("epoch_num", context.progress().epoch)
                   .add("samples_count", context.progress().examples));
}

absl::Status MllogHook::before_window(HookContext& context, const Window& window) {
  if (!writes(context) || !opens(window.index)) return absl::OkStatus();
  return write(Line(Line::kStart, "block_start")
                   .add("first_epoch_num", window.index + 1)
                   .add("epoch_count", 1)
                   .add("samples_count", context.progress().examples));
}

absl::Status MllogHook::after_window(HookContext& context, const Window& window) {
  if (!writes(context)) return absl::OkStatus();
  return write(Line(Line::kEnd, "block_stop")
                   .add("first_epoch_num", window.index + 1)
                   .add("samples_count", context.progress().examples));
}

absl::Status MllogHook::before_step(HookContext& context) {
  if (!is_training_) return absl::OkStatus();
  if (!begun_) RETURN_IF_ERROR(write_waiting());
  const bool begins_evaluation = context.phase() == Phase::kEvaluate && !in_evaluation_;
  if (!begins_evaluation) return absl::OkStatus();
  in_evaluation_ = true;
  return write(Line(Line::kStart, "eval_start").add("samples_count", context.progress().examples));
}

absl::Status MllogHook::after_evaluate(HookContext&, const EvaluationResult& result) {
  if (!is_training_) return absl::OkStatus();
  in_evaluation_ = false;
  ASSIGN_OR_RETURN(const std::optional<double> accuracy, accuracy_.find(result));
  const int64_t samples = result.progress.examples;
  if (accuracy.has_value()) {
    last_accuracy_ = accuracy;
    RETURN_IF_ERROR(
        write(Line(Line::kPoint, "eval_accuracy", *accuracy).add("samples_count", samples)));
  }
  return write(Line(Line::kEnd, "eval_stop").add("samples_count", samples).add("set", result.set));
}

absl::Status MllogHook::after_checkpoint(HookContext&, const CheckpointInfo&) {
  lines_.check_removed();
  return std::exchange(sync_, absl::OkStatus());
}

bool MllogHook::target_reached() const {
  if (!config_.has_target()) return true;
  if (!last_accuracy_.has_value()) return false;
  const bool lower_is_better =
      direction_of_monitor(config_.accuracy()) == MetricDirection::kLowerIsBetter;
  return lower_is_better ? *last_accuracy_ <= config_.target()
                         : *last_accuracy_ >= config_.target();
}

absl::Status MllogHook::end(HookContext& context, const absl::Status& outcome) {
  if (!std::exchange(is_training_, false) || !begun_) return absl::OkStatus();
  const bool succeeded = outcome.ok() && target_reached();
  absl::Status status = write(Line(Line::kEnd, "run_stop")
                                  .add("status", succeeded ? "success" : "aborted")
                                  .add("samples_count", context.progress().examples));
  status.Update(lines_.finish());
  return status;
}

// An error of the log must not fail the checkpoint: after_checkpoint() returns the error.
absl::Status MllogHook::save_state(HookState& state) const {
  sync_.Update(lines_.sync());
  if (lines_.bytes() == LineFile::kUnknown) return absl::OkStatus();
  const double accuracy = last_accuracy_.value_or(std::numeric_limits<double>::quiet_NaN());
  state = {kMllogVersion, absl::StrFormat("%d %d %.17g", lines_.bytes(), open_, accuracy)};
  return absl::OkStatus();
}

absl::Status MllogHook::load_state(absl::Span<const HookState> per_rank) {
  int64_t bytes = LineFile::kUnknown, open = kNone;
  double accuracy = std::numeric_limits<double>::quiet_NaN();
  if (!per_rank.empty() && !per_rank[0].empty()) {  // rank 0's
    const std::vector<absl::string_view> parts = absl::StrSplit(per_rank[0].bytes, ' ');
    if (per_rank[0].version != kMllogVersion || parts.size() != 3 ||
        !absl::SimpleAtoi(parts[0], &bytes) || !absl::SimpleAtoi(parts[1], &open) ||
        !absl::SimpleAtod(parts[2], &accuracy)) {
      return absl::InvalidArgumentError("the state of hook mllog is damaged or of another version");
    }
  }
  lines_.set_bytes(bytes);
  open_ = open;
  last_accuracy_ = std::isnan(accuracy) ? std::nullopt : std::optional(accuracy);
  return absl::OkStatus();
}

MILLRACE_REGISTER_HOOK(mllog, "writes the log of MLPerf", &MllogHook::create, OnError::kWarn);

}  // namespace millrace
