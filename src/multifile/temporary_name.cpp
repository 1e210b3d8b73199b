#include "multifile/temporary_name.hpp"

#include <cstdio>

#include "base/error.hpp"
#include "base/random.hpp"
#include "format/header.hpp"

namespace sheaf {

namespace {
constexpr std::string_view marker = ".sheaf-tmp.";
constexpr size_t digits = 16;
}  // namespace

std::string temporary_name(std::string_view path) {
  char number[digits + 1];
  std::snprintf(number, sizeof number, "%016llx", static_cast<unsigned long long>(random_number()));
  return format::physical_name(std::string(path).append(marker).append(number), 0);
}

std::optional<std::string> final_name(std::string_view temporary) {
  const size_t length = marker.size() + digits;
  if (temporary.size() <= length) return std::nullopt;
  const size_t at = temporary.size() - length;
  if (temporary.substr(at, marker.size()) != marker) return std::nullopt;
  if (temporary.substr(at + marker.size()).find_first_not_of("0123456789abcdef") != std::string_view::npos) return std::nullopt;
  return std::string(temporary.substr(0, at));
}

void rename_set(Store& store, const std::string& temporary, const std::string& path, int32_t nfiles, bool durable) {
  if (nfiles > 1 && store.status(path).exists) store.remove(path);
  for (int32_t k = nfiles - 1; k >= 0; --k) {
    const std::string from = format::physical_name(temporary, k);
    // One that is not there was renamed by a call before.
    if (k > 0 && !store.status(from).exists) continue;
    store.rename(from, format::physical_name(path, k));
  }
  if (!durable) return;
  // An open that may create brings the directory to disk with the file (storage/posix_file).
  const auto file = store.open(path, Access::create);
  file->sync();
  file->close();
}

}  // namespace sheaf
