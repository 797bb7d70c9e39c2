#include "io/mix/mix_check.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/data_windows.h"
#include "proto/field_check.h"
#include "proto/range_check.h"
#include "proto/split_bounds.h"

namespace millrace {
namespace {

// Returns true if a field is set to anything but its default: defaults may be written out.
bool says_something(const DataConfig& data, const google::protobuf::FieldDescriptor& field) {
  DataConfig plain = data;
  if (plain.has_split() && takes_all(plain.split())) plain.clear_split();
  DataConfig without = plain;
  without.GetReflection()->ClearField(&without, &field);
  return !google::protobuf::util::MessageDifferencer::Equivalent(plain, without);
}

// Apart from the sources, only options shared by all sources.
absl::Status check_rest(absl::string_view where, const DataConfig& data) {
  if (data.has_windows()) {
    return wrong(where, "windows are given beside it, but belong to the data of each source");
  }
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  data.GetReflection()->ListFields(data, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    const bool is_shared = field->name() == "mix" || field->name() == "batch_size" ||
                           field->name() == "drop_remainder";
    if (is_shared || !says_something(data, *field)) continue;
    return wrong(where, absl::StrCat(field->name(),
                                     " is given beside it, but belongs to the data "
                                     "of each source"));
  }
  return absl::OkStatus();
}

// `in_windows`: whether any source comes in windows.
absl::Status check_source(const std::string& where, const MixSourceConfig& source,
                          bool in_windows) {
  if (!source.has_proportion()) return wrong(where, "proportion is missing");
  RETURN_IF_ERROR(check_own_ranges(where, source));
  const DataConfig& data = source.data();
  if (data.has_mix()) return wrong(where, "data.mix is given; a source of a mix has none");
  if (data.has_custom_dataset()) {
    return wrong(where, "data.custom_dataset is given; sources of a mix are files");
  }
  if (in_windows && !data.has_windows() && !source.repeat()) {
    return wrong(where,
                 "has no windows, but another source has; give it data.windows, or repeat: true to "
                 "read it beside each window");
  }
  for (const char* name : {"batch_size", "drop_remainder"}) {
    if (!says_something(data, *data.GetDescriptor()->FindFieldByName(name))) continue;
    return wrong(where,
                 absl::StrCat("data.", name, " is given; it belongs beside the mix, not in it"));
  }
  return absl::OkStatus();
}

// One would take, and move away, what the other needs.
absl::Status check_directories(absl::string_view where, const MixConfig& mix) {
  for (int i = 0; i < mix.source_size(); ++i) {
    for (int j = 0; j < i; ++j) {
      const DirectoryWindows& a = mix.source(j).data().windows().directory();
      const DirectoryWindows& b = mix.source(i).data().windows().directory();
      if (a.path().empty() || a.path() != b.path() || a.pattern() != b.pattern()) continue;
      return wrong(absl::StrCat(where, ".source[", i, "]"),
                   absl::StrCat("its windows are the files of source[", j, "]: directory ",
                                a.path(), ", pattern ", a.pattern()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string mix_source_name(const MixConfig& mix, int source) {
  return entry("mix.source", source, mix.source(source).name());
}

absl::Status check_mix(absl::string_view where, const DataConfig& data) {
  const auto& sources = data.mix().source();
  RETURN_IF_ERROR(check_rest(where, data));
  if (sources.empty() || sources.size() > kMaxMixSources) {
    return wrong(where,
                 absl::StrCat("has ", sources.size(), " sources; must be 1 to ", kMaxMixSources));
  }
  for (int i = 0; i < sources.size(); ++i) {
    RETURN_IF_ERROR(
        check_source(absl::StrCat(where, ".source[", i, "]"), sources[i], comes_in_windows(data)));
  }
  RETURN_IF_ERROR(check_directories(where, data.mix()));
  const bool ends = std::any_of(sources.begin(), sources.end(),
                                [](const MixSourceConfig& source) { return !source.repeat(); });
  if (ends) return absl::OkStatus();
  return wrong(where, "all sources repeat, so that no epoch would end; one must not");
}

}  // namespace millrace
