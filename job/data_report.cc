#include "job/data_report.h"

#include <google/protobuf/message.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "io/data_identity.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

constexpr int64_t kNamedBadFiles = 10;

// Returns true if the parts of both share no example of a common file, provided that both give the
// file's rows the same positions.
bool are_separate(const DataConfig& a, const DataConfig& b) {
  if (!a.has_split() || !b.has_split()) return false;
  const SplitConfig &left = a.split(), &right = b.split();
  const auto ends_before = [](const SplitConfig& x, const SplitConfig& y) {
    return x.has_to() && y.has_from() && x.to() <= y.from();
  };
  return left.by() == right.by() && left.column() == right.column() &&
         (ends_before(left, right) || ends_before(right, left));
}

// What decides the positions of the rows of a file beside its content: its name, its place in the
// list of files, or nothing.
enum class Positions { kOfName, kOfPlace, kOfValues };

Positions positions(const TrainConfig& config, const DataConfig& data) {
  if (data.split().by() != SplitConfig::HASH_OF_EXAMPLE) return Positions::kOfValues;
  return config.split_rule() == TrainConfig::FILE_NAME ? Positions::kOfName : Positions::kOfPlace;
}

// Returns a text that is equal for two paths of one file.
std::string file_key(const std::string& path) {
  struct stat found;
  if (!is_uri(path) && ::stat(path.c_str(), &found) == 0) {
    return absl::StrCat(found.st_dev, ":", found.st_ino);
  }
  return std::filesystem::path(path).lexically_normal().string();
}

std::vector<std::string> file_keys(const std::vector<std::string>& paths) {
  std::vector<std::string> keys;
  for (const std::string& path : paths) keys.push_back(file_key(path));
  return keys;
}

// Returns "a.csv" or "a.csv and 2 more".
std::string some_of(const std::vector<std::string>& paths) {
  return absl::StrCat(paths.front(),
                      paths.size() > 1 ? absl::StrCat(" and ", paths.size() - 1, " more") : "");
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

int64_t examples_of_epoch(const DataSetReport& set, const DataConfig& data) {
  const std::optional<double> share = share_of(data);
  if (set.in_windows || set.is_registered || data.has_mix() || !share.has_value()) return 0;
  return static_cast<int64_t>(static_cast<double>(set.rows) * *share);
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
  const std::vector<std::string>& trained = report.sets().front().paths;
  const std::vector<std::string> trained_keys = file_keys(trained);
  absl::flat_hash_map<std::string, std::string> path_of;  // by file_key()
  std::vector<std::string> twice;
  for (size_t i = 0; i < trained.size(); ++i) {
    const auto [place, is_new] = path_of.emplace(trained_keys[i], trained[i]);
    if (!is_new) twice.push_back(absl::StrCat(place->second, " (also as ", trained[i], ")"));
  }
  if (!twice.empty()) {
    warnings.push_back(absl::StrCat(DataReport::kTrainData, " reads ", some_of(twice),
                                    " twice, so that each epoch trains on it twice"));
  }
  const Positions kind = positions(config, config.train_data());
  for (const EvaluationSetConfig& set : config.eval_data()) {
    const std::string name = DataReport::name_of(set.name());
    for (const DataSetReport& other : report.sets()) {
      if (other.name != name) continue;
      const std::vector<std::string> keys = file_keys(other.paths);
      const bool separate = are_separate(config.train_data(), set.data()) &&
                            (kind != Positions::kOfPlace || keys == trained_keys);
      std::vector<std::string> shared;
      for (size_t i = 0; i < keys.size(); ++i) {
        const auto found = path_of.find(keys[i]);
        if (found == path_of.end()) continue;
        const bool same_name = base_name(found->second) == base_name(other.paths[i]);
        if (!separate || (kind == Positions::kOfName && !same_name)) {
          shared.push_back(other.paths[i]);
        }
      }
      if (shared.empty()) continue;
      warnings.push_back(absl::StrCat(
          DataReport::kTrainData, " and ", name, " both read ", some_of(shared),
          ", so that the evaluation is of examples that were trained on; give other files, or ",
          !are_separate(config.train_data(), set.data()) ? "a split to both"
          : kind == Positions::kOfPlace
              ? "the same paths to both, since split_rule FILE_NUMBER takes the place in the list"
              : "the files the same names, from which the split takes their parts"));
    }
  }
  return warnings;
}

std::vector<std::string> trained_file_warnings(FileSystem& files, const DataIdentity& trained,
                                               const TrainConfig& training,
                                               const DataReport& report,
                                               const TrainConfig& config) {
  std::vector<std::string> warnings;
  const auto key = [](const DataIdentity::File& file) {
    return absl::StrCat(file.name(), "/", file.size(), "/", file.end_digest());
  };
  std::vector<std::string> trained_keys;
  for (const DataIdentity::File& file : trained.file()) trained_keys.push_back(key(file));
  const absl::flat_hash_set<std::string> known(trained_keys.begin(), trained_keys.end());
  for (const EvaluationSetConfig& set : config.eval_data()) {
    const std::string name = DataReport::name_of(set.name());
    for (const DataSetReport& other : report.sets()) {
      if (known.empty() || other.name != name || other.paths.empty()) continue;
      const auto now = data_identity(files, other.paths, /*may_be_missing=*/true);
      if (!now.ok()) continue;  // reading it will say so
      std::vector<std::string> keys, shared;
      for (const DataIdentity::File& file : now->file()) keys.push_back(key(file));
      const Positions kind = positions(training, training.train_data());
      const bool separate = kind == positions(config, set.data()) &&
                            are_separate(training.train_data(), set.data()) &&
                            (kind != Positions::kOfPlace || keys == trained_keys);
      if (separate) continue;
      for (size_t i = 0; i < keys.size(); ++i) {
        if (known.contains(keys[i])) shared.push_back(other.paths[i]);
      }
      if (shared.empty()) continue;
      warnings.push_back(absl::StrCat(name, ": the model was trained on rows of ", shared.size(),
                                      " of the ", count(other.paths.size(), "file"), ", ",
                                      some_of(shared),
                                      ": its scores there say nothing about new data"));
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
