#include "job/draft/config_draft.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "job/draft/data_draft.h"
#include "job/draft/feature_draft.h"

namespace millrace {
namespace {

// Examples to train on if there are fewer rows: rare ids overfit in a second epoch, but some
// hundred steps are the minimum.
constexpr double kFewestExamples = 5e4;
constexpr double kManyExamples = 8e5;

// Returns `open MESSAGE close` in text format, indented by two spaces: on one line, or with a line
// per field if the line exceeds 100 columns.
std::string entry_text(absl::string_view open, const google::protobuf::Message& message,
                       absl::string_view close) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  printer.SetSingleLineMode(true);
  printer.PrintToString(message, &text);
  absl::StripTrailingAsciiWhitespace(&text);
  text = absl::StrReplaceAll(text, {{"{ }", "{}"}});
  std::string line = absl::StrCat("  ", open, " ", text, " ", close, "\n");
  if (line.size() <= 101) return line;
  printer.SetSingleLineMode(false);
  printer.SetInitialIndentLevel(2);
  text.clear();
  printer.PrintToString(message, &text);
  return absl::StrCat("  ", open, "\n", text, "  ", close, "\n");
}

std::string in_quotes(absl::string_view text) {
  return absl::StrCat("\"", absl::Utf8SafeCEscape(text), "\"");
}

// Returns a comment in lines of at most 100 columns.
std::string comment_lines(absl::string_view text, absl::string_view indent) {
  std::string out;
  std::string line = absl::StrCat(indent, "#");
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    if (line.size() + 1 + word.size() > 100) {
      absl::StrAppend(&out, line, "\n");
      line = absl::StrCat(indent, "#");
    }
    absl::StrAppend(&line, " ", word);
  }
  return absl::StrCat(out, line, "\n");
}

std::string sentence(std::string text) {
  if (!text.empty()) text[0] = absl::ascii_toupper(text[0]);
  return absl::StrCat(text, ".");
}

std::string percent(double share) { return absl::StrFormat("%.3g %%", 100 * share); }

// ---------------------------------------------------------------------------
// Settings that depend on the number of rows and values.

struct SizeDraft {
  int64_t batch_size = 512;
  int64_t shuffle_rows = 0;
  int64_t epochs = 1;
  int64_t dim = 16;
  std::string hidden = "400, 400, 400";
  double most_distinct = 0;  // of the sparse columns
  bool is_rare = false;      // ids occur too seldom for a second epoch
};

// Returns the number of ids that a sparse feature makes of a column.
double ids_of(const ColumnLook& column, const FeatureConfig& feature) {
  for (const TransformConfig& transform : feature.transform()) {
    if (transform.has_bucketize()) return transform.bucketize().boundary_size() + 1;
  }
  if (!column.list_cell.empty()) return static_cast<double>(column.list_ids);
  return column.estimated_distinct;
}

SizeDraft draft_sizes(const DataLook& look, const std::vector<FeatureDraft>& drafts, double rows) {
  SizeDraft size;
  size.batch_size = rows < 1e6 ? 256 : rows < 1e7 ? 512 : rows < 1e8 ? 1024 : 4096;
  const auto columns = static_cast<double>(look.train.columns.size());
  size.shuffle_rows = static_cast<int64_t>(std::clamp(4e6 / columns, 1000.0, 100000.0));
  double fewest = rows;  // rows per id, of the column with the rarest ids
  for (const ColumnLook& column : look.train.columns) {
    for (const FeatureDraft& draft : drafts) {
      if (draft.column != column.name || !draft.is_used ||
          draft.feature.kind() != FeatureConfig::SPARSE) {
        continue;
      }
      const double ids = ids_of(column, draft.feature);
      size.most_distinct = std::max(size.most_distinct, ids);
      if (ids >= 1) fewest = std::min(fewest, rows / ids);
    }
  }
  size.is_rare = fewest < 20;
  const double examples = size.is_rare ? kFewestExamples : kManyExamples;
  size.epochs = std::clamp<int64_t>(std::lround(examples / rows), 1, 20);
  size.dim = size.most_distinct <= 300 ? 8 : 16;
  if (rows < 1e6) size.hidden = "128, 64";
  return size;
}

