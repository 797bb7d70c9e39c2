#include "tools/memory_report.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "checkpoint/state/train_state.h"
#include "embedding/embedding_collection.h"
#include "embedding/table/embedding_table.h"
#include "framework/report/resource_use.h"
#include "framework/trainer.h"
#include "tools/text_table.h"

namespace millrace {
namespace {

int64_t bytes_of(const std::vector<NamedParameter>& tensors) {
  int64_t bytes = 0;
  for (const NamedParameter& tensor : tensors) {
    bytes += static_cast<int64_t>(tensor.value.nbytes());
  }
  return bytes;
}

std::vector<const EmbeddingTable*> tables_of(const Trainer& trainer) {
  std::vector<const EmbeddingTable*> tables;
  for (const EmbeddingCollection* collection : trainer.collections()) {
    for (const auto& table : collection->tables()) tables.push_back(table.get());
  }
  return tables;
}

}  // namespace

std::string memory_text(Trainer& trainer) {
  TextTable text({{"memory"}, {"", TextTable::kRight}, {""}});
  int64_t known = 0;
  const auto add = [&](const std::string& part, int64_t bytes, const std::string& note) {
    known += bytes;
    text.add({part, bytes_text(bytes), note});
  };
  if (const absl::StatusOr<TrainState> state = trainer.capture(); state.ok()) {
    add("dense parameters", bytes_of(state->dense), "");
    add("dense optimizer", bytes_of(state->optimizer_tensors()), "state, moving averages");
  }
  for (const EmbeddingTable* table : tables_of(trainer)) {
    const TableStatistics statistics = table->maintenance().statistics();
    add(absl::StrCat("table ", table->name()), statistics.bytes,
        absl::StrCat(table->rows(), " rows of at most ", table->maintenance().row_bytes(),
                     " bytes"));
  }
  const int64_t resident = read_process_figures().resident_bytes;
  text.add({"everything else", bytes_text(std::max<int64_t>(0, resident - known)),
            "program, libraries, batches, activations"});
  text.add({"this process", bytes_text(resident), ""});
  return text.text();
}

std::string out_of_memory_text(const absl::Status& status, Trainer& trainer) {
  if (kind_of(status) != FailureKind::kMachine ||
      !absl::StrContains(status.message(), "out of memory")) {
    return "";
  }
  // The report needs memory, too.
  const auto text = [&trainer]() -> absl::StatusOr<std::string> { return memory_text(trainer); };
  return absl::StrCat(
      catch_exceptions(text).value_or(""),
      "To need less: more ranks, or limit { max_rows } and row_dtype of a large "
      "table; batch_size and run.read.prefetch_batches for batches; `train --dry_run "
      "10 --rows TABLE=NUMBER` prints what a table will take\n");
}

absl::StatusOr<std::pair<std::string, int64_t>> parse_rows(absl::string_view text) {
  const size_t equals = text.rfind('=');
  double rows = 0;
  if (equals == absl::string_view::npos || equals == 0 ||
      !absl::SimpleAtod(text.substr(equals + 1), &rows) || !(rows >= 1) || rows > 1e12 ||
      rows != std::floor(rows)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", text,
        "\": write TABLE=NUMBER with a whole number from 1 to 1e12, such as items=1e8"));
  }
  return std::make_pair(std::string(text.substr(0, equals)), static_cast<int64_t>(rows));
}

absl::StatusOr<std::string> memory_of_rows(const Trainer& trainer,
                                           const std::map<std::string, int64_t>& rows) {
  const std::vector<const EmbeddingTable*> tables = tables_of(trainer);
  std::string text;
  for (const auto& [name, count] : rows) {
    const EmbeddingTable* found = nullptr;
    std::vector<std::string> names;
    for (const EmbeddingTable* table : tables) {
      names.push_back(table->name());
      if (table->name() == name) found = table;
    }
    if (found == nullptr) {
      return absl::NotFoundError(
          absl::StrCat("the job has no table \"", name, "\"", did_you_mean(name, names)));
    }
    const int64_t each = found->maintenance().row_bytes();
    absl::StrAppend(&text, "table ", name, " with ", count, " rows takes at most ",
                    bytes_text(each * count), " more than an empty one, ", each, " bytes a row\n");
  }
  return text;
}

}  // namespace millrace
