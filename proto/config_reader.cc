#include "proto/config_reader.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "proto/config_variables.h"
#include "proto/message_visit.h"
#include "proto/split_bounds.h"
#include "proto/text_dialect.h"
#include "proto/text_error.h"

namespace millrace {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Replaces `{}` in all text fields of a message and its nested messages, except `name`.
void substitute_number(const std::string& number, Message* message) {
  const auto substitute = [&](const std::string&, const FieldDescriptor& field,
                              std::string* value) {
    if (field.is_repeated() || field.name() != "name") absl::StrReplaceAll({{"{}", number}}, value);
    return absl::OkStatus();
  };
  change_strings("", substitute, message).IgnoreError();  // substitute never fails
}

constexpr int64_t kMaxEntries = 1000000;  // that ranges give

// Returns the number of entries of a name with ranges. A result above `limit` may be any number
// above it.
int64_t count_expanded(std::string name, int64_t limit) {
  int64_t count = 1;
  while (count <= limit) {
    std::vector<int64_t> numbers;
    std::vector<std::string> names = expand_range(name, &numbers);
    if (numbers.empty()) break;
    count *= static_cast<int64_t>(numbers.size());
    name = std::move(names.front());
  }
  return count;
}

// Appends `entry`, or the entries of its range.
template <typename Entry>
void append_expanded(const Entry& entry, google::protobuf::RepeatedPtrField<Entry>* expanded) {
  std::vector<int64_t> numbers;
  const std::vector<std::string> names = expand_range(entry.name(), &numbers);
  if (numbers.empty()) {
    *expanded->Add() = entry;
    return;
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    Entry one = entry;
    substitute_number(absl::StrCat(numbers[i]), &one);
    one.set_name(names[i]);
    append_expanded(one, expanded);  // there may be a second range
  }
}

template <typename Entry>
void expand_entries(google::protobuf::RepeatedPtrField<Entry>* entries) {
  google::protobuf::RepeatedPtrField<Entry> expanded;
  int64_t total = 0;
  for (const Entry& entry : *entries) {
    total += count_expanded(entry.name(), kMaxEntries);
    if (total > kMaxEntries) return;  // validate refuses the braces
  }
  for (const Entry& entry : *entries) append_expanded(entry, &expanded);
  entries->Swap(&expanded);
}

// Expands plain names in the same way.
void expand_strings(google::protobuf::RepeatedPtrField<std::string>* names) {
  google::protobuf::RepeatedPtrField<FeatureConfig> entries;
  for (const std::string& name : *names) entries.Add()->set_name(name);
  expand_entries(&entries);
  names->Clear();
  for (const FeatureConfig& entry : entries) *names->Add() = entry.name();
}

// Adds the tables of sparse features that neither set `table` nor have an entry of their name.
void add_default_tables(TrainConfig* config) {
  std::set<std::string> names;
  for (const TableConfig& table : config->table()) names.insert(table.name());
  TableConfig table = config->default_table();
  if (table.has_name()) return;  // validate refuses it
  for (const FeatureConfig& feature : config->feature()) {
    if (feature.kind() != FeatureConfig::SPARSE || !feature.table().empty()) continue;
    if (!names.insert(feature.name()).second) continue;
    table.set_name(feature.name());
    *config->add_table() = table;
    config->clear_default_table();
  }
}

void expand_columns(DataConfig* data) {
  if (data->has_csv()) {
    expand_strings(data->mutable_csv()->mutable_column());
    expand_strings(data->mutable_csv()->mutable_hexadecimal());
  }
  if (data->has_tfrecord()) expand_entries(data->mutable_tfrecord()->mutable_column());
  if (!data->has_mix()) return;
  for (MixSourceConfig& source : *data->mutable_mix()->mutable_source()) {
    if (source.has_data()) expand_columns(source.mutable_data());
  }
}

void set_to_default(const FieldDescriptor* f, Message* m) {
  const Reflection& r = *m->GetReflection();
  switch (f->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: r.SetInt32(m, f, f->default_value_int32()); break;
    case FieldDescriptor::CPPTYPE_INT64: r.SetInt64(m, f, f->default_value_int64()); break;
    case FieldDescriptor::CPPTYPE_UINT32: r.SetUInt32(m, f, f->default_value_uint32()); break;
    case FieldDescriptor::CPPTYPE_UINT64: r.SetUInt64(m, f, f->default_value_uint64()); break;
    case FieldDescriptor::CPPTYPE_DOUBLE: r.SetDouble(m, f, f->default_value_double()); break;
    case FieldDescriptor::CPPTYPE_FLOAT: r.SetFloat(m, f, f->default_value_float()); break;
    case FieldDescriptor::CPPTYPE_BOOL: r.SetBool(m, f, f->default_value_bool()); break;
    case FieldDescriptor::CPPTYPE_ENUM: r.SetEnum(m, f, f->default_value_enum()); break;
    case FieldDescriptor::CPPTYPE_STRING: r.SetString(m, f, f->default_value_string()); break;
    case FieldDescriptor::CPPTYPE_MESSAGE: r.MutableMessage(m, f); break;
  }
}

// Sets every field with a default, in this message and its nested messages. `above` holds the types
// of the enclosing messages: a nested message of such a type is not created.
void fill_defaults(std::set<const google::protobuf::Descriptor*> above, Message* message) {
  const Reflection& reflection = *message->GetReflection();
  above.insert(message->GetDescriptor());
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message->GetDescriptor()->field(i);
    const bool fills = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE
                           ? !absence_has_meaning(*field) && above.count(field->message_type()) == 0
                           : field->has_default_value();
    if (field->is_repeated() || field->containing_oneof() != nullptr || !fills) continue;
    if (!reflection.HasField(*message, field)) set_to_default(field, message);
  }
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      fill_defaults(above, reflection.MutableMessage(message, field));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(*message, field); ++i) {
      fill_defaults(above, reflection.MutableRepeatedMessage(message, field, i));
    }
  }
}

}  // namespace

