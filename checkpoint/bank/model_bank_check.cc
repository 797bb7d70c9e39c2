#include "checkpoint/bank/model_bank_check.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

bool holds(const SourceConfig& source, SourceConfig::Part part) {
  return std::find(source.parts().begin(), source.parts().end(), part) != source.parts().end();
}

absl::Status check_parts(const std::string& where, const SourceConfig& source) {
  for (int i = 0; i < source.parts_size(); ++i) {
    if (std::count(source.parts().begin(), source.parts().end(), source.parts(i)) > 1) {
      return wrong(where, absl::StrCat("parts has ", SourceConfig::Part_Name(source.parts(i)),
                                       " more than once"));
    }
  }
  if (gives(source, SourceConfig::SLOTS) && !gives(source, SourceConfig::WEIGHTS)) {
    return wrong(where, "parts has SLOTS without WEIGHTS; slots are those of rows");
  }
  if (holds(source, SourceConfig::CURSOR) && !holds(source, SourceConfig::PROGRESS)) {
    return wrong(where, "parts has CURSOR without PROGRESS");
  }
  if (!source.dynamic()) return absl::OkStatus();
  for (const SourceConfig::Part part : {SourceConfig::PROGRESS, SourceConfig::CURSOR,
                                        SourceConfig::HOOKS, SourceConfig::SCHEDULES}) {
    if (holds(source, part)) {
      return wrong(where,
                   absl::StrCat("a dynamic source gives no ", SourceConfig::Part_Name(part)));
    }
  }
  return absl::OkStatus();
}

using Patterns = google::protobuf::RepeatedPtrField<std::string>;

bool is_of_state(const std::string& pattern) { return pattern.find('@') != std::string::npos; }

void drop_state_patterns(Patterns* patterns) {
  patterns->erase(std::remove_if(patterns->begin(), patterns->end(), is_of_state), patterns->end());
}

absl::Status check_patterns(const std::string& where, absl::string_view field,
                            const Patterns& patterns) {
  for (const std::string& pattern : patterns) {
    if (pattern.empty()) return wrong(where, absl::StrCat(field, " has an empty pattern"));
  }
  return absl::OkStatus();
}

absl::Status check_renames(const std::string& where, const SourceConfig& source) {
  for (const RenameConfig& rename : source.rename()) {
    const auto from = std::count(rename.from().begin(), rename.from().end(), '*');
    const auto to = std::count(rename.to().begin(), rename.to().end(), '*');
    if (rename.from().empty() || rename.to().empty()) {
      return wrong(where, "rename needs both from and to");
    }
    if (from != to || from > 1) {
      return wrong(where, absl::StrCat("rename \"", rename.from(), "\" to \"", rename.to(),
                                       "\": both must hold one *, or neither"));
    }
  }
  return absl::OkStatus();
}

absl::Status check_rows(const std::string& where, const TrainConfig& train,
                        const SourceConfig& source) {
  const RowsFileConfig& rows = source.rows();
  std::vector<std::string> tables;
  for (const TableConfig& table : train.table()) tables.push_back(table.name());
  if (std::find(tables.begin(), tables.end(), rows.table()) == tables.end()) {
    return wrong(where + ".rows", absl::StrCat("no table \"", rows.table(), "\"",
                                               did_you_mean(rows.table(), tables)));
  }
  if (source.parts_size() > 0 || source.load_size() > 0 || source.exclude_size() > 0 ||
      source.rename_size() > 0) {
    return wrong(where, "a source with rows has no parts, load, exclude or rename");
  }
  if (rows.ids().empty()) return wrong(where + ".rows", "ids is empty");
  RETURN_IF_ERROR(check_patterns(where + ".rows", "weights", rows.weights()));
  if (rows.delimiter().size() <= 1) return absl::OkStatus();
  return wrong(where + ".rows", absl::StrCat("delimiter is \"", rows.delimiter(),
                                             "\"; must be one character, or empty"));
}

