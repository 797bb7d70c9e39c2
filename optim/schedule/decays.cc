// Schedules whose rate falls by one formula, after a warm-up or from the start.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "optim/schedule/schedule_fields.h"
#include "optim/schedule/schedule_kinds.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

absl::Status check_step(absl::string_view where, const ScheduleConfig& config,
                        const ScheduleInput& input) {
  FieldErrors errors;
  check_length(where, "length", config.step().length(), 1, input, &errors);
  return errors.status();
}

// rate(t) = learning_rate × gamma^⌊t / length⌋
// Source: `StepLR` of torch.optim.lr_scheduler.
std::unique_ptr<Schedule> create_step(const ScheduleConfig& config, const ScheduleInput& input) {
  const double gamma = config.step().gamma();
  const double length = *length_of(config.step().length(), input);
  return std::make_unique<PositionSchedule>(
      input, [=, rate = input.learning_rate](double position) {
        return rate * std::pow(gamma, std::floor(position / length));
      });
}

absl::Status check_multi_step(absl::string_view where, const ScheduleConfig& config,
                              const ScheduleInput& input) {
  FieldErrors errors;
  const MultiStepScheduleConfig& steps = config.multi_step();
  if (steps.milestone().empty()) errors.add(wrong(where, "milestone is missing; set at least one"));
  std::optional<double> last;
  for (int i = 0; i < steps.milestone_size(); ++i) {
    const std::string field = entry("milestone", i);
    const std::optional<double> position =
        check_length(where, field, steps.milestone(i), 0, input, &errors);
    if (position.has_value() && last.has_value() && *position < *last) {
      errors.add(wrong(absl::StrCat(where, ".", field),
                       absl::StrCat("is at ", *position, ", before ", *last,
                                    ", the milestone before it; milestones must ascend")));
    }
    if (position.has_value()) last = position;
  }
  return errors.status();
}

// rate(t) = learning_rate × gamma^(number of milestones <= t)
// Source: `MultiStepLR` of torch.optim.lr_scheduler.
std::unique_ptr<Schedule> create_multi_step(const ScheduleConfig& config,
                                            const ScheduleInput& input) {
  const double gamma = config.multi_step().gamma();
  std::vector<double> milestones;  // ascending, not empty
  for (const ScheduleLength& milestone : config.multi_step().milestone()) {
    milestones.push_back(*length_of(milestone, input));
  }
  const auto rate_at = [=, rate = input.learning_rate](double position) {
    const auto passed = std::upper_bound(milestones.begin(), milestones.end(), position);
    return rate * std::pow(gamma, static_cast<double>(passed - milestones.begin()));
  };
  return std::make_unique<PositionSchedule>(input, rate_at, milestones.back());
}

absl::Status check_exponential(absl::string_view where, const ScheduleConfig& config,
                               const ScheduleInput& input) {
  FieldErrors errors;
  const ExponentialScheduleConfig& exponential = config.exponential();
  if (!exponential.has_gamma()) {
    errors.add(wrong(where, "gamma is missing; set it above 0 and to at most 1"));
  }
  if (!exponential.has_length()) return errors.status();
  check_length(where, "length", exponential.length(), 1, input, &errors);
  return errors.status();
}

// rate(t) = learning_rate × gamma^(t / length)
// Source: `ExponentialLR` of torch.optim.lr_scheduler, which has a length of one step.
std::unique_ptr<Schedule> create_exponential(const ScheduleConfig& config,
                                             const ScheduleInput& input) {
  const ExponentialScheduleConfig& exponential = config.exponential();
  const double gamma = exponential.gamma();
  const double length = exponential.has_length() ? *length_of(exponential.length(), input) : 1;
  return std::make_unique<PositionSchedule>(input,
                                            [=, rate = input.learning_rate](double position) {
                                              return rate * std::pow(gamma, position / length);
                                            });
}

absl::Status check_inverse_square_root(absl::string_view where, const ScheduleConfig& config,
                                       const ScheduleInput& input) {
  FieldErrors errors;
  const InverseSquareRootScheduleConfig& root = config.inverse_square_root();
  if (!root.has_warmup_length()) return errors.status();
  check_within_training(
      where, "warmup_length",
      check_length(where, "warmup_length", root.warmup_length(), 0, input, &errors), input,
      &errors);
  return errors.status();
}

