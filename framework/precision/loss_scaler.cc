#include "framework/precision/loss_scaler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/log.h"
#include "proto/loss_scale_state.pb.h"

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

}  // namespace millrace
