#include "optim/dense/state_layout.h"

#include <ATen/ATen.h>

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace millrace {
namespace {

using ByName = std::map<std::string, const at::Tensor*>;

// Adds a line if `value` and `expected` differ in type or shape.
void compare(const std::string& name, const at::Tensor& value, const at::Tensor& expected,
             std::vector<std::string>* differences) {
  if (value.defined() && value.scalar_type() == expected.scalar_type() &&
      value.sizes() == expected.sizes()) {
    return;
  }
  differences->push_back(absl::StrCat("optimizer state \"", name, "\" is ", describe(value),
                                      "; it must be ", describe(expected)));
}

}  // namespace

std::vector<std::string> state_differences(const StateLayout& layout,
                                           const std::vector<NamedParameter>& parameters,
                                           const std::vector<NamedParameter>& state) {
  std::vector<std::string> differences;
  ByName left;
  for (const NamedParameter& one : state) {
    if (left.emplace(one.name, &one.value).second) continue;
    differences.push_back(absl::StrCat("optimizer state \"", one.name, "\" is there twice"));
  }
  const at::Tensor count = at::zeros({}, at::kLong);
  std::vector<std::string> known;
  for (const NamedParameter& parameter : parameters) {
    std::vector<std::string> missing;
    for (const StateLayout::Field& field : layout.fields) {
      known.push_back(absl::StrCat(parameter.name, "/", field.name));
      const auto found = left.find(known.back());
      if (found == left.end()) {
        missing.push_back(known.back());
        continue;
      }
      compare(known.back(), *found->second, field.is_count ? count : parameter.value, &differences);
      left.erase(found);
    }
    // A parameter without any gradient so far has no state at all.
    if (missing.size() == layout.fields.size() && !layout.always_there) continue;
    for (const std::string& name : missing) {
      differences.push_back(absl::StrCat("optimizer state \"", name, "\" is missing"));
    }
  }
  // The names that no parameter has claimed.
  for (const auto& [name, value] : left) {
    differences.push_back(absl::StrCat(
        "optimizer state \"", name, "\" is not one of this optimizer", did_you_mean(name, known)));
  }
  return differences;
}

std::vector<std::vector<at::Tensor>> deal_out_state(const StateLayout& layout,
                                                    const std::vector<NamedParameter>& parameters,
                                                    const std::vector<NamedParameter>& state) {
  ByName by_name;
  for (const NamedParameter& one : state) by_name.emplace(one.name, &one.value);
  std::vector<std::vector<at::Tensor>> dealt;
  for (const NamedParameter& parameter : parameters) {
    std::vector<at::Tensor>& values = dealt.emplace_back();
    for (const StateLayout::Field& field : layout.fields) {
      const auto found = by_name.find(absl::StrCat(parameter.name, "/", field.name));
      if (found == by_name.end()) continue;
      const at::Tensor& value = *found->second;
      values.push_back(field.is_count ? value : value.to(parameter.value.device()));
    }
  }
  return dealt;
}

}  // namespace millrace
