#include "proto/text_error.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "base/text.h"

namespace millrace {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;

std::vector<const FieldDescriptor*> extensions_of(const Descriptor& message) {
  std::vector<const FieldDescriptor*> extensions;
  DescriptorPool::generated_pool()->FindAllExtensions(&message, &extensions);
  return extensions;
}

// Adds the values of every enum field of this name in a message and its nested messages.
void collect_enum_values(const Descriptor& message, const std::string& field,
                         std::set<const Descriptor*>* seen, std::vector<std::string>* values) {
  if (!seen->insert(&message).second) return;
  std::vector<const FieldDescriptor*> fields = extensions_of(message);
  for (int i = 0; i < message.field_count(); ++i) fields.push_back(message.field(i));
  for (const FieldDescriptor* candidate : fields) {
    if (candidate->message_type() != nullptr) {
      collect_enum_values(*candidate->message_type(), field, seen, values);
    } else if (candidate->enum_type() != nullptr && candidate->name() == field) {
      for (int i = 0; i < candidate->enum_type()->value_count(); ++i) {
        const std::string& value = candidate->enum_type()->value(i)->name();
        // Other fields of that name may have the same values.
        if (!absl::c_linear_search(*values, value)) values->push_back(value);
      }
    }
  }
}

// Returns true if fields lead from `message` to `inner`. Then sets *outer to the innermost message
// on the way, `inner` excluded, that has a field `name`, unless it is set.
bool find_outer_with(const Descriptor& message, const Descriptor& inner, const std::string& name,
                     std::set<const Descriptor*>* seen, const Descriptor** outer) {
  if (&message == &inner) return true;
  if (!seen->insert(&message).second) return false;
  std::vector<const FieldDescriptor*> fields = extensions_of(message);
  for (int i = 0; i < message.field_count(); ++i) fields.push_back(message.field(i));
  for (const FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr ||
        !find_outer_with(*field->message_type(), inner, name, seen, outer)) {
      continue;
    }
    if (*outer == nullptr && message.FindFieldByName(name) != nullptr) *outer = &message;
    return true;
  }
  return false;
}

// Returns "; TrainConfig around it has one: ..." if a message around `inner` has the
// field, else "".
std::string brace_hint(const Descriptor& root, const Descriptor& inner, const std::string& name) {
  std::set<const Descriptor*> seen;
  const Descriptor* outer = nullptr;
  find_outer_with(root, inner, name, &seen, &outer);
  if (outer == nullptr) return "";
  return absl::StrCat("; ", outer->name(), " around it has one: is a } missing before?");
}

// Returns the parts of protobuf's message between double quotes.
std::vector<std::string> quoted_parts(absl::string_view text) {
  const std::vector<std::string> pieces = absl::StrSplit(text, '"');
  std::vector<std::string> parts;
  for (size_t i = 1; i + 1 < pieces.size(); i += 2) parts.push_back(pieces[i]);
  return parts;
}

// Returns protobuf's message with the nearest name added, where the message is about a name.
// Returns other messages unchanged.
std::string with_nearest_name(const Descriptor& root, const std::string& message) {
  const std::vector<std::string> parts = quoted_parts(message);
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  if (absl::StrContains(message, "has no field named") && parts.size() == 2) {
    const Descriptor* type = pool.FindMessageTypeByName(parts[0]);
    if (type != nullptr) {
      return absl::StrCat(unknown_field(*type, parts[1]), brace_hint(root, *type, parts[1]));
    }
  }
  if (absl::StrContains(message, "is not an extension of") && parts.size() == 2) {
    const Descriptor* type = pool.FindMessageTypeByName(parts[1]);
    if (type != nullptr) return unknown_extension(*type, parts[0]);
  }
  if (absl::StrContains(message, "Unknown enumeration value of") && parts.size() == 2) {
    std::set<const Descriptor*> seen;
    std::vector<std::string> values;
    collect_enum_values(root, parts[1], &seen, &values);
    return absl::StrCat("no value \"", parts[0], "\" of field \"", parts[1], "\"",
                        did_you_mean(parts[0], values));
  }
  return message;
}

// Keeps the first error. Later errors are its consequences.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  explicit FirstError(const Descriptor& root) : root_(root) {}
  void AddError(int line, int column, const std::string& message) override {
    if (error_) return;
    // The parser counts from 0, and gives -1 for an error without a place.
    error_ = TextError{line + 1, column + 1, with_nearest_name(root_, message)};
  }
  const std::optional<TextError>& error() const { return error_; }

 private:
  const Descriptor& root_;
  std::optional<TextError> error_;
};

std::optional<TextError> parse_text(absl::string_view text, google::protobuf::Message* message) {
  FirstError collector(*message->GetDescriptor());
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  const bool parsed = parser.Parse(&input, message);
  if (!parsed && !collector.error()) return TextError{0, 0, "not text format"};
  return collector.error();
}

