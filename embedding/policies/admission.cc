#include "embedding/policies/admission.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/random/philox.h"
#include "base/status_macros.h"
#include "embedding/policies/admission_registry.h"
#include "embedding/policies/table_policy_check.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

// The highest min_count, without and with a sketch.
constexpr int64_t kMaxExactCount = 2147483647;
constexpr int64_t kMaxSketchCount = 255;

absl::Status other_kind() {
  return absl::InvalidArgumentError("the admission counts are those of another kind of admission");
}

class EveryId : public Admission {
 public:
  bool admits_all() const override { return true; }
  std::unique_ptr<Admission> clone() const override { return std::make_unique<EveryId>(*this); }
  bool admits(int64_t, int64_t) const override { return true; }
};

class NoNewId : public Admission {
 public:
  std::unique_ptr<Admission> clone() const override { return std::make_unique<NoNewId>(*this); }
  bool admits(int64_t, int64_t) const override { return false; }
};

class HashAdmission : public Admission {
 public:
  HashAdmission(double probability, uint64_t key)
      : certain_(probability >= 1),
        below_(static_cast<uint64_t>(std::ldexp(probability, 64))),
        key_(key) {}
  std::unique_ptr<Admission> clone() const override {
    return std::make_unique<HashAdmission>(*this);
  }
  bool admits(int64_t id, int64_t steps) const override {
    return certain_ ||
           philox64(key_, static_cast<uint64_t>(id), static_cast<uint64_t>(steps)) < below_;
  }

 private:
  const bool certain_;
  const uint64_t below_;
  const uint64_t key_;
};

class ExactCountAdmission : public Admission {
 public:
  explicit ExactCountAdmission(uint32_t min_count) : min_count_(min_count) {}

  std::unique_ptr<Admission> clone() const override {
    return std::make_unique<ExactCountAdmission>(*this);
  }
  bool admits(int64_t id, int64_t) const override {
    if (min_count_ == 1) return true;
    const auto found = counts_.find(id);
    return found != counts_.end() && found->second >= min_count_ - 1;
  }
  void count(absl::Span<const int64_t> ids, absl::Span<const uint32_t> counts) override {
    for (size_t i = 0; i < ids.size(); ++i) {
      uint32_t& count = counts_[ids[i]];
      count += std::min(counts[i], std::numeric_limits<uint32_t>::max() - count);
    }
  }
  void forget(absl::Span<const int64_t> ids) override {
    for (const int64_t id : ids) counts_.erase(id);
  }
  void clear() override { counts_ = {}; }
  int64_t candidates() const override { return static_cast<int64_t>(counts_.size()); }
  int64_t bytes() const override {
    return static_cast<int64_t>(counts_.capacity() * (sizeof(*counts_.begin()) + 1));
  }

  AdmissionState state() const override {
    std::vector<std::pair<uint64_t, uint32_t>> order;
    for (const auto& [id, count] : counts_) order.emplace_back(placement_hash(id), count);
    std::sort(order.begin(), order.end());
    AdmissionState state;
    for (const auto& [hash, count] : order) {
      state.ids.push_back(inverse_placement_hash(hash));
      state.counts.push_back(count);
    }
    return state;
  }
  absl::Status set_state(const AdmissionState& state) override {
    if (!state.sketch.counters.empty()) return other_kind();
    absl::flat_hash_map<int64_t, uint32_t> counts;
    for (size_t i = 0; i < state.ids.size() && i < state.counts.size(); ++i) {
      if (state.counts[i] > 0) counts[state.ids[i]] = state.counts[i];
    }
    if (counts.size() != state.ids.size() || counts.size() != state.counts.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "admission counts with ", state.ids.size(), " ids and ", state.counts.size(),
          " counts, of which ", counts.size(), " are a count above 0 of an id not told before"));
    }
    counts_ = std::move(counts);
    return absl::OkStatus();
  }

 private:
  const uint32_t min_count_;
  absl::flat_hash_map<int64_t, uint32_t> counts_;
};

class SketchCountAdmission : public Admission {
 public:
  SketchCountAdmission(uint32_t min_count, const CountSketchConfig& config)
      : min_count_(min_count), sketch_(config.capacity(), config.error_probability()) {}

  std::unique_ptr<Admission> clone() const override {
    return std::make_unique<SketchCountAdmission>(*this);
  }
  bool admits(int64_t id, int64_t) const override {
    return min_count_ == 1 || sketch_.count(id) >= min_count_ - 1;
  }
  void count(absl::Span<const int64_t> ids, absl::Span<const uint32_t> counts) override {
    sketch_.add(ids, counts);
  }
  void clear() override { sketch_.clear(); }
  int64_t bytes() const override { return sketch_.bytes(); }

  AdmissionState state() const override { return {{}, {}, sketch_.state()}; }
  absl::Status set_state(const AdmissionState& state) override {
    if (!state.ids.empty() || !state.counts.empty()) return other_kind();
    return sketch_.set_state(state.sketch);
  }

 private:
  const uint32_t min_count_;
  CountSketch sketch_;
};

absl::Status check_count(absl::string_view where, const AdmissionConfig& config) {
  const CountAdmission& count = config.count();
  if (!count.has_min_count()) return wrong(where, "min_count is missing");
  return within(where, "min_count", count.min_count(), 1,
                count.has_sketch() ? kMaxSketchCount : kMaxExactCount);
}

std::unique_ptr<Admission> create_count(const AdmissionConfig& config, const AdmissionInput&) {
  const auto min_count = static_cast<uint32_t>(config.count().min_count());
  if (!config.count().has_sketch()) return std::make_unique<ExactCountAdmission>(min_count);
  return std::make_unique<SketchCountAdmission>(min_count, config.count().sketch());
}

absl::Status check_probability(absl::string_view where, const AdmissionConfig& config) {
  if (config.probability().has_probability()) return absl::OkStatus();
  return wrong(where, "probability is missing");
}

std::unique_ptr<Admission> create_probability(const AdmissionConfig& config,
                                              const AdmissionInput& input) {
  // The key must differ from the key of the table's initial values.
  const uint64_t key = xxh3(absl::StrCat(input.table, "/admission"), input.seed);
  return std::make_unique<HashAdmission>(config.probability().probability(), key);
}

std::vector<AdmissionRegistry::Kind> admission_kinds() {
  return {
      {AdmissionConfig::kAlways,
       [](const auto&, const auto&) { return std::make_unique<EveryId>(); }},
      {AdmissionConfig::kReadOnly,
       [](const auto&, const auto&) { return std::make_unique<NoNewId>(); }},
      {AdmissionConfig::kCount, &create_count, &check_count},
      {AdmissionConfig::kProbability, &create_probability, &check_probability},
  };
}

}  // namespace

MILLRACE_PART_FAMILY(admission, AdmissionRegistry, "admission",
                     "admission { custom { name: \"NAME\" } }", "kind", admission_kinds(),
                     AdmissionConfig::kAlways);

void Admission::count(absl::Span<const int64_t>, absl::Span<const uint32_t>) {}
void Admission::forget(absl::Span<const int64_t>) {}

absl::Status Admission::set_state(const AdmissionState& state) {
  return state == AdmissionState() ? absl::OkStatus() : other_kind();
}

absl::StatusOr<std::unique_ptr<Admission>> Admission::create(const AdmissionConfig& config,
                                                             uint64_t seed,
                                                             absl::string_view table) {
  RETURN_IF_ERROR(check_admission(absl::StrCat("table ", table), config));
  return admission_registry().create(config, AdmissionInput{std::string(table), seed});
}

}  // namespace millrace
