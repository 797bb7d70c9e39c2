// Tables with policies, and steps of them, for tests.
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

// Table "items" of kDim columns, of a TableConfig as text.
absl::StatusOr<std::unique_ptr<EmbeddingTable>> create(const std::string& text);
// The same with a slot "m" of two numbers, 0.5 each. Expects no error.
std::unique_ptr<EmbeddingTable> make(const std::string& text);

// Rows of ids, which it expects to find or make.
std::vector<RowIndex> look_up(EmbeddingTable& table, const Ids& ids);
// A step that sees these, ids that repeat as often as they do, and adds 1 to all numbers of rows.
void step(EmbeddingTable& table, int64_t number, const Ids& ids);

Ids ids_of(const EmbeddingTable& table);
bool has(const EmbeddingTable& table, int64_t id);

}  // namespace millrace::policy_testing

#endif  // MILLRACE_EMBEDDING_TABLE_TABLE_POLICIES_TESTING_H_