// Returns the offset of a place in protobuf's count: a tab ends at a multiple of eight columns.
size_t offset_of(absl::string_view text, const TextError& place) {
  size_t offset = 0;
  for (int line = 1; line < place.line; ++line) offset = text.find('\n', offset) + 1;
  for (int column = 0; column + 1 < place.column && offset < text.size(); ++offset) {
    column = text[offset] == '\t' ? (column / 8 + 1) * 8 : column + 1;
  }
  return offset;
}

// Returns the message for a value of an enumeration in quotes, with its field and values, which
// protobuf's message lacks. Returns nothing for other errors.
std::optional<std::string> quoted_value(const google::protobuf::Message& message,
                                        absl::string_view text, const TextError& error) {
  absl::string_view value = error.what;
  if (!absl::ConsumePrefix(&value, "Expected integer or identifier, got: ") ||
      value.find_first_of("\"'") != 0) {
    return std::nullopt;
  }
  const size_t begin = offset_of(text, error);
  if (!absl::StartsWith(text.substr(std::min(begin, text.size())), value)) return std::nullopt;
  // Protobuf names the field of an unknown value.
  constexpr absl::string_view kUnknown = "NEITHER_OF_THE_VALUES";
  const std::unique_ptr<google::protobuf::Message> scratch(message.New());
  const std::optional<TextError> unknown =
      parse_text(absl::StrCat(text.substr(0, begin), kUnknown, text.substr(begin + value.size())),
                 scratch.get());
  if (!unknown.has_value()) return std::nullopt;
  absl::string_view rest = unknown->what;
  if (!absl::ConsumePrefix(&rest, absl::StrCat("no value \"", kUnknown, "\""))) {
    return std::nullopt;
  }
  const size_t known = std::min(rest.find(';'), rest.size());
  return absl::StrCat("value ", value, rest.substr(0, known),
                      " is in quotes; write it without them", rest.substr(known));
}

class IgnoreErrors : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
};

// Returns the name of the message that begins behind the tokens: "model", "[millrace.deepfm]"; ""
// for an entry of a list.
std::string message_name(absl::Span<const std::string> tokens) {
  if (!tokens.empty() && tokens.back() == ":") tokens.remove_suffix(1);
  if (tokens.empty() || tokens.back() == "," || tokens.back() == "[") return "";
  if (tokens.back() != "]") return tokens.back();
  size_t begin = tokens.size() - 1;
  while (begin > 0 && tokens[begin] != "[") --begin;
  return absl::StrJoin(tokens.subspan(begin), "");
}

// Returns the message for text that ends before a }, for which protobuf's message names nothing.
// Returns nothing for other errors.
std::optional<std::string> missing_brace(absl::string_view text, const TextError& error) {
  if (!absl::EndsWith(error.what, "got: ")) return std::nullopt;
  struct OpenMessage {
    std::string name;
    int line;  // from 1
  };
  std::vector<OpenMessage> open;
  std::vector<std::string> tokens;
  IgnoreErrors ignored;
  google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  google::protobuf::io::Tokenizer tokenizer(&input, &ignored);
  tokenizer.set_comment_style(google::protobuf::io::Tokenizer::SH_COMMENT_STYLE);
  while (tokenizer.Next()) {
    const auto& token = tokenizer.current();
    if (token.text == "{") open.push_back({message_name(tokens), token.line + 1});
    if (token.text == "}" && !open.empty()) open.pop_back();
    tokens.push_back(token.text);
  }
  if (open.empty()) return std::nullopt;
  const auto& [name, line] = open.back();
  return absl::StrCat(
      "the text ends within ", name.empty() ? "an entry of a list" : absl::StrCat("\"", name, "\""),
      ", which begins at line ", line, ": ",
      open.size() == 1 ? "a } is" : absl::StrCat(open.size(), " } are"), " missing");
}

}  // namespace

std::optional<TextError> parse_text_strictly(absl::string_view text,
                                             google::protobuf::Message* message) {
  std::optional<TextError> error = parse_text(text, message);
  if (!error.has_value()) return error;
  if (const auto what = quoted_value(*message, text, *error)) error->what = *what;
  if (const auto what = missing_brace(text, *error)) error->what = *what;
  return error;
}

std::string unknown_field(const Descriptor& message, absl::string_view name) {
  std::vector<std::string> names;
  for (int i = 0; i < message.field_count(); ++i) names.push_back(message.field(i)->name());
  return absl::StrCat(message.name(), " has no field \"", name, "\"",
                      did_you_mean(name, names, 40));
}

std::string unknown_extension(const Descriptor& message, absl::string_view name) {
  std::vector<std::string> names;
  for (const FieldDescriptor* extension : extensions_of(message)) {
    names.push_back(extension->full_name());
  }
  const std::string suggestion = did_you_mean(name, names, 40);
  return absl::StrCat(message.name(), " has no extension [", name, "]", suggestion,
                      absl::EndsWith(suggestion, "?") ? " " : ". ",
                      "An extension is known only to programs that link the library defining it: "
                      "add its cc_proto target, or the model or hook that uses it, to the deps of "
                      "your binary's BUILD rule");
}

}  // namespace millrace
