#include "embedding/collection_input.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "embedding/rows/kernels.h"

namespace millrace {
namespace {

bool is_vector(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.defined() && tensor.scalar_type() == type && tensor.dim() == 1 &&
         tensor.device().is_cpu() && tensor.layout() == at::kStrided;
}

std::string all_features(const EmbeddingCollectionOptions& options) {
  std::vector<absl::string_view> features, tables;
  for (const EmbeddingFeature& feature : options.features) {
    features.push_back(feature.name);
    tables.push_back(feature.table);
  }
  return features_of_tables(features, tables);
}

absl::Status check_tensors(const KeyedJagged& features, const EmbeddingCollectionOptions& options) {
  for (const auto& [what, tensor] :
       {std::pair("ids", &features.values), std::pair("offsets", &features.offsets)}) {
    if (is_vector(*tensor, at::kLong)) continue;
    return absl::InvalidArgumentError(absl::StrCat(what, " of ", all_features(options),
                                                   " must be an int64 vector on the CPU, not ",
                                                   type_and_shape(*tensor)));
  }
  const at::Tensor& weights = features.weights;
  const int64_t ids = features.values.numel();
  if (weights.defined() && (!is_vector(weights, at::kFloat) || weights.numel() != ids)) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights of ids of ", all_features(options), " must be Float [", ids,
                     "], one for each id, not ", type_and_shape(weights)));
  }
  const int64_t lists = features.offsets.numel() - 1;
  const auto count = static_cast<int64_t>(options.features.size());
  if (lists < 0 || lists % count != 0) {
    return absl::InvalidArgumentError(absl::StrCat("offsets of ", all_features(options), " have ",
                                                   lists + 1,
                                                   " numbers: not features × batch + 1"));
  }
  return absl::OkStatus();
}

// Returns the error for the first invalid offset. REQUIRES: an offset is invalid.
absl::Status wrong_offsets(const KeyedJagged& features, int64_t batch,
                           const EmbeddingCollectionOptions& options) {
  const int64_t* offsets = features.offsets.const_data_ptr<int64_t>();
  const int64_t ids = features.values.numel(), lists = features.offsets.numel() - 1;
  for (int64_t i = 0; i < lists; ++i) {
    const bool decreases = offsets[i + 1] < offsets[i];
    if (!decreases && offsets[i + 1] <= ids) continue;
    const EmbeddingFeature& feature = options.features[i / batch];
    return absl::InvalidArgumentError(absl::StrCat(
        "feature ", feature.name, " of table ", feature.table, ", example ", i % batch,
        ": offsets go from ", offsets[i], " to ", offsets[i + 1],
        decreases ? ": they decrease" : absl::StrCat(", but there are ", ids, " ids")));
  }
  return absl::InvalidArgumentError(absl::StrCat("offsets of ", all_features(options), " go from ",
                                                 offsets[0], " to ", offsets[lists],
                                                 ", not from 0 to ", ids, ", the number of ids"));
}

// Checks the offsets, and fills in one_id_each.
absl::Status check_offsets(CheckedInput& input, const EmbeddingCollectionOptions& options,
                           InputLoop loop) {
  const int64_t* offsets = input.features.offsets.const_data_ptr<int64_t>();
  const auto count = static_cast<int64_t>(options.features.size());
  const Kernels& kernels = millrace::kernels(options.instruction_set);
  // This check reads every offset of every batch, so each feature is checked by a vector kernel.
  // Offsets are valid if the first is 0, none decreases and the last is the number of ids. Only
  // invalid offsets are read again, for the message.
  std::vector<ListsSeen> seen(count);
  loop(count,
       [&](int64_t f) { seen[f] = kernels.look_at_lists(offsets + f * input.batch, input.batch); });
  bool right = offsets[0] == 0 && offsets[count * input.batch] == input.features.values.numel();
  input.one_id_each.clear();
  for (const ListsSeen& lists : seen) {
    right = right && lists.in_order;
    input.one_id_each.push_back(lists.one_id_each ? 1 : 0);
  }
  if (right) return absl::OkStatus();
  return wrong_offsets(input.features, input.batch, options);
}

