#include "base/parts/part_family.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text.h"

namespace millrace {
namespace {

// Families register during static initialization, so this must not be a static object of the file.
std::vector<const PartFamily*>& families() {
  static auto* const families = new std::vector<const PartFamily*>();
  return *families;
}

absl::Status unknown(absl::string_view family, absl::string_view name,
                     const std::vector<std::string>& names) {
  const std::string near = nearest(name, names);
  return absl::InvalidArgumentError(
      absl::StrCat("no ", family, " \"", name, "\" is linked into this program",
                   near.empty() ? "." : absl::StrCat("; did you mean \"", near, "\"?"),
                   " Linked in: ", names.empty() ? "none" : absl::StrJoin(names, ", "),
                   ". To add one, put the cc_library that registers it, with alwayslink = True, "
                   "into the deps of the program's BUILD rule"));
}

}  // namespace

PartFamily::PartFamily(absl::string_view name, absl::string_view usage,
                       const std::vector<Field>& fields)
    : name_(name), usage_(usage) {
  families().push_back(this);
  for (const Field& field : fields) add_field(field.name, field.field, field.describe);
}

std::vector<PartEntry> PartFamily::parts() const {
  std::vector<PartEntry> parts;
  for (const auto& [name, entry] : parts_) {
    parts.push_back(entry);
    const auto describe = descriptions_.find(name);
    if (describe != descriptions_.end()) parts.back().description = describe->second();
  }
  return parts;
}

std::vector<std::string> PartFamily::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : parts_) names.push_back(name);
  return names;
}

const PartEntry* PartFamily::find(absl::string_view name) const {
  const auto found = parts_.find(name);
  return found == parts_.end() ? nullptr : &found->second;
}

void PartFamily::add_field(absl::string_view name, absl::string_view field,
                           std::function<std::string()> describe) {
  PartEntry& entry = parts_[std::string(name)];
  entry.name = std::string(name);
  entry.field = std::string(field);
  descriptions_[entry.name] = std::move(describe);
}

bool PartFamily::add_part(absl::string_view name, absl::string_view description,
                          const std::source_location& place) {
  PartEntry& entry = parts_[std::string(name)];
  entry.places.push_back(absl::StrCat(place.file_name(), ":", place.line()));
  if (!entry.field.empty() || entry.places.size() > 1) return false;
  entry.name = std::string(name);
  entry.description = std::string(description);
  return true;
}

absl::Status PartFamily::check(absl::string_view name) const {
  if (name.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(name_, ": the name is missing; write ", usage_));
  }
  const PartEntry* const found = find(name);
  if (found == nullptr) return unknown(name_, name, names());
  const PartEntry& entry = *found;
  if (!entry.field.empty()) {
    const std::string also =
        entry.places.empty() ? ""
                             : absl::StrCat(". Give the one that is registered at ",
                                            absl::StrJoin(entry.places, " and "), " another name");
    return absl::InvalidArgumentError(absl::StrCat(
        "the ", name_, " \"", name, "\" is built in: write ", entry.field, " instead", also));
  }
  if (entry.places.size() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the name of the ", name_, " \"", name,
                   "\" is registered more than once: ", absl::StrJoin(entry.places, " and ")));
}

absl::Status PartFamily::check(absl::string_view family, absl::string_view name) {
  for (const PartFamily* known : families()) {
    if (known->name() == family) return known->check(name);
  }
  return unknown(family, name, {});
}

std::vector<const PartFamily*> PartFamily::all() {
  std::vector<const PartFamily*> sorted = families();
  std::sort(sorted.begin(), sorted.end(),
            [](const PartFamily* a, const PartFamily* b) { return a->name() < b->name(); });
  return sorted;
}

}  // namespace millrace
