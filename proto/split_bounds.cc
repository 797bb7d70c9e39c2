#include "proto/split_bounds.h"

#include <algorithm>
#include <limits>

namespace millrace {

SplitBounds split_bounds(const SplitConfig& split) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  SplitBounds bounds;
  if (split.by() == SplitConfig::ORDER_OF_COLUMN) bounds = {-kInfinity, kInfinity};
  if (split.has_from()) bounds.from = split.from();
  if (split.has_to()) bounds.to = split.to();
  return bounds;
}

namespace {

bool splits_by_example(const DataConfig& data) {
  const auto& sources = data.mix().source();
  return (data.has_split() && data.split().by() == SplitConfig::HASH_OF_EXAMPLE) ||
         std::any_of(sources.begin(), sources.end(), [](const MixSourceConfig& source) {
           return splits_by_example(source.data());
         });
}

}  // namespace

bool splits_by_example(const TrainConfig& train) {
  const auto& sets = train.eval_data();
  return splits_by_example(train.train_data()) ||
         std::any_of(sets.begin(), sets.end(),
                     [](const EvaluationSetConfig& set) { return splits_by_example(set.data()); });
}

void use_file_names(TrainConfig* train) {
  if (train->has_split_rule() || !splits_by_example(*train)) return;
  train->set_split_rule(TrainConfig::FILE_NAME);
}

bool takes_all(const SplitConfig& split) {
  if (split.by() == SplitConfig::ORDER_OF_COLUMN) return false;
  const SplitBounds bounds = split_bounds(split);
  return bounds.from == 0 && bounds.to == 1;
}

}  // namespace millrace
