#include "sharedfile/statistics.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/printable.hpp"

namespace sheaf {

namespace {

constexpr const char* names[] = {"independent_writes",
                                 "independent_reads",
                                 "collective_writes",
                                 "collective_reads",
                                 "bytes_written",
                                 "bytes_read",
                                 "pieces",
                                 "requests",
                                 "file_bytes_written",
                                 "file_bytes_read",
                                 "exchanged_bytes",
                                 "direct_calls",
                                 "exchange_calls",
                                 "sieve_calls",
                                 "plans_made",
                                 "plans_reused",
                                 "aggregators",
                                 "exchange_ns",
                                 "file_ns"};
static_assert(sizeof names / sizeof *names * sizeof(int64_t) == sizeof(Statistics));

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      result += code;
    } else {
      result += c;
    }
  }
  return result;
}

std::string milliseconds(int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f ms", static_cast<double>(ns) * 1e-6);
  return text;
}

}  // namespace

void add(Statistics& to, const exchange::Tally& from) {
  to.requests += from.requests;
  to.file_bytes_written += from.file_bytes_written;
  to.file_bytes_read += from.file_bytes_read;
  to.exchanged_bytes += from.exchanged_bytes;
  to.direct_calls += from.direct_calls;
  to.exchange_calls += from.exchange_calls;
  to.sieve_calls += from.sieve_calls;
  to.plans_made += from.plans_made;
  to.plans_reused += from.plans_reused;
  to.aggregators = std::max(to.aggregators, from.aggregators);
  to.exchange_ns += from.exchange_ns;
  to.file_ns += from.file_ns;
}

std::string Statistics::text(const std::string& path, int tasks) const {
  const auto n = [](int64_t value) { return std::to_string(value); };
  std::string out = "sheaf: " + printable(path) + ", " + n(tasks) + " tasks\n";
  out += "  writes: " + n(independent_writes) + " independent, " + n(collective_writes) + " collective, " +
         n(bytes_written) + " bytes\n";
  out += "  reads:  " + n(independent_reads) + " independent, " + n(collective_reads) + " collective, " +
         n(bytes_read) + " bytes\n";
  out += "  pieces asked for: " + n(pieces) + "; requests to the file: " + n(requests) + " (" +
         n(file_bytes_written) + " bytes written; " + n(file_bytes_read) + " read)\n";
  out += "  carried out: " + n(direct_calls) + " directly, " + n(exchange_calls) + " by exchange, " +
         n(sieve_calls) + " sieved; aggregators: " + n(aggregators) + "\n";
  out += "  exchanged: " + n(exchanged_bytes) + " bytes in " + milliseconds(exchange_ns) +
         "; file: " + milliseconds(file_ns) + " (summed over tasks)\n";
  out += "  plans: " + n(plans_made) + " made, " + n(plans_reused) + " reused\n";
  return out;
}

std::string Statistics::json(const std::string& path, int tasks) const {
  std::string out = "{\"path\":\"" + escaped(path) + "\",\"tasks\":" + std::to_string(tasks);
  Statistics copy = *this;
  const auto values = copy.numbers();
  for (size_t i = 0; i < values.size(); ++i)
    out += ",\"" + std::string(names[i]) + "\":" + std::to_string(values[i]);
  return out + "}\n";
}

void report(Comm& comm, Store& store, Statistics& statistics, const std::string& path,
            const std::string& wish) {
  if (wish.empty()) return;
  int64_t most = statistics.aggregators;
  comm.all_max(std::span(&most, 1));
  comm.all_sum(statistics.numbers());
  statistics.aggregators = most;
  if (comm.rank() != 0) return;
  constexpr std::string_view json = "json:";
  if (!wish.starts_with(json)) {
    if (wish != "0") std::fputs(statistics.text(path, comm.size()).c_str(), stderr);
    return;
  }
  const std::string line = statistics.json(path, comm.size());
  const auto file = store.open(wish.substr(json.size()), Access::create);
  file->write_at(std::as_bytes(std::span(line)), file->status().size);
  file->close();
}

}  // namespace sheaf
