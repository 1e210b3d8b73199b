// Information about the physical files of a task in a multifile with buddy copies.
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/on_handle.hpp"
#include "multifile/buddy/buddy.hpp"

using namespace sheaf;
using namespace sheaf::api;

namespace {

struct IoInfoEntry {
  std::string name;
  size_t size;
  int role;
};

std::vector<IoInfoEntry> entries_of(SionHandle& handle) {
  const multifile::FileFacts facts = handle.facts();
  if (handle.reads)
    return {{handle.path(), static_cast<size_t>(handle.reader->sizes().total()), SION_ROLE_READER}};
  multifile::Writer* const writer = handle.writes.get();
  const auto own = static_cast<size_t>(writer->stream().bytes_written());
  std::vector<IoInfoEntry> entries{{handle.path(), own, SION_ROLE_WRITER}};
  const std::string base = writer->base_name();
  for (int level = 0; level < handle.opened.buddies; ++level) {
    const auto name = [&](int number) {
      return format::physical_name(multifile::buddy_name(base, level), number);
    };
    const int stored = (facts.filenumber + level + 1) % facts.nfiles;
    entries.push_back({name(facts.filenumber), own, SION_ROLE_SENDER});
    entries.push_back(
        {name(stored), 0, writer->local().rank() == 0 ? SION_ROLE_COLLECTOR : SION_ROLE_NOWRITER});
  }
  return entries;
}

// Returns a block of memory that holds the struct, the arrays and the names, so that one free() releases
// everything.
sion_io_stat_t* pack(std::vector<IoInfoEntry> entries, int roles) {
  std::erase_if(entries, [roles](const IoInfoEntry& entry) { return (entry.role & roles) == 0; });
  size_t bytes = sizeof(sion_io_stat_t);
  for (const IoInfoEntry& entry : entries)
    bytes += sizeof(char*) + sizeof(size_t) + sizeof(int) + entry.name.size() + 1;
  auto* const info = static_cast<sion_io_stat_t*>(std::malloc(bytes));
  if (!info) throw std::bad_alloc();
  info->nfiles = static_cast<int>(entries.size());
  info->names = reinterpret_cast<const char**>(info + 1);
  info->sizes = reinterpret_cast<size_t*>(info->names + entries.size());
  info->roles = reinterpret_cast<int*>(info->sizes + entries.size());
  char* text = reinterpret_cast<char*>(info->roles + entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    info->names[i] = std::strcpy(text, entries[i].name.c_str());
    info->sizes[i] = entries[i].size;
    info->roles[i] = entries[i].role;
    text += entries[i].name.size() + 1;
  }
  return info;
}

}  // namespace

sion_io_stat_t* sion_get_io_info_by_spec(int sid, int roles, int) {
  return on_handle("sion_get_io_info", sid, static_cast<sion_io_stat_t*>(nullptr), [&](SionHandle& handle) {
    return handle.opened.buddies > 0 ? pack(entries_of(handle), roles) : nullptr;
  });
}

sion_io_stat_t* sion_get_io_info(int sid) {
  return sion_get_io_info_by_spec(sid, SION_ROLE_COLLECTOR | SION_ROLE_WRITER | SION_ROLE_NOWRITER,
                                  SION_GET_IO_INFO_FLAG_NONE);
}

// Returns the name of a SION_ROLE_* value as a static string, or "unknown" for other numbers. As in the
// original library, the function is exported but not declared in a header; programs declare it themselves.
extern "C" __attribute__((visibility("default"))) char* _sion_buddy_role_to_str(unsigned int role);
char* _sion_buddy_role_to_str(unsigned int role) {
  static char none[] = "SION_ROLE_NONE", other[] = "unknown";
  static char names[][32] = {"SION_ROLE_COLLECTOR",       "SION_ROLE_SENDER", "SION_ROLE_WRITER",
                             "SION_ROLE_NOWRITER",        "SION_ROLE_READER", "SION_ROLE_NOREADER",
                             "SION_ROLE_COLLECTOR_READER"};
  if (role == SION_ROLE_NONE) return none;
  for (size_t bit = 0; bit < std::size(names); ++bit)
    if (role == 1u << bit) return names[bit];
  return other;
}

// The function is exported but not declared in a header; programs declare it themselves.
extern "C" __attribute__((visibility("default"))) sion_io_stat_t* sion_get_io_info_buddy(int sid, int roles,
                                                                                         int flag);
sion_io_stat_t* sion_get_io_info_buddy(int sid, int roles, int flag) {
  return sion_get_io_info_by_spec(sid, roles, flag);
}

int sion_free_io_info(sion_io_stat_t* info) {
  std::free(info);
  return SION_SUCCESS;
}
