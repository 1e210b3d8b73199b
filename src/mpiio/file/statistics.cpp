#include "mpiio/file/statistics.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/printable.hpp"
#include "comm/agree.hpp"
#include "storage/store.hpp"

namespace sheaf::mpiio {

namespace {

struct Number {
  const char* name;
  int64_t Statistics::*value;
};
constexpr std::array numbers = {Number{"independent_writes", &Statistics::independent_writes},
                                Number{"independent_reads", &Statistics::independent_reads},
                                Number{"collective_writes", &Statistics::collective_writes},
                                Number{"collective_reads", &Statistics::collective_reads},
                                Number{"bytes_written", &Statistics::bytes_written},
                                Number{"bytes_read", &Statistics::bytes_read},
                                Number{"pieces", &Statistics::pieces},
                                Number{"requests", &Statistics::requests},
                                Number{"file_bytes_written", &Statistics::file_bytes_written},
                                Number{"file_bytes_read", &Statistics::file_bytes_read},
                                Number{"exchanged_bytes", &Statistics::exchanged_bytes},
                                Number{"direct_calls", &Statistics::direct_calls},
                                Number{"exchange_calls", &Statistics::exchange_calls},
                                Number{"sieve_calls", &Statistics::sieve_calls},
                                Number{"plans_made", &Statistics::plans_made},
                                Number{"plans_reused", &Statistics::plans_reused},
                                Number{"aggregators", &Statistics::aggregators},
                                Number{"exchange_ns", &Statistics::exchange_ns},
                                Number{"file_ns", &Statistics::file_ns}};
static_assert(sizeof(Statistics) == numbers.size() * sizeof(int64_t));

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

void Statistics::add(const Statistics& other) {
  const int64_t most = std::max(aggregators, other.aggregators);
  for (const Number& number : numbers) this->*number.value += other.*number.value;
  aggregators = most;
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
  for (const Number& number : numbers)
    out += ",\"" + std::string(number.name) + "\":" + std::to_string(this->*number.value);
  return out + "}\n";
}

std::vector<std::string> statistics_targets() {
  std::vector<std::string> targets;
  for (const char* const variable : {"SHEAF_STATS", "SHEAF_MPIIO_STATS"}) {
    const char* const target = std::getenv(variable);
    if (target && *target && std::string_view(target) != "0") targets.emplace_back(target);
  }
  return targets;
}

static void append_line(Store& store, const std::string& path, const std::string& line) {
  const auto file = store.open(path, Access::create);
  file->write_at(std::as_bytes(std::span(line)), file->status().size);
  file->close();
}

void report(Comm& comm, Store& store, const Statistics& statistics, const std::string& path,
            const std::vector<std::string>& targets) {
  int64_t most = statistics.aggregators;
  comm.all_max(std::span(&most, 1));
  std::array<int64_t, numbers.size()> sums;
  std::ranges::transform(numbers, sums.begin(), [&](const Number& one) { return statistics.*one.value; });
  comm.all_sum(sums);
  Statistics all;
  for (size_t i = 0; i < sums.size(); ++i) all.*numbers[i].value = sums[i];
  all.aggregators = most;
  constexpr std::string_view json = "json:";
  std::optional<Error> problem;
  for (const std::string& target : targets) {
    if (!target.starts_with(json)) {
      std::fputs(all.text(path, comm.size()).c_str(), stderr);
      continue;
    }
    attempt(problem, [&] { append_line(store, target.substr(json.size()), all.json(path, comm.size())); });
  }
  if (problem) throw *problem;
}

}  // namespace sheaf::mpiio
