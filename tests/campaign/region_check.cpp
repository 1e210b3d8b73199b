#include "campaign/region_check.hpp"

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "campaign/bystander.hpp"
#include "campaign/region_ledger.hpp"
#include "campaign/region_oracle.hpp"

namespace sheaf::test::campaign {

namespace {

using Bytes = std::vector<std::byte>;

struct RegionEvent {
  RegionRecord record;
  Bytes bytes;
};

struct TaskEvents {
  std::vector<std::vector<RegionEvent>> epochs{1};  // events, divided by the syncs of all tasks
  bool begun = false, ended = false, closed = false;
};

RegionFacts facts_in(const Bytes& bytes) {
  RegionFacts facts;
  std::istringstream in(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  in >> facts.tasks >> facts.size >> facts.unit >> facts.subfiles >> facts.own_files >> facts.may_die >>
      facts.must_succeed >> facts.safe;
  std::getline(in, facts.text);
  return facts;
}

TaskEvents read_ledger(const std::string& path, RegionFacts& facts, Bytes& old) {
  TaskEvents task;
  std::ifstream in(path, std::ios::binary);
  RegionRecord record;
  while (in.read(reinterpret_cast<char*>(&record), sizeof record)) {
    Bytes bytes(static_cast<size_t>(record.length));
    if (!in.read(reinterpret_cast<char*>(bytes.data()), record.length)) break;
    switch (record.kind) {
      case RegionRecord::head:
        facts = facts_in(bytes);
        task.begun = true;
        break;
      case RegionRecord::old:
        old = std::move(bytes);
        break;
      case RegionRecord::committed:
        task.epochs.emplace_back();
        break;
      case RegionRecord::ended:
        task.ended = true;
        task.closed = record.offset != 0;
        break;
      default:
        task.epochs.back().push_back({record, std::move(bytes)});
        break;
    }
  }
  return task;
}

Regions replay(const RegionFacts& facts, const Bytes& old, std::span<const TaskEvents> tasks) {
  Regions regions(facts.size, old);
  size_t most = 0;
  for (const TaskEvents& task : tasks) most = std::max(most, task.epochs.size());
  for (size_t epoch = 0; epoch < most; ++epoch) {
    if (epoch > 0) regions.commit();
    for (const TaskEvents& task : tasks) {
      if (epoch >= task.epochs.size()) continue;
      for (const RegionEvent& event : task.epochs[epoch]) {
        const auto act = event.record.kind == RegionRecord::attempted  ? &Regions::attempt
                         : event.record.kind == RegionRecord::accepted ? &Regions::accept
                                                                       : &Regions::lack;
        (regions.*act)(event.record.offset, event.bytes);
      }
    }
  }
  return regions;
}

std::optional<Bytes> content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const auto bytes = std::as_bytes(std::span(text));
  return Bytes(bytes.begin(), bytes.end());
}

// Returns the logical bytes of a striped file.
std::optional<Bytes> striped_content(const RegionFacts& facts, const std::string& name) {
  std::vector<Bytes> parts;
  bool any = false;
  for (int i = 0; i < facts.subfiles; ++i) {
    const auto found = content_of(name + "." + std::to_string(i));
    any |= found.has_value();
    parts.push_back(found.value_or(Bytes{}));
  }
  if (!any) return std::nullopt;
  Bytes bytes;
  for (int64_t at = 0; at < facts.size; ++at) {
    const auto& part = parts[static_cast<size_t>(at / facts.unit % facts.subfiles)];
    const auto inside = static_cast<size_t>(at / facts.unit / facts.subfiles * facts.unit + at % facts.unit);
    if (inside >= part.size()) continue;
    bytes.resize(static_cast<size_t>(at));
    bytes.push_back(part[inside]);
  }
  return bytes;
}

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

void check_content(const Regions& regions, const std::optional<Bytes>& found, bool closed, bool safe) {
  require(found || !closed, "the close succeeded, and there is no file");
  if (found) regions.check(*found, closed, safe);
}

}  // namespace

bool check_regions(const std::string& ledgers, const std::string& name) {
  RegionFacts facts;
  Bytes old;
  std::vector<TaskEvents> tasks;
  for (int t = 0; t == 0 || t < facts.tasks; ++t)
    tasks.push_back(read_ledger(ledgers + "." + std::to_string(t), facts, old));
  int begun = 0, ended = 0, closed = 0;
  for (const TaskEvents& task : tasks) begun += task.begun, ended += task.ended, closed += task.closed;
  if (begun == 0) return false;
  try {
    require(ended == facts.tasks || facts.may_die, "the program has died");
    require(closed == 0 || closed == facts.tasks || facts.may_die || facts.own_files,
            "the close had different outcomes");
    require(closed == facts.tasks || !facts.must_succeed, "a program without failing calls did not close");
    require_bystander(std::filesystem::path(name).parent_path());
    if (facts.own_files) {
      for (size_t t = 0; t < tasks.size(); ++t)
        check_content(replay(facts, {}, std::span(tasks).subspan(t, 1)),
                      content_of(name + "." + std::to_string(t)), tasks[t].closed, facts.safe);
    } else {
      check_content(replay(facts, old, tasks),
                    facts.unit > 0 ? striped_content(facts, name) : content_of(name),
                    closed == facts.tasks && !facts.may_die, facts.safe);
    }
  } catch (const std::exception& e) {
    throw std::runtime_error(std::string(e.what()) + "; " + facts.text);
  }
  return true;
}

}  // namespace sheaf::test::campaign
