#include "io/transform/id_transforms.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/hash.h"
#include "io/transform/hash_functions.h"
#include "io/transform/id_lists.h"

namespace millrace {
namespace {

class Cross : public Transform {
 public:
  Cross(uint64_t seed, size_t number) : seed_(seed), number_(number) {}

  Takes takes() const override { return Takes::kIntegers; }

  absl::Status apply(const FeatureInput& input, FeatureValues* values) const override {
    const IdColumn& list = values->list;
    const IdColumn& other = *input.crossed[number_];
    const int64_t first_row = other.rows - list.rows;
    IdListBuilder crossed(list, !list.weights.empty() || !other.weights.empty());
    for (int64_t row = 0; row < list.rows; ++row) {
      for (int64_t i = list.begin(row); i < list.end(row); ++i) {
        for (int64_t j = other.begin(first_row + row); j < other.end(first_row + row); ++j) {
          crossed.add(id_of(list.values[i], other.values[j]),
                      weight_of(list, i) * weight_of(other, j));
        }
      }
      crossed.end_row();
    }
    values->list = crossed.take();
    return absl::OkStatus();
  }

 private:
  int64_t id_of(int64_t a, int64_t b) const {
    std::array<char, 16> bytes;
    std::memcpy(bytes.data(), little_endian(a).data(), 8);
    std::memcpy(bytes.data() + 8, little_endian(b).data(), 8);
    return static_cast<int64_t>(xxh3({bytes.data(), bytes.size()}, seed_));
  }

  const uint64_t seed_;
  const size_t number_;
};

class IdHash : public Transform {
 public:
  explicit IdHash(const HashTransform& config) : config_(config) {}

  Takes takes() const override { return Takes::kTextOrIntegers; }

  absl::Status apply(const FeatureInput& input, FeatureValues* values) const override {
    if (values->are_ids) {
      hash_ids(config_.function(), config_.seed(), absl::MakeSpan(values->list.values));
    } else {
      const StringValues& texts = input.column.strings;
      hash_texts(config_.function(), config_.seed(), texts, values->make_ids(texts.size()));
    }
    return absl::OkStatus();
  }

 private:
  const HashTransform config_;
};

class Modulo : public Transform {
 public:
  explicit Modulo(uint64_t divisor) : divisor_(divisor) {}

  Takes takes() const override { return Takes::kIntegers; }

  absl::Status apply(const FeatureInput&, FeatureValues* values) const override {
    for (int64_t& id : values->list.values) {
      id = static_cast<int64_t>(static_cast<uint64_t>(id) % divisor_);
    }
    return absl::OkStatus();
  }

 private:
  const uint64_t divisor_;
};

class MultiHash : public Transform {
 public:
  explicit MultiHash(const MultiHashTransform& config) : config_(config) {}

  Takes takes() const override { return Takes::kTextOrIntegers; }

  absl::Status apply(const FeatureInput& input, FeatureValues* values) const override {
    const StringValues* const texts = values->are_ids ? nullptr : &input.column.strings;
    const IdColumn& list = values->list;
    IdListBuilder hashed(list, !list.weights.empty());
    for (int64_t row = 0; row < list.rows; ++row) {
      for (int64_t i = list.begin(row); i < list.end(row); ++i) {
        if (texts != nullptr) {
          add_hashes((*texts)[i], weight_of(list, i), &hashed);
        } else {
          const std::array<char, 8> bytes = little_endian(list.values[i]);
          add_hashes({bytes.data(), bytes.size()}, weight_of(list, i), &hashed);
        }
      }
      hashed.end_row();
    }
    values->list = hashed.take();
    values->are_ids = true;
    return absl::OkStatus();
  }

 private:
  void add_hashes(absl::string_view value, float weight, IdListBuilder* hashed) const {
    const uint64_t divisor = config_.divisor();
    for (uint64_t k = 0; k < static_cast<uint64_t>(config_.count()); ++k) {
      const uint64_t hash = hash_bytes(config_.function(), value, config_.seed() + k);
      hashed->add(static_cast<int64_t>(k * divisor + hash % divisor), weight);
    }
  }

  const MultiHashTransform config_;
};

class Truncate : public Transform {
 public:
  explicit Truncate(const TruncateTransform& config) : config_(config) {}

  Takes takes() const override { return Takes::kIntegers; }

  absl::Status apply(const FeatureInput&, FeatureValues* values) const override {
    const IdColumn& list = values->list;
    if (list.offsets.empty()) return absl::OkStatus();  // one each
    IdListBuilder kept(list, !list.weights.empty());
    for (int64_t row = 0; row < list.rows; ++row) {
      int64_t begin = list.begin(row), end = list.end(row);
      const int64_t count = std::min<int64_t>(end - begin, config_.count());
      if (config_.keep() == TruncateTransform::FIRST) {
        end = begin + count;
      } else {
        begin = end - count;
      }
      for (int64_t i = begin; i < end; ++i) kept.add(list.values[i], weight_of(list, i));
      kept.end_row();
    }
    values->list = kept.take();
    return absl::OkStatus();
  }

 private:
  const TruncateTransform config_;
};

constexpr int64_t kShortList = 16;  // searched from its begin instead of hashed

class Unique : public Transform {
 public:
  Takes takes() const override { return Takes::kIntegers; }

  absl::Status apply(const FeatureInput&, FeatureValues* values) const override {
    const IdColumn& list = values->list;
    // Without offsets each row has one id, so no id repeats.
    if (list.offsets.empty()) return absl::OkStatus();
    IdListBuilder kept(list, !list.weights.empty());
    absl::flat_hash_map<int64_t, int64_t> places;
    for (int64_t row = 0; row < list.rows; ++row) {
      const bool is_short = list.end(row) - list.begin(row) <= kShortList;
      places.clear();
      for (int64_t i = list.begin(row); i < list.end(row); ++i) {
        const int64_t id = list.values[i];
        const std::vector<int64_t>& ids = kept.built().values;
        int64_t place = static_cast<int64_t>(ids.size());
        if (is_short) {
          place = std::find(ids.begin() + kept.row_begin(), ids.end(), id) - ids.begin();
        } else {
          place = places.try_emplace(id, place).first->second;
        }
        if (place == static_cast<int64_t>(ids.size())) {
          kept.add(id, weight_of(list, i));
        } else if (!list.weights.empty()) {
          kept.add_weight(place, list.weights[i]);
        }
      }
      kept.end_row();
    }
    values->list = kept.take();
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Transform> make_cross_transform(const CrossTransform& config, size_t number) {
  return std::make_unique<Cross>(config.seed(), number);
}

std::unique_ptr<Transform> make_hash_transform(const HashTransform& config) {
  return std::make_unique<IdHash>(config);
}

std::unique_ptr<Transform> make_modulo_transform(const ModuloTransform& config) {
  return std::make_unique<Modulo>(config.divisor());
}

std::unique_ptr<Transform> make_multi_hash_transform(const MultiHashTransform& config) {
  return std::make_unique<MultiHash>(config);
}

std::unique_ptr<Transform> make_truncate_transform(const TruncateTransform& config) {
  return std::make_unique<Truncate>(config);
}

std::unique_ptr<Transform> make_unique_transform() { return std::make_unique<Unique>(); }

}  // namespace millrace
