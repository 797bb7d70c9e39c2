#include "hooks/embedding_projector_hook.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "embedding/embedding_collection.h"
#include "framework/report/directory_check.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

constexpr char kEmbeddingProjectorWhere[] = "[millrace.embedding_projector]";

// Returns the rows with the most lookups, in descending order; ties by id.
std::vector<RowIndex> most_frequent(const RowStore& store, size_t rows) {
  const auto is_before = [&](RowIndex a, RowIndex b) {
    const uint32_t left = store.meta(a).frequency, right = store.meta(b).frequency;
    return left != right ? left > right : store.id(a) < store.id(b);
  };
  std::vector<RowIndex> first;  // a heap, the last one on top
  for (RowIndex row = 0; row < store.end(); ++row) {
    if (!store.in_use(row)) continue;
    if (first.size() == rows) {
      if (!is_before(row, first.front())) continue;
      std::pop_heap(first.begin(), first.end(), is_before);
      first.pop_back();
    }
    first.push_back(row);
    std::push_heap(first.begin(), first.end(), is_before);
  }
  std::sort_heap(first.begin(), first.end(), is_before);
  return first;
}

// Returns the file name for a table, whose name may have any characters.
std::string file_name(const std::string& table, const char* end) {
  std::string name = table;
  for (char& c : name) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.') c = '_';
  }
  return absl::StrCat("projector_", name, end);
}

// Returns the path, below the directory of the hook, of a file of one rank.
std::string path_of_rank(int rank, const std::string& file) {
  return rank == 0 ? file : absl::StrCat("rank-", rank, "/", file);
}

}  // namespace

EmbeddingProjectorHook::EmbeddingProjectorHook(FileSystem& files, const std::string& output_dir,
                                               std::vector<EmbeddingCollection*> collections,
                                               const EmbeddingProjectorConfig& config)
    : files_(files),
      directory_(join_path(output_dir, config.directory())),
      collections_(std::move(collections)),
      config_(config) {
  const absl::Status status = check(config);
  MILLRACE_CHECK(status.ok()) << status;
}

absl::Status EmbeddingProjectorHook::check(const EmbeddingProjectorConfig& config) {
  FieldErrors errors;
  if (config.table().empty()) {
    errors.add(wrong(kEmbeddingProjectorWhere, "table is missing; give table { table: NAME }"));
  }
  errors.add(check_directory(kEmbeddingProjectorWhere, config.directory()));
  std::set<std::string> files;
  for (int i = 0; i < config.table_size(); ++i) {
    const EmbeddingProjectorConfig::Table& table = config.table(i);
    const std::string where = absl::StrCat(kEmbeddingProjectorWhere, ".table[", i, "]");
    if (table.table().empty()) {
      errors.add(wrong(where, "table is missing; give the name of a table"));
    } else if (!files.insert(file_name(table.table(), "")).second) {
      errors.add(wrong(where, absl::StrCat("table \"", table.table(),
                                           "\" has the files of one before; remove one")));
    }
    errors.add(check_ranges(where, table));
  }
  return errors.status();
}

absl::StatusOr<std::unique_ptr<Hook>> EmbeddingProjectorHook::create(
    const HookConfig& config, const HookResources& resources) {
  const EmbeddingProjectorConfig& own = config.GetExtension(embedding_projector);
  RETURN_IF_ERROR(check(own));
  auto hook = std::make_unique<EmbeddingProjectorHook>(
      resources.files, resources.output_dir,
      std::vector<EmbeddingCollection*>(resources.collections.begin(), resources.collections.end()),
      own);
  RETURN_IF_ERROR(hook->check_tables());
  return hook;
}

absl::StatusOr<const EmbeddingTable*> EmbeddingProjectorHook::find(const std::string& table) const {
  std::vector<std::string> names;
  for (const EmbeddingCollection* collection : collections_) {
    for (const auto& one : collection->tables()) {
      if (one->name() == table) return one.get();
      names.push_back(one->name());
    }
  }
  return wrong(kEmbeddingProjectorWhere,
               absl::StrCat("the model has no table \"", table, "\"", did_you_mean(table, names)));
}

absl::Status EmbeddingProjectorHook::check_tables() const {
  FieldErrors errors;
  for (const EmbeddingProjectorConfig::Table& table : config_.table()) {
    errors.add(find(table.table()).status());
  }
  return errors.status();
}

absl::Status EmbeddingProjectorHook::start(HookContext& context) {
  return context.phase() == Phase::kTrain ? check_tables() : absl::OkStatus();
}

absl::Status EmbeddingProjectorHook::write(const EmbeddingTable& table, int64_t rows, int rank) {
  const RowStore& store = table.content().rows();
  std::vector<float> weights(static_cast<size_t>(store.dim()));
  const auto columns = static_cast<size_t>(table.dim() - table.added_columns());
  std::string vectors, ids = "id\tlookups\n";
  for (const RowIndex row : most_frequent(store, static_cast<size_t>(rows))) {
    store.read_weights(row, absl::MakeSpan(weights));
    absl::StrAppend(&vectors, absl::StrJoin(absl::MakeConstSpan(weights).first(columns), "\t"),
                    "\n");
    absl::StrAppend(&ids, store.id(row), "\t", store.meta(row).frequency, "\n");
  }
  const auto path = [&](const char* end) {
    return join_path(directory_, path_of_rank(rank, file_name(table.name(), end)));
  };
  RETURN_IF_ERROR(write_file_atomically(files_, path(".tsv"), vectors));
  return write_file_atomically(files_, path("_ids.tsv"), ids);
}

// A rank holds the rows of its own ids alone, and hooks exchange nothing: every rank writes.
absl::Status EmbeddingProjectorHook::end(HookContext& context, const absl::Status& outcome) {
  if (context.phase() != Phase::kTrain || !outcome.ok()) return absl::OkStatus();
  const int own = context.rank();
  RETURN_IF_ERROR(
      files_.create_directories(directory_of(join_path(directory_, path_of_rank(own, "file")))));
  std::string projector;
  for (const EmbeddingProjectorConfig::Table& wanted : config_.table()) {
    ASSIGN_OR_RETURN(const EmbeddingTable* const table, find(wanted.table()));
    RETURN_IF_ERROR(write(*table, wanted.rows(), own));
    for (int rank = 0; rank < context.world_size(); ++rank) {
      const auto path = [&](const char* end) {
        return path_of_rank(rank, file_name(table->name(), end));
      };
      const std::string name =
          rank == 0 ? table->name() : absl::StrCat(table->name(), ", rank ", rank);
      absl::StrAppend(&projector, "embeddings {\n  tensor_name: \"", absl::CEscape(name),
                      "\"\n  tensor_path: \"", path(".tsv"), "\"\n  metadata_path: \"",
                      path("_ids.tsv"), "\"\n}\n");
    }
  }
  if (own != 0) return absl::OkStatus();
  return write_file_atomically(files_, join_path(directory_, "projector_config.pbtxt"), projector);
}

MILLRACE_REGISTER_HOOK(embedding_projector, "writes rows of tables for TensorBoard's projector",
                       &EmbeddingProjectorHook::create, OnError::kWarn);

}  // namespace millrace
