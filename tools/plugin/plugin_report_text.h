// The output of `millrace plugin inspect`.
#ifndef MILLRACE_TOOLS_PLUGIN_PLUGIN_REPORT_TEXT_H_
#define MILLRACE_TOOLS_PLUGIN_PLUGIN_REPORT_TEXT_H_

#include <string>

#include "plugin/plugin_report.h"

namespace millrace {

// Returns lines for people.
std::string plugin_report_text(const PluginReport& report);
// Returns a JSON object and a newline.
std::string plugin_report_json(const PluginReport& report);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_PLUGIN_PLUGIN_REPORT_TEXT_H_
