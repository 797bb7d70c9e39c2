// Checks of the configuration of admission, eviction and limits.
#ifndef MILLRACE_EMBEDDING_POLICIES_TABLE_POLICY_CHECK_H_
#define MILLRACE_EMBEDDING_POLICIES_TABLE_POLICY_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Check one message. Errors: InvalidArgument, "<where>.<message>: <field> is …; must be …", for a
// number out of range, a missing required field and contradicting fields. `where` names the table.
// An empty message is valid, except in eviction, which needs a rule.
absl::Status check_admission(absl::string_view where, const AdmissionConfig& config);
absl::Status check_default_value(absl::string_view where, const DefaultValueConfig& config);
absl::Status check_eviction(absl::string_view where, const EvictionConfig& config);
absl::Status check_limit(absl::string_view where, const LimitConfig& config);

// Checks all four messages; an eviction is optional.
absl::Status check_table_policies(absl::string_view where, const TableConfig& config);

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_POLICIES_TABLE_POLICY_CHECK_H_