// ---------------------------------------------------------------------------
// The label.

std::string class_names(const DataLook& look) {
  std::vector<std::string> names;
  for (const ColumnLook& column : look.train.columns) {
    const bool binary = column.distinct == 2 && column.min == 0 && column.max == 1;
    if (binary && column.max_length <= 1) names.push_back(in_quotes(column.name));
  }
  if (names.empty()) return "";
  if (names.size() > 12) names.resize(12);
  return absl::StrCat("; columns of 0 and 1: ", absl::StrJoin(names, ", "));
}

absl::Status check_label(const DataLook& look) {
  const std::string& path = look.train.files.front().path;
  if (!look.label) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     " has no column that is named as a label; give --label COLUMN or "
                     "--label 'COLUMN>=NUMBER'",
                     class_names(look)));
  }
  const std::string where = absl::StrCat(path, ", label ", in_quotes(look.label->column));
  const LabelCount& count = look.train.label;
  if (count.rows == 0) return absl::DataLossError(absl::StrCat(where, ": no row has a value"));
  if (count.others > 0) {
    for (const ColumnLook& column : look.train.columns) {
      if (column.name != look.label->column) continue;
      if (column.kind == ValueKind::kText) {
        return absl::InvalidArgumentError(
            absl::StrCat(where,
                         ": values that are text, and a label is a number; write 1 and 0, or True "
                         "and False, or name another column with --label"));
      }
      return absl::InvalidArgumentError(
          absl::StrFormat("%s: values other than 0 and 1, from %g to %g; give --label '%s>=NUMBER'",
                          where, column.min, column.max, column.name));
    }
  }
  if (count.positives > 0 && count.positives < count.rows) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(where, ": all ", count.rows, " rows of the sample are ",
                                          count.positives > 0 ? 1 : 0,
                                          "; a model needs both classes"));
}

std::string label_text(const DataLook& look) {
  FeatureConfig feature;
  const LabelRule& rule = *look.label;
  feature.set_name(label_name(rule));
  feature.set_kind(FeatureConfig::LABEL);
  for (const ColumnLook& column : look.train.columns) {
    if (column.name != rule.column) continue;
    const ColumnLook merged = with_missing_texts_of_eval(column, look);
    if (merged.missing_texts.empty()) continue;
    *feature.add_transform() = *draft_missing_values(merged, /*as_numbers=*/true);
  }
  if (feature.name() != rule.column) feature.set_column(rule.column);
  if (rule.at_least) feature.add_transform()->mutable_threshold()->set_at_least(*rule.at_least);
  std::string text =
      absl::StrFormat("  # %s of the rows are positive.\n", percent(look.train.label.rate()));
  const auto misses = [](const FileSetLook& set) { return set.label.rows < set.sampled_rows; };
  if (misses(look.train) || (look.eval && misses(*look.eval))) {
    feature.set_missing(FeatureConfig::MASK);
    absl::StrAppend(&text, "  # A row without a label counts nowhere.\n");
  }
  absl::StrAppend(&text, entry_text("feature {", feature, "}"));
  return text;
}

// ---------------------------------------------------------------------------
// Features and tables. Columns i1, i2, ... of equal features are written as "i{1..2}".

// A name that ends in a number and can be part of a range.
struct NumberedName {
  std::string prefix;
  int64_t number = 0;
};

std::optional<NumberedName> split_number(const std::string& name) {
  size_t begin = name.size();
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  NumberedName split{.prefix = name.substr(0, begin)};
  const std::string digits = name.substr(begin);
  if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
  if (!absl::SimpleAtoi(digits, &split.number)) return std::nullopt;
  return split;
}

// Features that differ only in the number at the end of their names.
struct FeatureRun {
  FeatureConfig feature;  // of the first
  std::string prefix;
  int64_t first = 0;
  int64_t count = 1;
  std::string note;

  std::string name() const {
    if (count == 1) return feature.name();
    return absl::StrCat(prefix, "{", first, "..", first + count - 1, "}");
  }
};

