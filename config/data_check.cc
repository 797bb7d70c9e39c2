#include "config/data_check.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/message_differencer.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/parts/part_family.h"
#include "base/status_macros.h"
#include "io/epoch/dataset_registry.h"
#include "io/epoch/epoch_source.h"
#include "io/feature/sample_filter.h"
#include "io/feature/split_filter.h"
#include "io/format/csv_config.h"
#include "io/mix/mix_check.h"
#include "io/window/window_source_registry.h"
#include "proto/data_windows.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

using google::protobuf::util::MessageDifferencer;

absl::Status check_csv_format(const std::string& where, const DataConfig& data) {
  if (data.format() != DataConfig::AUTO && data.format() != DataConfig::CSV) {
    return wrong(where, absl::StrCat("is for delimited text, but format is ",
                                     DataConfig::Format_Name(data.format())));
  }
  return check_csv(where, data.csv());
}

// Checks that `format` is AUTO or the format of the options at `where`.
absl::Status check_format(const std::string& where, const DataConfig& data,
                          DataConfig::Format format) {
  if (data.format() == DataConfig::AUTO || data.format() == format) return absl::OkStatus();
  return wrong(where, absl::StrCat("is for ", DataConfig::Format_Name(format), ", but format is ",
                                   DataConfig::Format_Name(data.format())));
}

absl::Status check_tfrecord(const std::string& where, const DataConfig& data) {
  FieldErrors errors;
  errors.add(check_format(where, data, DataConfig::TFRECORD));
  std::set<std::string> names;
  for (int i = 0; i < data.tfrecord().column_size(); ++i) {
    const std::string& name = data.tfrecord().column(i).name();
    const std::string column = entry(where + ".column", i, name);
    errors.add(name.empty() ? wrong(column, "name is missing")
                            : check_unique(column, name, &names));
  }
  return errors.status();
}

absl::Status check_custom_format(const std::string& where, const DataConfig& data) {
  const bool has_other = data.format() != DataConfig::AUTO || data.has_csv() ||
                         data.has_tfrecord() || data.has_libsvm();
  if (has_other) return wrong(where, "stands for the format; remove format, csv, tfrecord, libsvm");
  return annotate(PartFamily::check("file format", data.custom_format().name()), where);
}

// Checks that no field for files is set together with a registered dataset.
absl::Status check_custom_dataset(const std::string& where, const DataConfig& data) {
  DataConfig rest = data;
  rest.clear_custom_dataset();
  rest.clear_batch_size();
  rest.clear_drop_remainder();
  rest.clear_shuffle_rows();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  rest.GetReflection()->ListFields(rest, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    DataConfig without = rest;
    without.GetReflection()->ClearField(&without, field);
    // Defaults may be written out. For other messages, presence alone has a meaning.
    const bool has_default = field->message_type() == nullptr || field->name() == "sample";
    if (has_default && MessageDifferencer::Equivalent(rest, without)) continue;
    return wrong(
        where, absl::StrCat("gives the examples; remove ", field->name(), ", which is for files"));
  }
  return annotate(dataset_registry().check(data.custom_dataset().name()), where);
}

absl::Status check_formats(const std::string& where, const DataConfig& data) {
  FieldErrors errors;
  if (data.has_custom_format()) errors.add(check_custom_format(where + ".custom_format", data));
  if (data.has_csv()) errors.add(check_csv_format(where + ".csv", data));
  if (data.has_tfrecord()) errors.add(check_tfrecord(where + ".tfrecord", data));
  if (data.has_libsvm()) {
    errors.add(check_format(where + ".libsvm", data, DataConfig::LIBSVM));
    errors.add(check_ranges(where + ".libsvm", data.libsvm()));
  }
  return errors.status();
}

std::vector<std::string> labels_of(const TrainConfig& train) {
  std::vector<std::string> labels;
  for (const FeatureConfig& feature : train.feature()) {
    if (feature.kind() == FeatureConfig::LABEL) labels.push_back(feature.name());
  }
  return labels;
}

absl::Status check_sources(const std::string& where, const DataConfig& data,
                           const TrainConfig& train) {
  FieldErrors errors;
  errors.add(check_mix(where, data));
  for (int i = 0; i < data.mix().source_size(); ++i) {
    const MixSourceConfig& source = data.mix().source(i);
    const std::string place = entry(where + ".source", i, source.name());
    errors.add(check_data(place + ".data", source.data(), train, /*generated=*/false));
  }
  return errors.status();
}

}  // namespace

absl::Status check_data(const std::string& where, const DataConfig& data, const TrainConfig& train,
                        bool generated) {
  FieldErrors errors;
  // A custom dataset reads by its own rules, so the rules of files do not apply.
  if (data.has_custom_dataset()) {
    errors.add(check_custom_dataset(where + ".custom_dataset", data));
    errors.add(check_own_ranges(where, data));
    return errors.status();
  }
  if (data.has_windows()) errors.add(check_windows(where + ".windows", data));
  if (data.has_sample()) {
    errors.add(check_sample(where + ".sample", data.sample(), labels_of(train)));
  }
  if (data.has_mix()) errors.add(check_sources(where + ".mix", data, train));
  if (data.path_size() == 0 && !generated && !finds_own_files(data.windows()) &&
      !data.windows().has_custom() && !data.has_mix()) {
    errors.add(wrong(where, "path is missing; at least one is needed"));
  }
  for (int i = 0; i < data.path_size(); ++i) {
    if (data.path(i).empty()) errors.add(wrong(entry(where + ".path", i), "is empty"));
  }
  errors.add(check_own_ranges(where, data));
  if (data.has_split()) errors.add(check_split(where + ".split", data.split()));
  errors.add(check_formats(where, data));
  return errors.status();
}

}  // namespace millrace