absl::Status check_source(const std::string& where, const TrainConfig& train,
                          const SourceConfig& source) {
  if (source.path().empty()) return wrong(where, "path is missing");
  RETURN_IF_ERROR(check_parts(where, source));
  RETURN_IF_ERROR(check_patterns(where, "load", source.load()));
  RETURN_IF_ERROR(check_patterns(where, "exclude", source.exclude()));
  RETURN_IF_ERROR(check_patterns(where, "clear_rows", source.clear_rows()));
  RETURN_IF_ERROR(check_patterns(where, "allow_missing", source.allow_missing()));
  RETURN_IF_ERROR(check_renames(where, source));
  return source.has_rows() ? check_rows(where, train, source) : absl::OkStatus();
}

}  // namespace

ModelBankConfig model_bank_of(const TrainConfig& train) {
  if (!train.has_initialize_from()) return train.model_bank();
  ModelBankConfig bank;
  SourceConfig& source = *bank.add_source();
  source.set_path(train.initialize_from());
  source.add_parts(SourceConfig::WEIGHTS);
  return bank;
}

ModelBankConfig weights_alone(const ModelBankConfig& bank) {
  ModelBankConfig model = bank;
  model.clear_source();
  for (SourceConfig source : bank.source()) {
    const bool all = source.load().empty();
    drop_state_patterns(source.mutable_load());
    drop_state_patterns(source.mutable_exclude());
    auto& renames = *source.mutable_rename();
    renames.erase(std::remove_if(renames.begin(), renames.end(),
                                 [](const RenameConfig& rule) { return is_of_state(rule.from()); }),
                  renames.end());
    source.clear_allow_missing();
    if (!gives(source, SourceConfig::WEIGHTS) || (!all && source.load().empty())) continue;
    source.clear_parts();
    if (!source.has_rows()) source.add_parts(SourceConfig::WEIGHTS);
    *model.add_source() = std::move(source);
  }
  return model;
}

bool gives(const SourceConfig& source, SourceConfig::Part part) {
  if (source.has_rows()) return part == SourceConfig::WEIGHTS;
  if (source.parts_size() > 0) return holds(source, part);
  return part == SourceConfig::WEIGHTS || part == SourceConfig::SLOTS;
}

absl::Status check_model_bank(const TrainConfig& train) {
  if (train.has_initialize_from()) {
    if (train.has_model_bank()) {
      return wrong("train", "initialize_from and model_bank are both given; one is enough");
    }
    if (train.initialize_from().empty()) return wrong("train", "initialize_from is empty");
    return absl::OkStatus();
  }
  if (!train.has_model_bank()) return absl::OkStatus();
  if (train.model_bank().source_size() == 0) return wrong("train.model_bank", "it has no source");
  bool dynamic = false;
  for (int i = 0; i < train.model_bank().source_size(); ++i) {
    const SourceConfig& source = train.model_bank().source(i);
    const std::string where = absl::StrCat("train.model_bank.source[", i, "]");
    RETURN_IF_ERROR(check_source(where, train, source));
    dynamic |= source.dynamic();
    // A job has one state of each of these parts, so two sources would contradict each other.
    for (const SourceConfig::Part part :
         {SourceConfig::PROGRESS, SourceConfig::HOOKS, SourceConfig::SCHEDULES}) {
      for (int j = 0; j < i && gives(source, part); ++j) {
        if (!gives(train.model_bank().source(j), part)) continue;
        return wrong(where, absl::StrCat("source[", j, "] gives ", SourceConfig::Part_Name(part),
                                         " already"));
      }
    }
  }
  if (train.model_bank().reload().at_end()) {
    return wrong("train.model_bank.reload", "at_end would come too late");
  }
  if (!train.model_bank().has_reload() || dynamic) return absl::OkStatus();
  return wrong("train.model_bank", "reload is given, but no source is dynamic");
}

}  // namespace millrace
