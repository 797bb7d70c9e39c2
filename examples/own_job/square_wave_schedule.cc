// A learning-rate schedule.
#include <cmath>

#include "examples/own_job/own_job.pb.h"
#include "optim/schedule/schedule_registry.h"

namespace millrace {
namespace {

// The learning rate in the first half of each period, and low × learning rate in the second.
class SquareWaveSchedule : public Schedule {
 public:
  static absl::StatusOr<std::unique_ptr<Schedule>> create(const CustomConfig& custom,
                                                          const ScheduleInput& input) {
    const SquareWaveConfig& config = custom.GetExtension(square_wave);
    if (!(config.period() > 0) || !std::isfinite(config.period())) {
      return absl::InvalidArgumentError("period must be above 0 and finite");
    }
    if (!(config.low() >= 0 && config.low() <= 1)) {
      return absl::InvalidArgumentError("low must be 0 to 1");
    }
    return std::make_unique<SquareWaveSchedule>(config, input);
  }

  SquareWaveSchedule(const SquareWaveConfig& config, const ScheduleInput& input)
      : Schedule(input.unit), config_(config), learning_rate_(input.learning_rate) {}

  double rate_at(double position) const override {
    const double phase = std::fmod(position, config_.period()) / config_.period();
    return phase < 0.5 ? learning_rate_ : config_.low() * learning_rate_;
  }

 private:
  const SquareWaveConfig config_;
  const double learning_rate_;
};

MILLRACE_REGISTER_SCHEDULE(square_wave, "two rates in turn", &SquareWaveSchedule::create);

}  // namespace
}  // namespace millrace
