#include "job/data_report.h"

#include <google/protobuf/message.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

constexpr int64_t kNamedBadFiles = 10;

std::string count(int64_t number, absl::string_view what) {
  return absl::StrCat(number, " ", what, number == 1 ? "" : "s");
}

}  // namespace

DataSetReport& DataReport::add(absl::string_view name, absl::string_view place) {
  DataSetReport& set = sets_.emplace_back();
  set.name = std::string(name);
  set.place = place.empty() ? absl::StrCat("train.", name) : std::string(place);
  return set;
}

std::string DataReport::name_of(absl::string_view evaluation_set) {
  return absl::StrCat("eval_data \"", evaluation_set, "\"");
}

absl::Status check_hashed_columns(const HashedColumns& trained, const DataReport& report) {
  for (const DataSetReport& set : report.sets()) {
    RETURN_IF_ERROR(check_hashed_columns(trained, set.hashed_columns), set.place);
  }
  return absl::OkStatus();
}

absl::Status no_examples_error(const DataSetReport& set, const DataConfig& data, int index) {
  std::string part, flags;
  const auto add = [&](absl::string_view field, const google::protobuf::Message& value) {
    const std::string fields = absl::StrReplaceAll(to_text(value), {{"\n", " "}});
    absl::StrAppend(&part, part.empty() ? "" : " ", field, " { ", fields, "}");
    absl::StrAppend(&flags, flags.empty() ? "" : " ", "--set 'train.eval_data[", index, "].data.",
                    field, "={}'");
  };
  if (data.has_split()) add("split", data.split());
  if (data.has_sample()) add("sample", data.sample());
  return absl::InvalidArgumentError(
      absl::StrCat(set.place, ": no example of its ", set.rows,
                   " rows is in the set, of which the configuration takes the part ", part,
                   "; take all of it with ", flags));
}

std::string to_string(const DataSetReport& set) {
  std::string what = absl::StrCat(count(set.files, "file"), ", ", count(set.rows, "row"));
  if (set.in_windows) what = "comes in windows";
  if (set.is_registered) what = "comes from a registered dataset";
  const std::string bad = set.bad_files.to_string(kNamedBadFiles);
  return absl::StrCat(set.name, ": ", what, bad.empty() ? "" : "; ", bad);
}

}  // namespace millrace