bool is_next(const FeatureRun& run, const FeatureDraft& draft) {
  const std::optional<NumberedName> first = split_number(run.feature.name());
  const std::optional<NumberedName> next = split_number(draft.column);
  if (!first || !next || first->prefix != next->prefix || draft.note != run.note) return false;
  FeatureConfig renamed = draft.feature;
  renamed.set_name(run.feature.name());
  return next->number == first->number + run.count &&
         renamed.SerializeAsString() == run.feature.SerializeAsString();
}

// Sorts numbered columns by number, at the position of the first column of their prefix. ORC
// writers sort names as text.
void sort_numbered(std::vector<FeatureDraft>& drafts) {
  struct Key {
    int64_t place;
    int64_t number;
  };
  absl::flat_hash_map<std::string, int64_t> places;  // of the first column of each prefix
  std::vector<std::pair<Key, FeatureDraft>> keyed;
  for (FeatureDraft& draft : drafts) {
    Key key{.place = static_cast<int64_t>(keyed.size()), .number = 0};
    if (const std::optional<NumberedName> split = split_number(draft.column)) {
      key = {.place = places.try_emplace(split->prefix, key.place).first->second,
             .number = split->number};
    }
    keyed.emplace_back(key, std::move(draft));
  }
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.place, a.first.number) < std::tie(b.first.place, b.first.number);
  });
  for (size_t i = 0; i < drafts.size(); ++i) drafts[i] = std::move(keyed[i].second);
}