// Computes the rate at position t from the warm-up W. Known as Noam.
//   rate(t) = learning_rate × t × W^(−1.5)   for t < W
//   rate(t) = learning_rate × t^(−0.5)       for t >= W and t >= 1
//   rate(t) = learning_rate                  for t < 1 without a warm-up
// Sources: Vaswani et al., Attention Is All You Need (arXiv:1706.03762), section 5.3; `NoamLR` of
// fairseq2.
std::unique_ptr<Schedule> create_inverse_square_root(const ScheduleConfig& config,
                                                     const ScheduleInput& input) {
  const double warmup = length_of(config.inverse_square_root().warmup_length(), input).value_or(0);
  return std::make_unique<PositionSchedule>(
      input, [=, rate = input.learning_rate](double position) {
        if (position < warmup) return rate * (position / warmup / std::sqrt(warmup));
        return rate / std::sqrt(std::max(position, 1.0));
      });
}

absl::Status check_myle(absl::string_view where, const ScheduleConfig& config,
                        const ScheduleInput& input) {
  FieldErrors errors;
  Warmup::check(absl::StrCat(where, ".warmup"), config.myle().warmup(), 1, input, &errors);
  return errors.status();
}

// Computes the rate at position t from the warm-up W. Unlike inverse_square_root, it reaches the
// learning rate.
//   rate(t) = learning_rate × Warmup(t)      for t < W
//   rate(t) = learning_rate × √(W / t)       for t >= W
// Source: `MyleLR` of fairseq2, which names it after its author in fairseq.
std::unique_ptr<Schedule> create_myle(const ScheduleConfig& config, const ScheduleInput& input) {
  const Warmup warmup(config.myle().warmup(), input);
  return std::make_unique<PositionSchedule>(input,
                                            [=, rate = input.learning_rate](double position) {
                                              if (position < warmup.length())
                                                return rate * warmup.factor(position);
                                              return rate * std::sqrt(warmup.length() / position);
                                            });
}

absl::Status check_polynomial(absl::string_view where, const ScheduleConfig& config,
                              const ScheduleInput& input) {
  FieldErrors errors;
  const PolynomialScheduleConfig& polynomial = config.polynomial();
  const std::optional<double> length =
      check_length(where, "length", polynomial.length(), 1, input, &errors);
  if (polynomial.has_warmup()) {
    Warmup::check_within(absl::StrCat(where, ".warmup"), polynomial.warmup(), length, input,
                         &errors);
  }
  return errors.status();
}

// Computes the rate at position t from the warm-up W and the length L:
//   rate(t) = learning_rate × Warmup(t)                                            for t < W
//   rate(t) = learning_rate × (final_factor + (1 − final_factor) × ((L − t) / (L − W))^power)
//   rate(t) = learning_rate × final_factor                                         for t >= L
// Sources: `PolynomialDecayLR` of fairseq2; `PolynomialLR` of torch.optim.lr_scheduler, which has
// no warm-up and final_factor 0.
std::unique_ptr<Schedule> create_polynomial(const ScheduleConfig& config,
                                            const ScheduleInput& input) {
  const Warmup warmup(config.polynomial().warmup(), input);
  const double length = *length_of(config.polynomial().length(), input);
  const double power = config.polynomial().power();
  const double final_factor = config.polynomial().final_factor();
  const auto rate_at = [=, rate = input.learning_rate](double position) {
    if (position >= length) return rate * final_factor;
    if (position < warmup.length()) return rate * warmup.factor(position);
    const double left = (length - position) / (length - warmup.length());
    return rate * (final_factor + (1 - final_factor) * std::pow(left, power));
  };
  return std::make_unique<PositionSchedule>(input, rate_at, length);
}

absl::Status check_cosine(absl::string_view where, const ScheduleConfig& config,
                          const ScheduleInput& input) {
  FieldErrors errors;
  const CosineScheduleConfig& cosine = config.cosine();
  const std::optional<double> length =
      check_length(where, "length", cosine.length(), 1, input, &errors);
  if (cosine.has_warmup()) {
    Warmup::check_within(absl::StrCat(where, ".warmup"), cosine.warmup(), length, input, &errors);
  }
  return errors.status();
}

