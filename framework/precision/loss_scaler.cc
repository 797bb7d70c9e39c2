#include "framework/precision/loss_scaler.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/loss_scale_state.pb.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

constexpr int32_t kVersion = 1;
constexpr double kMaxScale = std::numeric_limits<float>::max();

}  // namespace

LossScaler::LossScaler(const LossScaleConfig& config) : config_(config), scale_(config.initial()) {}

void LossScaler::add_clean_step() {
  if (++clean_steps_ < config_.growth_interval()) return;
  clean_steps_ = 0;
  if (scale_ * config_.growth_factor() <= kMaxScale) scale_ *= config_.growth_factor();
}

void LossScaler::add_overflow() {
  MILLRACE_CHECK(!is_lowest());
  scale_ = std::max(scale_ * config_.backoff_factor(), config_.min());
  clean_steps_ = 0;
}

void LossScaler::add_refused_step(double scale) {
  scale_ = scale;
  clean_steps_ = 0;
}

absl::Status LossScaler::save_state(ObjectState& state) const {
  LossScaleState saved;
  saved.set_scale(scale_);
  saved.set_clean_steps(clean_steps_);
  state = {kVersion, saved.SerializeAsString()};
  return absl::OkStatus();
}

absl::Status LossScaler::load_state(absl::Span<const ObjectState> per_rank) {
  LossScaleState loaded;
  if (per_rank.empty()) {
    loaded.set_scale(config_.initial());
  } else if (per_rank[0].version != kVersion || !loaded.ParseFromString(per_rank[0].bytes) ||
             !(loaded.scale() > 0 && loaded.scale() <= kMaxScale) || loaded.clean_steps() < 0) {
    return absl::InvalidArgumentError("the loss scale is damaged or of another version");
  }
  scale_ = std::max(loaded.scale(), config_.min());
  clean_steps_ = loaded.clean_steps();
  return absl::OkStatus();
}

absl::Status check_precision(absl::string_view where, const PrecisionConfig& config) {
  FieldErrors errors;
  // A scale with the default values is accepted.
  const bool has_scale = !google::protobuf::util::MessageDifferencer::Equivalent(
      config.loss_scale(), LossScaleConfig());
  if (has_scale && config.compute() != PrecisionConfig::FLOAT16) {
    errors.add(wrong(where, "loss_scale does nothing without compute: FLOAT16"));
  }
  errors.add(check_ranges(where, config));
  const LossScaleConfig& scale = config.loss_scale();
  if (!(scale.min() >= std::numeric_limits<float>::min() && scale.min() <= scale.initial())) {
    errors.add(wrong_number(absl::StrCat(where, ".loss_scale"), "min", scale.min(),
                            "a positive, normal number of float32, at most initial"));
  }
  return errors.status();
}

}  // namespace millrace
