#include "job/data_report.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

constexpr int64_t kNamedBadFiles = 10;

// Returns true if the parts of both share no example of common files.
bool are_separate(const DataConfig& a, const DataConfig& b) {
  if (!a.has_split() || !b.has_split()) return false;
  const SplitConfig &left = a.split(), &right = b.split();
  const auto ends_before = [](const SplitConfig& x, const SplitConfig& y) {
    return x.has_to() && y.has_from() && x.to() <= y.from();
  };
  return left.by() == right.by() && left.column() == right.column() &&
         (ends_before(left, right) || ends_before(right, left));
}

std::string normal_path(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().string();
}

std::string count(int64_t number, absl::string_view what) {
  return absl::StrCat(number, " ", what, number == 1 ? "" : "s");
}

// Returns `split { from: 0.5 } sample { rate: 0.25 }` or one of them.
std::string choices_text(const DataConfig& data) {
  std::string text;
  const auto add = [&](absl::string_view field, const google::protobuf::Message& value) {
    const std::string fields = absl::StrReplaceAll(to_text(value), {{"\n", " "}});
    absl::StrAppend(&text, text.empty() ? "" : " ", field, " { ", fields, "}");
  };
  if (data.has_split()) add("split", data.split());
  if (data.has_sample()) add("sample", data.sample());
  return text;
}

// Returns the share of the rows after split and sample; nothing if the share depends on values.
std::optional<double> share_of(const DataConfig& data) {
  const SplitConfig& split = data.split();
  if (split.by() == SplitConfig::ORDER_OF_COLUMN || data.sample().negative_rate() < 1) {
    return std::nullopt;
  }
  const double to = split.has_to() ? split.to() : 1;
  return (to - split.from()) * data.sample().rate();
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

std::string part_text(const DataConfig& data) {
  if (!data.has_split() && !data.has_sample()) return "";
  const std::optional<double> share = share_of(data);
  return absl::StrCat(share ? absl::StrFormat("about %.3g %%", 100 * *share) : "a part", ": ",
                      choices_text(data));
}

int64_t steps_of_epoch(const DataSetReport& set, const TrainConfig& train, int64_t step_examples) {
  const DataConfig& data = train.train_data();
  const std::optional<double> share = share_of(data);
  if (set.in_windows || set.is_registered || data.has_mix() || !share.has_value()) return 0;
  const double steps = static_cast<double>(set.rows) * *share / static_cast<double>(step_examples);
  const auto whole =
      static_cast<int64_t>(data.drop_remainder() ? std::floor(steps) : std::ceil(steps));
  const int64_t most = train.max_steps_per_epoch();
  return most > 0 ? std::min(whole, most) : whole;
}

absl::Status no_examples_error(const DataSetReport& set, const DataConfig& data, int index) {
  std::string flags;
  const auto add = [&](absl::string_view field) {
    absl::StrAppend(&flags, flags.empty() ? "" : " ", "--set 'train.eval_data[", index, "].data.",
                    field, "={}'");
  };
  if (data.has_split()) add("split");
  if (data.has_sample()) add("sample");
  return absl::InvalidArgumentError(
      absl::StrCat(set.place, ": no example of its ", set.rows,
                   " rows is in the set, of which the configuration takes the part ",
                   choices_text(data), "; take all of it with ", flags));
}

std::vector<std::string> shared_file_warnings(const DataReport& report, const TrainConfig& config) {
  std::vector<std::string> warnings;
  if (report.sets().empty() || report.sets().front().name != DataReport::kTrainData)
    return warnings;
  absl::flat_hash_set<std::string> trained;
  for (const std::string& path : report.sets().front().paths) trained.insert(normal_path(path));
  for (const EvaluationSetConfig& set : config.eval_data()) {
    if (are_separate(config.train_data(), set.data())) continue;
    const std::string name = DataReport::name_of(set.name());
    for (const DataSetReport& other : report.sets()) {
      if (other.name != name) continue;
      const auto is_trained = [&](const std::string& path) {
        return trained.contains(normal_path(path));
      };
      const auto first = std::find_if(other.paths.begin(), other.paths.end(), is_trained);
      if (first == other.paths.end()) continue;
      const int64_t shared = std::count_if(first, other.paths.end(), is_trained);
      const std::string more = shared > 1 ? absl::StrCat(" and ", shared - 1, " more") : "";
      warnings.push_back(absl::StrCat(
          DataReport::kTrainData, " and ", name, " both read ", *first, more,
          ", so that the evaluation is of examples that were trained on; give other files, or a "
          "split to both"));
    }
  }
  return warnings;
}

std::string to_string(const DataSetReport& set) {
  std::string what = absl::StrCat(count(set.files, "file"), ", ", count(set.rows, "row"));
  if (set.in_windows) what = "comes in windows";
  if (set.is_registered) what = "comes from a registered dataset";
  if (!set.part.empty()) absl::StrAppend(&what, ", of which the job reads ", set.part);
  const std::string bad = set.bad_files.to_string(kNamedBadFiles);
  return absl::StrCat(set.name, ": ", what, bad.empty() ? "" : "; ", bad);
}

}  // namespace millrace
