#include "checkpoint/inspect/checkpoint_diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "checkpoint/inspect/tensor_values.h"
#include "proto/config_fingerprint.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

using Manifest = CheckpointManifest;

std::string changed_text(absl::string_view name, absl::string_view a, absl::string_view b) {
  return absl::StrCat(name, ": ", a, " → ", b);
}

void compare_progress(const Manifest::Progress& a, const Manifest::Progress& b,
                      std::vector<std::string>* lines) {
  const auto compare = [&](absl::string_view name, int64_t from, int64_t to) {
    if (from == to) return;
    lines->push_back(changed_text(name, absl::StrCat(from), absl::StrCat(to)));
  };
  compare("step", a.step(), b.step());
  compare("examples", a.examples(), b.examples());
  compare("epoch", a.epoch(), b.epoch());
  compare("window", a.window(), b.window());
  compare("skipped_steps", a.skipped_steps(), b.skipped_steps());
  compare("skipped_examples", a.skipped_examples(), b.skipped_examples());
}

// A configuration with custom models can only be parsed by the program of its job.
void compare_jobs(const Manifest& a, const Manifest& b, std::vector<std::string>* lines) {
  if (a.config() != b.config()) {
    TrainConfig config_a, config_b;
    const bool read =
        parse_text(a.config(), "a", &config_a).ok() && parse_text(b.config(), "b", &config_b).ok();
    if (read) *lines = config_differences(config_a, config_b);
  }
  if (lines->empty() && a.fingerprint() != b.fingerprint()) {
    lines->push_back(changed_text("fingerprint", a.fingerprint(), b.fingerprint()));
  }
}

void compare_parts(const Manifest& a, const Manifest& b, std::vector<std::string>* lines) {
  const std::set<int> in_a(a.parts().begin(), a.parts().end());
  const std::set<int> in_b(b.parts().begin(), b.parts().end());
  for (int part = 1; part <= Manifest::Part_MAX; ++part) {
    if (in_a.count(part) == in_b.count(part)) continue;
    lines->push_back(absl::StrCat(Manifest::Part_Name(static_cast<Manifest::Part>(part)),
                                  in_a.count(part) > 0 ? ": only in a" : ": only in b"));
  }
}

// Adds the differences of numbers. REQUIRES: `a` and `b` have the same size.
void compare_values(TensorType type, absl::string_view a, absl::string_view b,
                    ValueDifference* difference) {
  const size_t size = tensor_type_bytes(type);
  for (size_t at = 0; at < a.size(); at += size) {
    const absl::string_view from = a.substr(at, size), to = b.substr(at, size);
    if (from == to) continue;
    ++difference->changed;
    const double distance = std::abs(tensor_value(type, to) - tensor_value(type, from));
    if (std::isnan(distance)) {
      ++difference->not_a_number;
    } else {
      difference->max_abs = std::max(difference->max_abs, distance);
    }
  }
}

std::string digest_of(const Manifest& manifest, const std::string& name) {
  for (const auto& digest : manifest.content_digests()) {
    if (digest.name() == name) return digest.digest();
  }
  return "";
}

// Returns true if the digests in the manifests show that `name` is equal.
bool equal_digests(const CheckpointContent& a, const CheckpointContent& b,
                   const std::string& name) {
  const std::string digest = digest_of(a.manifest(), name);
  return !digest.empty() && digest == digest_of(b.manifest(), name);
}

std::string type_text(const TensorInfo& tensor) {
  return absl::StrCat(std::string(tensor_type_name(tensor.type)), " [",
                      absl::StrJoin(tensor.shape, ", "), "]");
}

absl::Status compare_dense(const CheckpointContent& a, const CheckpointContent& b,
                           CheckpointDiff* diff) {
  std::map<std::string, std::pair<const TensorInfo*, const TensorInfo*>> both;
  const std::vector<TensorInfo> in_a = a.dense_tensors(), in_b = b.dense_tensors();
  for (const TensorInfo& tensor : in_a) both[tensor.name].first = &tensor;
  for (const TensorInfo& tensor : in_b) both[tensor.name].second = &tensor;
  // Equal digests save reading the tensors.
  if (equal_digests(a, b, "dense")) {
    diff->equal_dense = static_cast<int64_t>(both.size());
    return absl::OkStatus();
  }
  for (const auto& [name, tensors] : both) {
    const auto& [from, to] = tensors;
    TensorDifference difference{name};
    if (from != nullptr) difference.a = type_text(*from);
    if (to != nullptr) difference.b = type_text(*to);
    if (difference.a == difference.b) {
      ASSIGN_OR_RETURN(const std::string bytes_a, a.read(name));
      ASSIGN_OR_RETURN(const std::string bytes_b, b.read(name));
      compare_values(from->type, bytes_a, bytes_b, &difference.values);
      if (difference.values.changed == 0) {
        ++diff->equal_dense;
        continue;
      }
    }
    diff->dense.push_back(std::move(difference));
  }
  return absl::OkStatus();
}

// Iterates over a scan row by row.
class RowCursor {
 public:
  absl::Status open(const CheckpointContent& content, const std::string& table,
                    const std::vector<std::string>& columns) {
    ASSIGN_OR_RETURN(scan_, content.scan(table, columns));
    return fill();
  }
  bool done() const { return block_.rows() == 0; }
  uint64_t hash() const { return placement_hash(block_.ids[row_]); }
  absl::string_view column(size_t i) const {
    return block_.row(i, row_, scan_->columns()[i].row_bytes());
  }
  absl::Status advance() { return ++row_ < block_.rows() ? absl::OkStatus() : fill(); }