// Computes the rate at position t from the warm-up W and cycles i = 0, 1, …. Cycle i is
// L × cycle_multiplier^i long, where L = length − W. If the share u of cycle i is done, and
// h = (1 + cos πu) / 2:
//   rate(t) = learning_rate × Warmup(t)                                              for t < W
//   rate(t) = learning_rate × cycle_decay^i × (final_factor + (1 − final_factor) × h)
// After the last cycle the rate stays at its end, learning_rate × cycle_decay^i × final_factor.
//
// Sources: Loshchilov and Hutter, SGDR (arXiv:1608.03983); `CosineAnnealingLR` until its T_max, and
// `CosineAnnealingWarmRestarts`, of torch.optim.lr_scheduler; `CosineAnnealingLR` of fairseq2,
// whose cycle_len is L, cycle_mul is cycle_multiplier and lr_mul is cycle_decay. fairseq2 rounds
// the lengths of cycles down to whole steps; this class does not.
class Cosine {
 public:
  Cosine(const CosineScheduleConfig& config, const ScheduleInput& input)
      : learning_rate_(input.learning_rate),
        warmup_(config.warmup(), input),
        length_(*length_of(config.length(), input) - warmup_.length()),
        final_factor_(config.final_factor()),
        cycles_(config.cycles() == 0 ? std::numeric_limits<double>::infinity()
                                     : static_cast<double>(config.cycles())),
        multiplier_(config.cycle_multiplier()),
        decay_(config.cycle_decay()) {}

  double rate_at(double position) const;
  double end() const { return warmup_.length() + start_of(cycles_); }

 private:
  // A cycle: its number, and the share of it that is done.
  struct Point {
    double cycle = 0;
    double share = 0;
  };
  // Returns the point at `time` after the warm-up. The border of two cycles belongs to the later
  // cycle.
  Point point_at(double time) const;
  // Returns the start of a cycle after the warm-up.
  double start_of(double cycle) const;

  double learning_rate_;
  Warmup warmup_;
  double length_;  // of the first cycle without the warm-up
  double final_factor_;
  double cycles_;  // infinity: no end
  double multiplier_;
  double decay_;
};

double Cosine::start_of(double cycle) const {
  if (multiplier_ == 1) return length_ * cycle;
  // The sum of a geometric series. expm1 remains exact where the multiplier is close to 1.
  const double growth = std::expm1(cycle * std::log(multiplier_));
  return snap_to_whole(length_ * growth / (multiplier_ - 1));
}

Cosine::Point Cosine::point_at(double time) const {
  Point point;
  const double ratio = time / length_;
  point.cycle = multiplier_ == 1
                    ? std::floor(ratio)
                    : std::floor(std::log1p(ratio * (multiplier_ - 1)) / std::log(multiplier_));
  // Rounding may have put a border into the wrong cycle.
  if (start_of(point.cycle) > time) --point.cycle;
  if (start_of(point.cycle + 1) <= time) ++point.cycle;
  if (point.cycle >= cycles_) return {cycles_ - 1, 1};
  const double start = start_of(point.cycle);
  const double length = start_of(point.cycle + 1) - start;
  // The length of a late cycle may be below the distance of doubles and so round to 0.
  if (length > 0) point.share = std::clamp((time - start) / length, 0.0, 1.0);
  return point;
}

double Cosine::rate_at(double position) const {
  if (position < warmup_.length()) return learning_rate_ * warmup_.factor(position);
  const Point point = point_at(position - warmup_.length());
  const double wave = (1 + std::cos(std::numbers::pi * point.share)) / 2;
  return learning_rate_ * std::pow(decay_, point.cycle) *
         (final_factor_ + (1 - final_factor_) * wave);
}

std::unique_ptr<Schedule> create_cosine(const ScheduleConfig& config, const ScheduleInput& input) {
  const Cosine cosine(config.cosine(), input);
  return std::make_unique<PositionSchedule>(
      input, [cosine](double position) { return cosine.rate_at(position); }, cosine.end());
}

}  // namespace

ScheduleKinds decays() {
  return {
      {ScheduleConfig::kStep, &create_step, &check_step},
      {ScheduleConfig::kMultiStep, &create_multi_step, &check_multi_step},
      {ScheduleConfig::kExponential, &create_exponential, &check_exponential},
      {ScheduleConfig::kInverseSquareRoot, &create_inverse_square_root, &check_inverse_square_root},
      {ScheduleConfig::kMyle, &create_myle, &check_myle},
      {ScheduleConfig::kPolynomial, &create_polynomial, &check_polynomial},
      {ScheduleConfig::kCosine, &create_cosine, &check_cosine}};
}

}  // namespace millrace