bool absence_has_meaning(const FieldDescriptor& field) {
  static const std::set<std::string>* names = new std::set<std::string>{
      "millrace.DataConfig.split",
      "millrace.DataConfig.csv",
      "millrace.DataConfig.tfrecord",
      "millrace.DataConfig.libsvm",
      "millrace.TableConfig.optimizer",
      "millrace.ReportConfig.when",
      "millrace.EvaluationConfig.when",
      "millrace.EvaluationConfig.best",
      "millrace.TrainConfig.generated_data",
      "millrace.TrainConfig.clipping",
      "millrace.TrainConfig.default_table",
      "millrace.TableConfig.eviction",
      "millrace.EvictionConfig.custom",
      "millrace.CountAdmission.sketch",
      "millrace.EvictRowsConfig.when",
      "millrace.CheckpointConfig.when",
      "millrace.CheckpointConfig.row_filter",
      "millrace.TrainConfig.model_bank",
      "millrace.TrainConfig.moving_average",
      "millrace.SourceConfig.rows",
      "millrace.ModelBankConfig.reload",
      "millrace.DataConfig.windows",
      "millrace.DataConfig.custom_format",
      "millrace.DataConfig.custom_dataset",
      "millrace.DataConfig.mix",
      "millrace.HookConfig.plugin",
      "millrace.CosineScheduleConfig.warmup",
      "millrace.PolynomialScheduleConfig.warmup",
      "millrace.ExponentialScheduleConfig.length",
      "millrace.InverseSquareRootScheduleConfig.warmup_length",
      "millrace.ChainedScheduleConfig.Part.length",
  };
  return names->count(field.full_name()) > 0;
}

