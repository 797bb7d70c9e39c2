// Tables with policies and their steps, for tests.
#ifndef MILLRACE_EMBEDDING_TABLE_TABLE_POLICIES_TESTING_H_
#define MILLRACE_EMBEDDING_TABLE_TABLE_POLICIES_TESTING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "embedding/table/embedding_table.h"

namespace millrace::policy_testing {

using Ids = std::vector<int64_t>;
inline constexpr int64_t kDim = 3;

// Creates the table "items" of kDim columns from the text of a TableConfig.
absl::StatusOr<std::unique_ptr<EmbeddingTable>> create(const std::string& text);
// Creates a table with a slot "m" of two floats, 0.5 each. Expects no error.
std::unique_ptr<EmbeddingTable> make(const std::string& text);

// Returns the rows of ids, found or inserted. Expects no error.
std::vector<RowIndex> look_up(EmbeddingTable& table, const Ids& ids);
// Runs a step with these ids, which may repeat, and adds 1 to all floats of their rows.
void step(EmbeddingTable& table, int64_t number, const Ids& ids);

Ids ids_of(const EmbeddingTable& table);
bool has(const EmbeddingTable& table, int64_t id);

}  // namespace millrace::policy_testing

#endif  // MILLRACE_EMBEDDING_TABLE_TABLE_POLICIES_TESTING_H_