std::vector<FeatureRun> join_runs(std::vector<FeatureDraft> drafts) {
  sort_numbered(drafts);
  std::vector<FeatureRun> runs;
  for (const FeatureDraft& draft : drafts) {
    if (!draft.is_used) continue;
    if (!runs.empty() && is_next(runs.back(), draft)) {
      ++runs.back().count;
      continue;
    }
    FeatureRun run{.feature = draft.feature, .note = draft.note};
    if (const std::optional<NumberedName> split = split_number(draft.column)) {
      run.prefix = split->prefix;
      run.first = split->number;
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

std::string features_text(const std::vector<FeatureRun>& runs, FeatureConfig::Kind kind) {
  std::string text, note;
  for (const FeatureRun& run : runs) {
    if (run.feature.kind() != kind) continue;
    if (run.note != note) absl::StrAppend(&text, comment_lines(sentence(note = run.note), "  "));
    FeatureConfig feature = run.feature;
    feature.set_name(run.name());
    absl::StrAppend(&text, entry_text("feature {", feature, "}"));
  }
  return text;
}

std::string tables_text(const SizeDraft& size) {
  const std::string sentence = absl::StrFormat(
      "Each sparse feature has a table of its name, of at most %.0f ids, as far as the sample "
      "shows. deepfm takes tables of one dim.",
      size.most_distinct);
  return absl::StrCat("\n", comment_lines(sentence, "  "), "  default_table { dim: ", size.dim,
                      " }\n");
}

std::string left_out_text(const std::vector<FeatureDraft>& drafts) {
  std::string text;
  for (const FeatureDraft& draft : drafts) {
    if (draft.is_used) continue;
    const std::string name = draft.column.empty() ? "(no name)" : comment_text(draft.column);
    absl::StrAppend(&text, "  #   ", name, ": ", comment_text(draft.note), "\n");
  }
  return text.empty() ? "" : absl::StrCat("  # Columns left out:\n", text);
}

// Writes names "column_1" to "column_N", which guess_file gives, as a range.
void shorten_columns(DataConfig* config) {
  if (config->csv().column().empty()) return;
  const std::string range = absl::StrCat("column_{1..", config->csv().column_size(), "}");
  config->mutable_csv()->clear_column();
  config->mutable_csv()->add_column(range);
}

std::string data_text(const DataDraft& data, const SizeDraft& size) {
  DataConfig train = data.train;
  train.set_batch_size(size.batch_size);
  train.set_shuffle_rows(size.shuffle_rows);
  shorten_columns(&train);
  const std::string text =
      absl::StrCat(data.blanks.empty() ? "" : comment_lines(data.blanks, "  "),
                   entry_text("train_data {", train, "}"), comment_lines(data.comment, "  "));
  if (!data.eval) return text;
  DataConfig eval = *data.eval;
  eval.set_batch_size(4096);
  shorten_columns(&eval);
  return absl::StrCat(text, entry_text("eval_data { data {", eval, "} }"));
}

std::string model_text(const SizeDraft& size, bool has_sparse) {
  const std::string dropout = size.epochs > 1 ? " dropout: 0.2" : "";
  if (!has_sparse) {
    return absl::StrCat("  # No column holds ids, which deepfm needs.\n",
                        "  model { name: \"mlp\" [millrace.mlp] { hidden: [", size.hidden, "]",
                        dropout, " } }\n");
  }
  return absl::StrCat("  model { name: \"deepfm\" [millrace.deepfm] { hidden: [", size.hidden, "]",
                      dropout, " } }\n");
}

std::string epochs_text(const SizeDraft& size, bool has_eval) {
  if (size.epochs == 1) {
    if (!size.is_rare) return "  max_epochs: 1\n";
    return "  # Many ids are rare: a second epoch would overfit.\n  max_epochs: 1\n";
  }
  return absl::StrCat("  # Few rows: several epochs.",
                      has_eval ? " The checkpoint of the best one is kept as OUTPUT_DIR/best." : "",
                      "\n  max_epochs: ", size.epochs, "\n");
}

absl::Status no_features(const DataLook& look, const std::vector<FeatureDraft>& drafts) {
  std::vector<std::string> reasons;
  for (const FeatureDraft& draft : drafts) {
    reasons.push_back(absl::StrCat(in_quotes(draft.column), " (", draft.note, ")"));
  }
  const size_t more = reasons.size() > 5 ? reasons.size() - 5 : 0;
  reasons.resize(reasons.size() - more);
  return absl::DataLossError(
      absl::StrCat(look.train.files.front().path, ": no column can be a feature",
                   reasons.empty() ? "" : absl::StrCat(": ", absl::StrJoin(reasons, ", ")),
                   more > 0 ? absl::StrCat(" and ", more, " more") : ""));
}

}  // namespace

absl::StatusOr<std::string> draft_config(const DataLook& look, absl::string_view output_dir) {
  RETURN_IF_ERROR(check_label(look));
  const std::vector<FeatureDraft> drafts = draft_features(look);
  const std::vector<FeatureRun> runs = join_runs(drafts);
  const std::string dense = features_text(runs, FeatureConfig::DENSE);
  const std::string sparse = features_text(runs, FeatureConfig::SPARSE);
  const std::string groups = features_text(runs, FeatureConfig::GROUP_ID);
  if (dense.empty() && sparse.empty()) return no_features(look, drafts);
  const DataDraft data = draft_data(look);
  const SizeDraft size = draft_sizes(look, drafts, data.train_rows);

  std::string text = comment_lines(
      absl::StrFormat("Written by `millrace config init` from %d rows of %d in %s. Train with "
                      "`millrace train` and this file.",
                      look.train.sampled_rows, look.train.rows,
                      comment_text(look.train.config.path(0))),
      "");
  absl::StrAppend(&text, "train {\n", data_text(data, size), "\n", label_text(look), dense, sparse,
                  groups, sparse.empty() ? "" : tables_text(size));
  absl::StrAppend(&text, left_out_text(drafts), "\n", model_text(size, !sparse.empty()),
                  "  optimizer { learning_rate: 0.001 adam {} }\n");
  if (!sparse.empty())
    absl::StrAppend(&text, "  sparse_optimizer { learning_rate: 0.002 adam {} }\n");
  if (!groups.empty()) {
    absl::StrAppend(&text,
                    "  # The default metrics, and auc within groups.\n"
                    "  metric: [\"auc\", \"logloss\", \"ne\", \"calibration\", \"gauc\"]\n");
  }
  absl::StrAppend(&text, epochs_text(size, data.eval.has_value()),
                  "}\nrun {\n  output_dir: ", in_quotes(output_dir), "\n");
  // Later epochs may overfit, so the draft evaluates each epoch and keeps the best score.
  if (size.epochs > 1 && data.eval) {
    absl::StrAppend(&text,
                    "  evaluation { when { every_epochs: 1 } best { term { monitor: "
                    "\"eval/auc\" } } }\n");
  }
  return absl::StrCat(text, "}\n");
}

}  // namespace millrace
