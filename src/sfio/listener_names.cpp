#include "sfio/listener_names.hpp"

#include <algorithm>

#include "base/parse.hpp"

namespace sheaf::sfio {

namespace {

std::string names_of(const std::vector<ListenerFacts>& listeners) {
  std::string text;
  std::vector<std::string> told;
  for (const ListenerFacts& facts : listeners) {
    if (std::ranges::find(told, facts.name) != told.end()) continue;
    if (told.size() == 8) return text + ", ...";
    text += (told.empty() ? "" : ", ") + facts.name;
    told.push_back(facts.name);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string root_of_host(const std::string& root, const std::string& host) {
  if (root.empty()) return {};
  if (host.empty() || host == "." || host == ".." || host.find('/') != std::string::npos ||
      host.find('\0') != std::string::npos)
    throw Error(Code::invalid_argument,
                "'" + host + "' is no name of a host: there is no directory for it beneath '" + root + "'");
  return root + "/" + host;
}

int find_listener(const std::vector<ListenerFacts>& listeners, const std::string& host, int occurrence) {
  const int64_t number = host.starts_with('#') ? parse_number(host.substr(1)).value_or(-1) : -1;
  if (number >= 0 && number < std::ssize(listeners)) return static_cast<int>(number);
  const auto short_name = [](const std::string& name) { return name.substr(0, name.find('.')); };
  std::vector<int> found;
  const auto collect = [&](auto matches) {
    for (int i = 0; i < std::ssize(listeners) && (found.empty() || i > found.back()); ++i)
      if (matches(listeners[static_cast<size_t>(i)].name)) found.push_back(i);
  };
  collect([&](const std::string& name) { return name == host; });
  if (found.empty()) collect([&](const std::string& name) { return short_name(name) == short_name(host); });
  if (found.empty() && host == "localhost" && !listeners.empty()) {
    collect([&](const std::string& name) { return name == listeners[0].name; });
    if (found.size() != listeners.size()) found.clear();
  }
  if (found.empty())
    throw Error(Code::not_found,
                "there is no I/O listener on host '" + host + "'; listeners: " + names_of(listeners));
  return found[static_cast<size_t>(occurrence) % found.size()];
}

}  // namespace sheaf::sfio