 private:
  absl::Status fill() {
    row_ = 0;
    return scan_->next(&block_);
  }

  std::unique_ptr<TableScan> scan_;
  RowBlock block_;
  int64_t row_ = 0;
};

class TableComparison {
 public:
  TableComparison(const CheckpointContent& a, const CheckpointContent& b, std::string table)
      : a_(a), b_(b) {
    result_.name = std::move(table);
  }

  absl::StatusOr<TableDifference> run() {
    const std::vector<TableColumn> in_a = table_columns(a_.manifest(), result_.name);
    const std::vector<TableColumn> in_b = table_columns(b_.manifest(), result_.name);
    result_.in_a = !in_a.empty();
    result_.in_b = !in_b.empty();
    if (result_.in_a) result_.rows_a = rows_of(a_.manifest());
    if (result_.in_b) result_.rows_b = rows_of(b_.manifest());
    if (!result_.in_a || !result_.in_b) {
      result_.added = result_.rows_b;
      result_.removed = result_.rows_a;
      return std::move(result_);
    }
    match_columns(in_a, in_b);
    if (result_.columns.empty() && equal_digests(a_, b_, "table/" + result_.name)) {
      result_.unchanged = result_.rows_a;
      return std::move(result_);
    }
    RETURN_IF_ERROR(compare_rows());
    for (ColumnDifference& column : compared_) {
      if (column.changed_rows > 0) result_.columns.push_back(std::move(column));
    }
    return std::move(result_);
  }

 private:
  int64_t rows_of(const Manifest& manifest) const {
    for (const auto& table : manifest.tables()) {
      if (table.name() == result_.name) return table.rows();
    }
    return 0;
  }

  static std::string text(const TableColumn& column) {
    return absl::StrCat(std::string(tensor_type_name(column.type)), " × ", column.width);
  }

  // Adds columns of different type to the result; the other columns will be compared.
  void match_columns(const std::vector<TableColumn>& in_a, const std::vector<TableColumn>& in_b) {
    std::vector<ColumnDifference> all;
    for (const TableColumn& column : in_a) all.push_back({column.name, text(column)});
    for (const TableColumn& column : in_b) {
      const auto same = [&](const ColumnDifference& other) { return other.name == column.name; };
      const auto found = std::find_if(all.begin(), all.end(), same);
      if (found == all.end()) {
        all.push_back({column.name, "", text(column)});
      } else {
        found->b = text(column);
      }
    }
    for (ColumnDifference& column : all) {
      (column.a == column.b ? compared_ : result_.columns).push_back(std::move(column));
    }
    for (const ColumnDifference& column : compared_) {
      for (const TableColumn& known : in_a) {
        if (known.name == column.name) types_.push_back(known.type);
      }
    }
  }

  absl::Status compare_rows() {
    std::vector<std::string> names;
    for (const ColumnDifference& column : compared_) names.push_back(column.name);
    RowCursor a, b;
    RETURN_IF_ERROR(a.open(a_, result_.name, names));
    RETURN_IF_ERROR(b.open(b_, result_.name, names));
    while (!a.done() || !b.done()) {
      const bool take_a = b.done() || (!a.done() && a.hash() <= b.hash());
      const bool take_b = a.done() || (!b.done() && b.hash() <= a.hash());
      if (take_a && take_b) compare_row(a, b);
      if (take_a && !take_b) ++result_.removed;
      if (take_b && !take_a) ++result_.added;
      if (take_a) RETURN_IF_ERROR(a.advance());
      if (take_b) RETURN_IF_ERROR(b.advance());
    }
    return absl::OkStatus();
  }

  void compare_row(const RowCursor& a, const RowCursor& b) {
    bool changed = false;
    for (size_t i = 0; i < compared_.size(); ++i) {
      const absl::string_view from = a.column(i), to = b.column(i);
      if (from == to) continue;
      changed = true;
      ++compared_[i].changed_rows;
      compare_values(types_[i], from, to, &compared_[i].values);
    }
    ++(changed ? result_.changed : result_.unchanged);
  }

  const CheckpointContent& a_;
  const CheckpointContent& b_;
  TableDifference result_;
  std::vector<ColumnDifference> compared_;
  std::vector<TensorType> types_;  // of compared_
};

}  // namespace

bool CheckpointDiff::equal() const {
  return progress.empty() && job.empty() && parts.empty() && dense.empty() &&
         std::all_of(tables.begin(), tables.end(),
                     [](const TableDifference& table) { return table.equal(); });
}

absl::StatusOr<CheckpointDiff> compare_checkpoints(const CheckpointContent& a,
                                                   const CheckpointContent& b) {
  CheckpointDiff diff;
  compare_progress(a.manifest().progress(), b.manifest().progress(), &diff.progress);
  compare_jobs(a.manifest(), b.manifest(), &diff.job);
  compare_parts(a.manifest(), b.manifest(), &diff.parts);
  RETURN_IF_ERROR(compare_dense(a, b, &diff));
  std::set<std::string> tables;
  for (const auto& table : a.manifest().tables()) tables.insert(table.name());
  for (const auto& table : b.manifest().tables()) tables.insert(table.name());
  for (const std::string& table : tables) {
    ASSIGN_OR_RETURN(TableDifference difference, TableComparison(a, b, table).run());
    diff.tables.push_back(std::move(difference));
  }
  return diff;
}

}  // namespace millrace