absl::Status parse_text(absl::string_view text, absl::string_view source, Message* message) {
  const std::unique_ptr<Message> parsed(message->New());
  text = without_byte_order_mark(text);
  if (const std::optional<TextError> error = parse_text_strictly(text, parsed.get())) {
    const std::string place =
        error->line > 0 ? absl::StrCat(":", error->line, ":", error->column) : "";
    return absl::InvalidArgumentError(
        absl::StrCat(source, place, ": ", error->what, dialect_hint(text, error->line)));
  }
  message->MergeFrom(*parsed);
  return absl::OkStatus();
}

namespace {

constexpr size_t kMaxIncludes = 16;  // files that include one another; named in an error

// Reads the file `path`, merged over the files that it includes. `chain` has the files that include
// it, the outermost first.
absl::StatusOr<JobConfig> read_with_includes(FileSystem& files, const std::string& path,
                                             std::vector<std::string> chain);

// Puts the files that `config` includes under it. `directory` is the base of relative paths.
absl::Status merge_includes(FileSystem& files, const std::string& directory,
                            const std::vector<std::string>& chain, JobConfig* config) {
  if (config->include_size() == 0) return absl::OkStatus();
  JobConfig merged;
  for (int i = 0; i < config->include_size(); ++i) {
    const std::string where =
        absl::StrCat(chain.empty() ? "" : chain.back() + ": ", "include[", i, "]");
    std::string path = config->include(i);
    RETURN_IF_ERROR(expand_environment(&path), where);
    if (path.empty())
      return absl::InvalidArgumentError(absl::StrCat(where, " is empty; name a file"));
    if (!is_uri(path)) path = join_path(directory, path);
    // So that a circle has equal names.
    if (!is_uri(path)) path = std::filesystem::path(path).lexically_normal().string();
    ASSIGN_OR_RETURN(const JobConfig included, read_with_includes(files, path, chain), where);
    merged.MergeFrom(included);
  }
  merged.MergeFrom(*config);
  merged.clear_include();
  *config = std::move(merged);
  return absl::OkStatus();
}

absl::StatusOr<JobConfig> read_with_includes(FileSystem& files, const std::string& path,
                                             std::vector<std::string> chain) {
  const bool is_circle = std::find(chain.begin(), chain.end(), path) != chain.end();
  chain.push_back(path);
  if (is_circle || chain.size() > kMaxIncludes) {
    return absl::InvalidArgumentError(
        absl::StrCat(is_circle ? "files include one another in a circle: "
                               : "files include one another more than 16 deep: ",
                     absl::StrJoin(chain, ", then "), "; remove one include"));
  }
  ASSIGN_OR_RETURN(const std::string text, read_file(files, path));
  JobConfig config;
  RETURN_IF_ERROR(parse_text(text, path, &config));
  RETURN_IF_ERROR(merge_includes(files, directory_of(path), chain, &config));
  return config;
}

}  // namespace

absl::StatusOr<JobConfig> read_job_config(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(JobConfig config, read_with_includes(files, path, {}));
  if (config.has_train()) use_file_names(config.mutable_train());
  return config;
}

absl::Status merge_includes(FileSystem& files, JobConfig* config) {
  return merge_includes(files, ".", {}, config);
}

void expand_names(TrainConfig* config) {
  expand_entries(config->mutable_feature());
  expand_entries(config->mutable_table());
  if (config->has_train_data()) expand_columns(config->mutable_train_data());
  for (EvaluationSetConfig& set : *config->mutable_eval_data()) {
    if (set.has_data()) expand_columns(set.mutable_data());
  }
  add_default_tables(config);
  for (FeatureConfig& feature : *config->mutable_feature()) {
    if (feature.column().empty()) feature.set_column(feature.name());
    if (feature.kind() == FeatureConfig::SPARSE && feature.table().empty()) {
      feature.set_table(feature.name());
    }
  }
}

std::string to_text(const Message& message) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  printer.PrintToString(message, &text);
  return text;
}

std::string to_text_with_defaults(const Message& message) {
  const std::unique_ptr<Message> filled(message.New());
  filled->CopyFrom(message);
  fill_defaults({}, filled.get());
  return to_text(*filled);
}

}  // namespace millrace
