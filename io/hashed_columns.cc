#include "io/hashed_columns.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace millrace {
namespace {

using Column = DataIdentity::Column;
using ColumnsByName = std::map<std::string, Column>;

absl::string_view describe(DataIdentity::Cells cells) {
  return cells == DataIdentity::TEXT ? "text" : "numbers";
}

ColumnsByName by_name(const HashedColumns& columns) {
  ColumnsByName map;
  for (const Column& column : columns) map.emplace(column.name(), column);
  return map;
}

HashedColumns in_order(ColumnsByName map) {
  HashedColumns columns;
  for (auto& [name, column] : map) *columns.Add() = std::move(column);
  return columns;
}

}  // namespace

void update_hashed_columns(const HashedColumns& newer, HashedColumns* columns) {
  ColumnsByName all = by_name(newer);
  all.merge(by_name(*columns));
  *columns = in_order(std::move(all));
}

HashedColumns common_hashed_columns(absl::Span<const HashedColumns> sources) {
  ColumnsByName all;
  std::set<std::string> differing;
  for (const HashedColumns& source : sources) {
    for (const Column& column : source) {
      const auto [known, is_new] = all.emplace(column.name(), column);
      if (known->second.cells() != column.cells()) differing.insert(column.name());
    }
  }
  for (const std::string& name : differing) all.erase(name);
  return in_order(std::move(all));
}

absl::Status check_hashed_columns(const HashedColumns& trained, const HashedColumns& now) {
  const ColumnsByName before = by_name(trained);
  for (const Column& column : now) {
    const auto found = before.find(column.name());
    if (found == before.end() || found->second.cells() == column.cells()) continue;
    const absl::string_view was = describe(found->second.cells());
    return absl::InvalidArgumentError(absl::StrCat(
        "column \"", column.name(), "\" holds ", describe(column.cells()), " in ", column.file(),
        ", but ", was, " in training (", found->second.file(),
        "), so that equal values would get other ids; give files in which it holds ", was));
  }
  return absl::OkStatus();
}

}  // namespace millrace
