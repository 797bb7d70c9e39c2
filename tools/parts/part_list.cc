#include "tools/parts/part_list.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/parts/part_family.h"
#include "base/text.h"
#include "tools/text_table.h"

namespace millrace {
namespace {

std::string flag_name(const PartFamily& family) {
  return absl::StrReplaceAll(family.name(), {{" ", "_"}});
}

std::string place_of(const PartEntry& part) {
  std::vector<std::string> places = part.places;
  if (!part.field.empty()) places.insert(places.begin(), "built in");
  return absl::StrCat(places.size() > 1 ? "ambiguous: " : "", absl::StrJoin(places, " and "));
}

std::string describe(const PartFamily& family) {
  TextTable table({{"name"}, {"from"}, {"description"}});
  for (const PartEntry& part : family.parts()) {
    table.add({part.name, place_of(part), part.description});
  }
  return absl::StrCat(flag_name(family), ", configured by ", family.usage(), "\n",
                      table.empty() ? "(none is linked in)\n" : table.text());
}

}  // namespace

absl::StatusOr<std::string> list_parts(absl::string_view family) {
  const std::string wanted = absl::StrReplaceAll(family, {{" ", "_"}});
  std::vector<std::string> names, paragraphs;
  for (const PartFamily* known : PartFamily::all()) {
    names.push_back(flag_name(*known));
    if (wanted.empty() || wanted == names.back()) paragraphs.push_back(describe(*known));
  }
  if (!paragraphs.empty()) return absl::StrJoin(paragraphs, "\n");
  const std::string near = nearest(wanted, names);
  return absl::InvalidArgumentError(
      absl::StrCat("no family \"", family, "\"",
                   near.empty() ? "" : absl::StrCat("; did you mean \"", near, "\"?"),
                   "; families: ", absl::StrJoin(names, ", ")));
}

}  // namespace millrace