// Returns the features without the ids after the first max_ids of each list.
KeyedJagged cut(const KeyedJagged& features, const EmbeddingCollectionOptions& options,
                int64_t batch) {
  const int64_t* offsets = features.offsets.const_data_ptr<int64_t>();
  const int64_t lists = features.offsets.numel() - 1;
  // Returns the number of ids of a list that are looked up.
  auto length = [&](int64_t list) {
    const int64_t all = offsets[list + 1] - offsets[list];
    const int64_t most = options.features[list / batch].max_ids;
    return most > 0 ? std::min(all, most) : all;
  };
  int64_t left_out = 0;
  for (int64_t list = 0; list < lists; ++list) {
    left_out += offsets[list + 1] - offsets[list] - length(list);
  }
  if (left_out == 0) return features;
  KeyedJagged result;
  const int64_t count = features.values.numel() - left_out;
  result.values = at::empty({count}, at::kLong);
  result.offsets = at::empty({lists + 1}, at::kLong);
  if (features.weights.defined()) result.weights = at::empty({count}, at::kFloat);
  int64_t* ends = result.offsets.mutable_data_ptr<int64_t>();
  *ends = 0;
  for (int64_t list = 0; list < lists; ++list) {
    ends[list + 1] = ends[list] + length(list);
    std::copy_n(features.values.const_data_ptr<int64_t>() + offsets[list], length(list),
                result.values.mutable_data_ptr<int64_t>() + ends[list]);
    if (!features.weights.defined()) continue;
    std::copy_n(features.weights.const_data_ptr<float>() + offsets[list], length(list),
                result.weights.mutable_data_ptr<float>() + ends[list]);
  }
  return result;
}

// Returns "a, b, c"; lists at most kMost names, followed by "...".
std::string listed(const std::vector<absl::string_view>& names) {
  constexpr size_t kMost = 8;
  if (names.size() <= kMost) return absl::StrJoin(names, ", ");
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + kMost, ", "), ", ...");
}

}  // namespace

void one_after_another(int64_t count, const std::function<void(int64_t)>& body) {
  for (int64_t i = 0; i < count; ++i) body(i);
}

absl::StatusOr<CheckedInput> checked_input(const KeyedJagged& features,
                                           const EmbeddingCollectionOptions& options,
                                           InputLoop loop) {
  RETURN_IF_ERROR(check_tensors(features, options));
  CheckedInput input;
  input.features = {features.values.contiguous(), features.offsets.contiguous(),
                    features.weights.defined() ? features.weights.contiguous() : at::Tensor()};
  input.batch = (features.offsets.numel() - 1) / static_cast<int64_t>(options.features.size());
  RETURN_IF_ERROR(check_offsets(input, options, loop));
  const bool cuts =
      std::any_of(options.features.begin(), options.features.end(),
                  [](const EmbeddingFeature& feature) { return feature.max_ids > 0; });
  if (!cuts) return input;
  const at::Tensor looked_at = input.features.offsets;
  input.features = cut(input.features, options, input.batch);
  if (input.features.offsets.is_same(looked_at)) return input;  // no list was too long
  // Sets one_id_each of the shortened lists.
  RETURN_IF_ERROR(check_offsets(input, options, loop));
  return input;
}

std::string features_of_tables(const std::vector<absl::string_view>& features,
                               const std::vector<absl::string_view>& tables) {
  std::vector<absl::string_view> distinct;
  for (const absl::string_view table : tables) {
    if (!absl::c_linear_search(distinct, table)) distinct.push_back(table);
  }
  const auto named = [](absl::string_view what, const std::vector<absl::string_view>& names) {
    return absl::StrCat(what, names.size() == 1 ? " " : "s ", listed(names));
  };
  if (features.empty()) return tables.empty() ? "" : named("table", distinct);
  const std::string result = named("feature", features);
  return tables.empty() ? result : absl::StrCat(result, " of ", named("table", distinct));
}

std::string type_and_shape(const at::Tensor& tensor) {
  if (!tensor.defined()) return "an undefined tensor";
  return absl::StrCat(c10::toString(tensor.scalar_type()), " [",
                      absl::StrJoin(tensor.sizes(), ", "), "]");
}

}  // namespace millrace
